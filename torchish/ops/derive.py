"""Derived ops: the VJP of an op is an op, the in-place form of an op is an op, so every order is in the table."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from torchish.ops import dtypes
from torchish.ops.promote import cast
from torchish.ops.table import Derived
from torchish.ops.views import put_of
from torchish.program import Aval
from torchish.program.disk import digest


class InplaceOp(Derived):
    """`row` computed and cast to operand 0's dtype, as an in-place write stores it."""

    def __init__(self, row):
        self.row, self.name, self.attrs = row, row.name + "_", row.attrs
        self.node = row.extra.get("inplace_node", row.node)
        self.differentiable, self.result, self.saves, self.guards = row.differentiable, row.result, row.saves, row.guards
        self.underivable = row.extra.get("inplace_underivable") or row.underivable and row.underivable + "_"
        self.connects, self.varying = row.connects, row.varying
        self.digest = "in-place " + row.name

    def call(self, args, attrs):
        return cast(self.row.call(args, attrs), dtypes.of(args[0]))


class Pull(Derived):
    """The VJP of one signature with respect to `wrt`.

    Operands: the primal operands the VJP depends on (`passed`), the results if the row's rule is written with them, and one
    cotangent (or None) per differentiable output.

    unsaved    positions of `passed` that PyTorch does not save: nobody minds a write to them
    watched    operands that PyTorch saves though the VJP does not depend on them
    numbers    number operands that the VJP does not take
    frees      whether PyTorch's node saves something that a backward frees
    nondiff    operands through which no second derivative flows
    """

    residuals = ()          # avals of what a node saves besides operands and results

    def __init__(self, sig, wrt, by_result):
        self.sig, self.wrt = sig, wrt
        self.name = sig.op.name + ".vjp"
        self.node = sig.op.node.rstrip("0123456789") + "Backward0"
        self.float_outs = sig.floats
        self.results = len(sig.outs) if by_result else 0
        self.passed = () if by_result else tuple(range(len(sig.operands)))
        self._parts = {}
        self._reduce_to_needed()
        # saved tensors that need no gradient themselves
        self.constants = tuple(j for j, i in enumerate(self.passed) if i not in wrt and isinstance(sig.operands[i], Aval))
        self.unsaved = {i for i in self.passed if isinstance(sig.operands[i], Aval) and not self._saves(i)}
        self.watched = () if not sig.op.saves else tuple(
            i for i, a in enumerate(sig.operands) if isinstance(a, Aval) and i not in self.passed and self._saves(i))
        self.numbers = tuple(i for i, a in enumerate(sig.operands) if a in _NUMBERS and i not in self.passed)
        self.frees = bool(self.results or self.watched or set("rijk").intersection(sig.op.saves or "")
                          or any(self._saves(i) for i in self.passed))

    @property
    def digest(self):
        return self.sig.digest and f"vjp {self.sig.digest} {self.wrt} {self.results} {self.passed}"

    def _saves(self, i):
        a, rule = self.sig.operands[i], self.sig.op.saves
        if isinstance(a, Aval):
            return rule is None or str(i) in rule and self.sig.op.guards.get(i, self.wrt[0]) in self.wrt
        names = getattr(getattr(self.sig.op, "row", self.sig.op), "operands", ())
        return i < len(names) and names[i] == "other"   # a number that PyTorch wraps into a tensor and saves

    def _reduce_to_needed(self):
        """Find which primals each cotangent depends on, and through which of them a second derivative can flow."""
        specs = [_spec(self.sig.operands[i]) for i in self.passed]
        if self.results:
            specs += map(_spec, self.sig.outs)
        specs += [_spec(self.sig.outs[i]) for i in self.float_outs]
        traced, flat = _traced(lambda *xs: self.call(xs, ()), specs)
        jaxpr = traced.jaxpr
        used = {flat[i] for i in _reach(jaxpr, _any)}
        smooth = {flat[i] for i in _reach(jaxpr, _inexact)}
        keep = [i for i in range(len(self.passed)) if i in used]
        passed, self.passed = self.passed, tuple(self.passed[i] for i in keep)
        fixed = {i for i in range(len(passed) + self.results) if i not in smooth}
        position = {old: new for new, old in enumerate(keep)} if passed else {i: i for i in range(self.results)}
        self.nondiff = () if self.sig.op.connects else tuple(position[i] for i in sorted(fixed & position.keys()))
        # results of one dependence may share a node: in PyTorch a formula has its own
        n = len(self.wrt)
        self.dependence = [tuple(_reach(jaxpr, _any, [k == j for j in range(n)])) for k in range(n)] if n > 1 else [()]

    def parts(self, needed, create):
        """[(VJP op, positions of its saved operands, positions of its results)] for the wanted results: one op, or with
        `create` one for each group of results with the same dependence, so that a second derivative sees what PyTorch's sees."""
        made = self._parts.get((needed, create))
        if made is None:
            groups = {}
            for k in needed:
                groups.setdefault(self.dependence[k] if create else None, []).append(k)
            made = self._parts[(needed, create)] = [self._part(tuple(ks)) for ks in groups.values()]
        return made

    def _part(self, places):
        if len(places) == len(self.wrt):
            return self, range(len(self.passed) + self.results), places
        sub = _pull(self.sig, tuple(self.wrt[k] for k in places), self.results > 0)
        picks = [self.passed.index(i) for i in sub.passed] + [len(self.passed) + r for r in range(sub.results)]
        return sub, picks, places

    def call(self, args, attrs):
        sig = self.sig
        n = len(self.passed)
        primals = [jnp.zeros(a.shape, a.dtype) if isinstance(a, Aval) else _EXAMPLE.get(a) for a in sig.operands]
        for i, x in zip(self.passed, args):
            primals[i] = x
        cts = args[n + self.results:]
        if self.results:
            y = args[n] if sig.single else args[n:n + self.results]
            out = sig.op.result(y, cts[0] if sig.single else cts, *primals, **dict(zip(sig.op.attrs, sig.attrs)))
            a = sig.operands[0]
            return cast(out, dtypes.of(a))

        primal = _primal(sig, self.wrt, primals)
        _, pull = jax.vjp(lambda *diff: primal(*diff)[0], *[primals[i] for i in self.wrt])
        return pulled(pull, sig, cts)


