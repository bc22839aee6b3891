"""The operation table: an op is one pure JAX function plus a line of facts.

Parameters before `/` are operands (arrays or Python numbers; a list parameter is starred), the rest are
static attributes. `jax.vjp`, `jax.jvp` and `jax.vmap` make the derived ops, so every order comes from here.
"""

import inspect
import re

TABLE = {}


class Op:
    """One row. `fn(*operands, **attributes)` is pure JAX.

    names      where it is found: "torch", "method", "functional" (nn.functional), "linalg", "special", "fft"
    inplace    a method with a trailing underscore exists
    result     vjp written with the op's result: `result(y, ct, *operands, **attrs) -> cotangents`, as PyTorch saves the result
    saves      declared saved set where the VJP's dependence would give another one: a string of operand positions such as "0",
               "01", "" (nothing); "1:2" is operand 1, saved only if operand 2 requires grad; "r" stands for the result, "i", "j", "k"
               for the ones after it
    connects   positions of saved operands through which a double backward flows although the derivative is piecewise
               constant (relu), None = by dependence
    view       the result aliases operand 0
    node       class name of the backward node without the trailing number, e.g. "MulBackward0"
    keeps      an expensive computation: the backward uses what the forward computed on the way; True, or for which attributes
    differentiable  False: the result never requires grad
    underivable     the result requires grad, but PyTorch has no derivative: its name, for the error of the backward; in quotes where the
               node has its own name; or that error's sentence
    inplace_node, inplace_underivable    the same two facts of the method with a trailing underscore, where they are others
    varying    positions of number operands that change at every call (never constants in an executable)
    """

    __slots__ = ("name", "fn", "names", "aliases", "inplace", "result", "saves", "view", "node", "differentiable",
                 "operands", "starred", "attrs", "defaults", "doc", "cache", "required", "multi", "base", "out",
                 "extra", "guards", "connects", "nondiff", "inplace_op", "nodes", "varying", "keeps", "underivable")

    def __init__(self, name, fn, **facts):
        self.name, self.fn = name, fn
        self.names = facts.pop("names", "torch method").split()
        self.aliases = facts.pop("aliases", "").split()
        self.inplace = facts.pop("inplace", False)
        self.result = facts.pop("result", None)
        self.saves, self.guards = _guarded(facts.pop("saves", None))
        self.view = facts.pop("view", False)
        self.node = facts.pop("node", None) or _camel(name) + "Backward0"
        self.differentiable = facts.pop("differentiable", True)
        self.multi = facts.pop("multi", False)
        self.out = facts.pop("out", True)
        self.base = facts.pop("base", None)
        self.connects = facts.pop("connects", None)
        self.nondiff, self.inplace_op, self.nodes = (), None, None
        self.varying = facts.pop("varying", ())
        self.keeps, self.underivable = facts.pop("keeps", False), facts.pop("underivable", None)
        self.extra = facts
        self.cache = {}
        self._read_signature()

    def _read_signature(self):
        self.operands, self.attrs, self.defaults, self.starred = [], [], {}, False
        for p in inspect.signature(self.fn).parameters.values():
            if p.kind is p.POSITIONAL_ONLY:
                self.operands.append(p.name)
            elif p.kind is p.VAR_POSITIONAL:
                self.operands.append(p.name)
                self.starred = True
            else:
                self.attrs.append(p.name)
            if p.default is not p.empty:
                self.defaults[p.name] = p.default

    @property
    def digest(self):
        return "op " + self.name

    def call(self, args, attrs):
        return self.fn(*args, **dict(zip(self.attrs, attrs)))

    def __repr__(self):
        return f"<op {self.name}>"


class Derived:
    """The facts of an op that is derived from a row, as a rule."""

    view = underivable = False
    differentiable = True
    saves = result = connects = nodes = keeps = None
    guards = {}
    varying = attrs = nondiff = ()


def _guarded(saves):
    """("12", {1: 2}) of "1:22"."""
    guards = {int(i): int(j) for i, j in re.findall(r"(\d):(\d)", saves or "")}
    return saves and re.sub(r":\d", "", saves), guards


def _camel(name):
    return "".join(w[:1].upper() + w[1:] for w in name.strip("_").split("_"))


def op(fn=None, *, name=None, **facts):
    """Register a pure JAX function as a row of the table."""
    def register(fn):
        row = Op(name or fn.__name__.rstrip("_"), fn, **facts)
        assert row.name not in TABLE, f"op {row.name} stands twice"
        TABLE[row.name] = row
        return fn
    return register(fn) if fn is not None else register
