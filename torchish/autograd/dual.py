"""Forward mode: inside a level, tensors carry tangents, and every operation pushes them on as operations of their own.

A tangent hangs on its tensor, together with the level it belongs to: `Tensor._dual` is (level, tangent, the same of other
levels or None), so what an ended level leaves behind is never seen again. What a level does runs at the next outer one, and so
levels nest. The tangent of a view is that view of the base's tangent: a write through either reaches both.
"""

import contextlib

from torchish.autograd import dispatch
from torchish.autograd.batching import like
from torchish.autograd.graph import OpNode, SavedResult, edge_of, plain_copy
from torchish.autograd.modes import set_forward_enabled, state, suspended
from torchish.ops import TABLE
from torchish.ops.derive import inplace_op, push_of
from torchish.program import record, signature
from torchish.tensor import Tensor

FULL = TABLE["full"]


NOT_DIFFERENTIABLE = ("Function's jvp returned a gradient at position {}, but  the corresponding forward output is not a differentiable "
                      "Tensor.You should return None at that position instead.")
NOT_IN_PLACE = ("An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input "
                "inplace, then the jvp function must modify the corresponding gradient inplace.")
NOT_A_VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
OTHER_VIEW = "A custom Function is returning a view but the jvp is not returning a view of the {}given grad input."


class Level:
    """A dual level of a thread. The innermost open one is `state.level`; operations come there."""

    def __init__(self):
        self.outer, self.open = state.level, True

    def outward(self):
        """What runs inside belongs to the outer levels."""
        return suspended(self.outer)

    def put(self, t, tangent):
        """Give a tensor its tangent at this level; None is none."""
        t._dual = self, tangent, _others(self, t._dual)

    def tangent(self, t):
        """The tangent of a tensor at this level, or None."""
        if not state.forward or not isinstance(t, Tensor):
            return None
        d = t._dual
        while d is not None:
            if d[0] is self:
                return d[1]
            d = d[2]
        base = t._meta.base if t._meta is not None else None
        if base is None or base is t:
            return None
        along = self.tangent(base)
        if along is None:
            return None
        known = len(base._view.chain) if base._view is not None else 0
        with self.outward():
            for row, numbers, attrs in t._view.chain[known:]:
                along = dispatch.view(row, along, numbers, attrs)
        self.put(t, along)
        return along

    def tracks(self, t):
        """Whether the tensor takes part in this level."""
        return self.tangent(t) is not None

    def apply(self, op, args, attrs):
        """`dispatch.apply`, and the tangents of what it gives."""
        along = [self.tangent(a) for a in args] if op.differentiable and not state.inference else ()
        with self.outward():
            out = dispatch.apply(op, args, attrs)
            if not any(a is not None for a in along):
                return out
            sig, pushed = self.pushed(op, args, attrs, along)
        outs = (out,) if isinstance(out, Tensor) else out
        for k, tangent in zip(sig.floats, pushed):
            self.put(outs[k], tangent)
        self.mark(outs)
        return out

    def pushed(self, op, args, attrs, along):
        """(signature, tangents of its floating-point results)."""
        sig = signature(op, [a._value if isinstance(a, Tensor) else a for a in args], attrs)
        wrt = tuple(i for i, a in enumerate(along) if a is not None and sig.operands[i].dtype.kind in "fcV")
        if not wrt or not sig.floats:
            return sig, ()
        tangents = [_cast(along[i], args[i].dtype) for i in wrt]
        out = dispatch.apply(push_of(sig, wrt), (*[a if d is None else self.primal(a) for a, d in zip(args, along)], *tangents))
        return sig, (out,) if isinstance(out, Tensor) else out

    def primal(self, t):
        """The tensor without its tangent, in the same place of the graph."""
        out = plain_copy(t)
        self.put(out, None)
        edge = edge_of(t)
        if edge is not None:
            out._fn, out._nr = edge
        return out

    def mark(self, outs):
        """Results that nodes saved have their tangents too, for a backward inside the level."""
        for node in {t._fn for t in outs if t._fn is not None}:
            if isinstance(node, OpNode):
                _with_tangents(node.saved, outs)

    def share(self, out, t, change):
        """`out` is `change` of `t`, a view or another linear change of what is seen: its tangent is `change` of the tangent."""
        with self.outward():
            if self.outer is not None:
                self.outer.share(out, t, change)
            along = self.tangent(t)
            if along is not None:
                self.put(out, change(along))
                self.mark((out,))

    def inplace(self, row, t, args, attrs, overlap_ok):
        """An in-place write: the tangent changes in place as well, or begins."""
        operands = (t, *args)
        along = [self.tangent(a) for a in operands] if row.differentiable else [None]
        with self.outward():
            pushed = ()
            if any(a is not None for a in along):
                pushed = self.pushed(inplace_op(row), operands, attrs, along)[1]
            dispatch.inplace(row, t, args, attrs, overlap_ok)
            if pushed:
                self.rewrite(t, pushed[0])
        self.mark((t,))
        return t

    def function(self, cls, ctx, args, out):
        """The tangents of a custom Function's results, from its `jvp`."""
        with self.outward():
            if self.outer is not None:
                self.outer.function(cls, ctx, args, out)
            along = [self.tangent(a) for a in args]
            if not any(a is not None for a in along):
                return
            if ctx._materialize:
                along = [_zeros(a) if d is None and isinstance(a, Tensor) and differentiable(a) else d for a, d in zip(args, along)]
            ctx.saved_for_forward = ctx.saved_for_forward or ()
            written = {id(t): t._version for t in along if isinstance(t, Tensor)}
            pushed = cls.jvp(ctx, *along)
        pushed = pushed if isinstance(pushed, tuple) else (pushed,)
        outs = out if isinstance(out, tuple) else (out,)
        for i, tangent in enumerate(pushed):
            if tangent is not None and not isinstance(tangent, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}.")
        if len(pushed) != len(outs):
            raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} but got "
                               f"{len(pushed)})")
        for k, (y, tangent) in enumerate(zip(outs, pushed)):
            if tangent is None or not isinstance(y, Tensor):
                continue
            if not differentiable(y) or any(y is t for t in ctx._non_differentiable):
                raise RuntimeError(NOT_DIFFERENTIABLE.format(k))
            check_size(y, tangent)
            _check_sharing(y, tangent, args, along, written)
            self.put(y, tangent)
        _with_tangents(ctx._kept or (), outs)

    def rewrite(self, t, new):
        old = self.tangent(t)
        base = t._meta.base if t._meta is not None else None
        if old is None and base is not None:
            if _same_memory(t, base):
                self.put(base, new)
            else:
                self.put(base, like(like(_zeros(base), base), new))
                old = self.tangent(t)
        if old is None:
            self.put(t, new)
        else:
            old.copy_(new)
            self.put(t, old)