def _primal(sig, wrt, primals):
    """`sig` as a function of the operands `wrt`, to (floating-point results, the others)."""
    def primal(*diff):
        xs = list(primals)
        for i, x in zip(wrt, diff):
            xs[i] = x
        outs = sig.call(xs)
        return [outs[i] for i in sig.floats], [y for i, y in enumerate(outs) if i not in sig.floats]
    return primal


def pulled(pull, sig, cotangents):
    """Gradients from JAX's pullback; PyTorch's cotangents are the conjugates of JAX's."""
    full = []
    for i, ct in zip(sig.floats, cotangents):
        a = sig.outs[i]
        ct = jnp.zeros(a.shape, a.dtype) if ct is None else ct
        full.append(jnp.conj(ct) if a.dtype.kind == "c" else ct)
    grads = tuple(jnp.conj(g) if np.dtype(g.dtype).kind == "c" else g for g in pull(full))
    return grads[0] if len(grads) == 1 else grads


_EXAMPLE = {bool: True, int: 0, float: 1.0, complex: 1j}
_NUMBERS = set(_EXAMPLE)


def _traced(fn, specs):
    """(closed jaxpr of a function of operands, the operands that its variables stand for)."""
    flat = [i for i, s in enumerate(specs) if s is not None]
    with jax.enable_x64(True):
        return jax.make_jaxpr(lambda *xs: fn(*_spread(len(specs), flat, xs)))(*[specs[i] for i in flat]), flat


def _spec(a):
    return jax.ShapeDtypeStruct(a.shape, a.dtype) if isinstance(a, Aval) else _EXAMPLE.get(a)


def _spread(n, positions, xs):
    out = [None] * n
    for i, x in zip(positions, xs):
        out[i] = x
    return out


def _any(v):
    return True


def _inexact(v):
    return np.dtype(v.aval.dtype).kind in "fcV" if hasattr(v.aval, "dtype") else False


def _reach(jaxpr, follow, outs=None):
    """Positions of the invars that the outputs depend on through values that `follow` accepts."""
    want = {v for i, v in enumerate(jaxpr.outvars) if not hasattr(v, "val") and (outs is None or outs[i]) and follow(v)}
    for eqn in reversed(jaxpr.eqns):
        hit = [v in want for v in eqn.outvars]
        if not any(hit):
            continue
        inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if eqn.primitive.name in ("pjit", "jit", "custom_jvp_call", "custom_vjp_call", "closed_call", "remat") and inner is not None:
            inner = getattr(inner, "jaxpr", inner)
            invars = [eqn.invars[i] for i in _reach(inner, follow, hit)]
        elif eqn.primitive.name == "select_n":
            invars = eqn.invars if follow(eqn.invars[0]) else eqn.invars[1:]
        elif eqn.primitive.name == "stop_gradient" and follow is _inexact:
            invars = []
        else:
            invars = eqn.invars
        want.update(v for v in invars if not hasattr(v, "val") and follow(v))
    return [i for i, v in enumerate(jaxpr.invars) if v in want]


def pull_of(sig, wrt):
    """The VJP op of a signature for the operands `wrt`, made once."""
    return _pull(sig, wrt, sig.op.result is not None and wrt == (0,))


def _pull(sig, wrt, by_result):
    key = wrt if by_result == (sig.op.result is not None and wrt == (0,)) else (wrt, by_result)
    return _once(sig, key, lambda: Pull(sig, wrt, by_result))


def _once(sig, key, make):
    """What is derived from a signature, made at first use."""
    made = sig.plans.get(key)
    if made is None:
        made = sig.plans[key] = make()
    return made


class Push(Derived):
    """The JVP of one signature along tangents of `wrt`. Operands: the primal's operands, then the tangents."""

    def __init__(self, sig, wrt):
        self.sig, self.wrt = sig, wrt
        self.name, self.node = sig.op.name + ".jvp", sig.op.node
        specs = [_spec(a) for a in (*sig.operands, *[sig.operands[i] for i in wrt])]
        traced, flat = _traced(lambda *xs: self.call(xs, ()), specs)
        smooth = {flat[i] for i in _reach(traced.jaxpr, _inexact)}
        self.nondiff = tuple(i for i in range(len(sig.operands)) if i not in smooth)

    @property
    def digest(self):
        return self.sig.digest and f"jvp {self.sig.digest} {self.wrt}"

    def call(self, args, attrs):
        sig = self.sig
        n = len(sig.operands)
        primals, tangents = list(args[:n]), args[n:]

        primal = _primal(sig, self.wrt, primals)
        along = jax.jvp(lambda *diff: primal(*diff)[0], [primals[i] for i in self.wrt], list(tangents))[1]
        return along[0] if len(along) == 1 else tuple(along)


def push_of(sig, wrt):
    """The JVP op of a signature along the operands `wrt`, made once."""
    return _once(sig, ("jvp", wrt), lambda: Push(sig, wrt))