def _with_tangents(saved, outs):
    """What a node saved of its own results has their tangents."""
    for s in saved:
        if s.__class__ is SavedResult:
            s.tensor._dual = outs[s.nr]._dual


def _others(level, d):
    """The tangents of other levels that are still open."""
    if d is None:
        return None
    rest = _others(level, d[2])
    return (d[0], d[1], rest) if d[0] is not level and d[0].open else rest


@contextlib.contextmanager
def opened():
    """A new innermost level, as long as the block runs."""
    level = Level()
    try:
        with suspended(level), set_forward_enabled(True):
            yield level
    finally:
        level.open = False


def begin(level, tensor, tangent):
    """A view of `tensor` that carries `tangent` at the level."""
    for name, t in ("primal", tensor), ("tangent", tangent):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if level.tangent(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
                           "supported.")
    check_size(tensor, tangent)
    if level.tangent(tangent) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    with level.outward():
        out = tensor.view_as(tensor)
    level.put(out, tangent)
    level.mark((out,))
    return out


def end(level, tensor):
    """(a view of the tensor without its tangent at the level, the tangent or None)."""
    along = level.tangent(tensor)
    with level.outward():
        primal = tensor.view_as(tensor)
    level.put(primal, None)
    return primal, along


def detached(t):
    """`t.detach()` with the tangents of every level: the reverse pass that ends here is none of theirs."""
    out = t.detach()
    if state.level is not None:
        state.level.share(out, t, lambda along: along)
    return out


def differentiable(t):
    return t._aval.dtype.kind in "fcV"


def _same_memory(t, base):
    """Whether a view shows its base as it is."""
    return (t._aval, t.stride(), t.storage_offset()) == (base._aval, base.stride(), base.storage_offset())


def _zeros(like):
    return Tensor._of(record(FULL, (0,), (like._aval.shape, like.dtype)))


def _check_sharing(y, tangent, args, along, versions):
    """A custom jvp must share memory where its forward does: the tangents of a view and its base, or of a changed input."""
    for a, d in zip(args, along):
        if a is y and d is not None and (tangent is not d or d._version == versions[id(d)]):
            raise RuntimeError(NOT_IN_PLACE)
    base = y._meta.base if y._meta is not None else None
    for a, d in zip(args, along):
        if base is None or a is y or not isinstance(a, Tensor) or base is not a and (a._meta is None or base is not a._meta.base):
            continue
        m = tangent._meta
        if m is None:
            raise RuntimeError(NOT_A_VIEW)
        if d is not None and m.base is not (d if d._meta is None else d._meta.base):
            raise RuntimeError(OTHER_VIEW.format("" if d._meta is None else "same base as the "))
        return


def check_size(t, tangent):
    """Refuse a tangent of another size than its tensor's."""
    if t.shape != tangent.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                           f"supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
                           f"{list(tangent.shape)}.")


def _cast(t, dtype):
    return t if t.dtype is dtype else dispatch.apply(dispatch.CAST, (t,), (dtype,))