class Keep(Derived):
    """A row that hands out, after its results, what `jax.vjp` keeps of the computation for `wrt`."""

    def __init__(self, sig, wrt):
        self.sig, self.wrt = sig, wrt
        self.name, self.node = sig.op.name + ".keep", sig.op.node
        # traced once: another trace might hand the residuals out in another order
        self.traced, self.given = _traced(self._trace, [_spec(a) for a in sig.operands])
        self.digest = sig.digest and digest("keep", sig.digest, wrt, str(self.traced))

    def _trace(self, *args):
        sig = self.sig
        floats, pull, others = jax.vjp(_primal(sig, self.wrt, args), *[args[i] for i in self.wrt], has_aux=True)
        leaves, self.tree = jax.tree.flatten(pull)
        floats, others = iter(floats), iter(others)
        return (*[next(floats if i in sig.floats else others) for i in range(len(sig.outs))], *leaves)

    def call(self, args, attrs):
        return tuple(jaxpr_as_fun(self.traced)(*[args[i] for i in self.given]))


class KeptPull(Pull):
    """The VJP of an expensive row: from what the forward kept, unless it is differentiated again."""

    def __init__(self, sig, wrt):
        super().__init__(sig, wrt, False)
        self.keep, self.uses = Keep(sig, wrt), {}

    def parts(self, needed, create):
        if create:
            return super().parts(needed, create)
        use = self.uses.get(needed)
        if use is None:
            use = self.uses[needed] = UseKept(self, needed)
        n = len(self.passed)
        return [(use, range(n, n + len(self.residuals)), needed)]


class UseKept(Derived):
    """Operands: the residuals of a Keep, then the cotangents."""

    def __init__(self, pull, needed):
        self.pull, self.needed, self.name, self.node = pull, needed, pull.name, pull.node
        self.digest = pull.keep.digest and f"kept {pull.keep.digest} {needed}"

    def call(self, args, attrs):
        n = len(self.pull.residuals)
        grads = pulled(jax.tree.unflatten(self.pull.keep.tree, args[:n]), self.pull.sig, args[n:])
        grads = grads if isinstance(grads, tuple) else (grads,)
        return grads[self.needed[0]] if len(self.needed) == 1 else tuple(grads[k] for k in self.needed)


def kept_pull_of(sig, wrt):
    """The KeptPull of a signature, made once."""
    return _once(sig, ("kept", wrt), lambda: KeptPull(sig, wrt))


class ChainOp(Derived):
    """A chain of view ops as one op: operands (base, *numbers). What AsStridedBackward0 differentiates."""

    name, node = "as_strided", "AsStridedBackward0"

    def __init__(self, steps):
        self.steps = steps      # (row, how many numbers, attrs)
        if self.__class__ is ChainOp and not steps[-1][0].extra.get("strided", True):
            self.node = steps[-1][0].node
        self.digest = self.name + " " + " ".join(f"{row.name}{attrs}" for row, _, attrs in steps)

    def call(self, args, attrs):
        return self.stages(args[0], args[1:])[-1]

    def stages(self, x, numbers):
        out = [x]
        for row, n, attrs in self.steps:
            out.append(row.call((out[-1], *numbers[:n]), attrs))
            numbers = numbers[n:]
        return out


class PutChainOp(ChainOp):
    """The write through a chain of views: operands (base, new, *numbers)."""

    name, node = "copy_slices", "CopySlices"

    def call(self, args, attrs):
        base, new, *numbers = args
        stages = self.stages(base, numbers)
        per_step = []
        for _, n, _ in self.steps:
            per_step.append(numbers[:n])
            numbers = numbers[n:]
        for stage, (row, _, attrs), ns in zip(reversed(stages[:-1]), reversed(self.steps), reversed(per_step)):
            new = put_of(row).call((stage, new, *ns), attrs)
        return new


_chains = {}


def chain_op(chain, put=False):
    """(op, numbers) of a View's chain, as a read or as a write."""
    steps = tuple((row, len(numbers), attrs) for row, numbers, attrs in chain)
    key = (steps, put)
    made = _chains.get(key)
    if made is None:
        made = _chains[key] = (PutChainOp if put else ChainOp)(steps)
    return made, tuple(n for _, numbers, _ in chain for n in numbers)


def inplace_op(row):
    """The in-place form of a row."""
    if row.inplace_op is None:
        row.inplace_op = InplaceOp(row)
    return row.inplace_op
