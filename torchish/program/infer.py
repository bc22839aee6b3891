"""Signatures: an operation with given attributes and operand avals, inferred once."""

import jax

from torchish.program.disk import digest
from torchish.program.stats import counters
from torchish.program.value import Aval, aval_of, is_batched

BY_ID = []
_tables = {}        # one table per default dtype: it takes part in PyTorch's promotion
active = _tables.setdefault("float32", {})
default = "float32"
EXAMPLE = {bool: True, int: 1, float: 1.0, complex: 1j}


class Sig:
    """What a record needs to know: the result avals, an identity number, and the cold executable once made."""

    __slots__ = ("op", "attrs", "operands", "id", "outs", "single", "cold", "plans", "traced", "family", "varying",
                 "floats", "name")

    def __init__(self, op, attrs, operands, outs, single, traced):
        self.op, self.attrs, self.operands = op, attrs, operands
        self.outs, self.single, self.traced = outs, single, traced
        self.cold, self.plans, self.name = None, {}, None
        self.floats = tuple(k for k, a in enumerate(outs) if a.dtype.kind in "fcV")   # results that can require grad
        self.varying = getattr(op, "varying", ())
        self.id = len(BY_ID)
        BY_ID.append(self)
        # the same operation on other shapes: what a storm of structures has in common
        self.family = hash((id(op), tuple(a.dtype.num if isinstance(a, Aval) else a for a in operands)))

    @property
    def digest(self):
        """A name that means the same in every process; None when the operation or an attribute has none."""
        if self.name is None:
            known = all(map(stable, self.attrs))
            self.name = digest(getattr(self.op, "digest", None), repr(self.attrs) if known else None, repr(self.operands),
                               default) or ""
        return self.name or None

    def call(self, args):
        """Run the operation on arrays, numbers or tracers; always a tuple."""
        out = self.op.call(args, self.attrs)
        return (out,) if self.single else tuple(out)


def stable(attribute):
    """Whether the attribute's repr says all of it."""
    if isinstance(attribute, tuple):
        return all(map(stable, attribute))
    return isinstance(attribute, (int, float, complex, str, bytes, type(None))) or hasattr(attribute, "legacy")


def use_table(name):
    """Signatures depend on the default dtype: switch to the table of `name`."""
    global active, default
    active, default = _tables.setdefault(name, {}), name


def spec(a):
    return jax.ShapeDtypeStruct(a.shape, a.dtype) if isinstance(a, Aval) else EXAMPLE.get(a)


def infer(key):
    """Trace the operation abstractly once; its own checks raise PyTorch's errors here, at the call."""
    op, attrs, operands = key[0], key[1], key[2:]
    if any(map(is_batched, operands)):
        return infer_batched(key)
    counters.inferred += 1
    traced = any(isinstance(a, Aval) and a.traced for a in operands)
    specs = [spec(a) for a in operands]
    if traced:
        out = jax.eval_shape(lambda *xs: op.call(xs, attrs), *specs)
    else:
        with jax.enable_x64(True):
            out = jax.eval_shape(lambda *xs: op.call(xs, attrs), *specs)
    single = not isinstance(out, (tuple, list))
    outs = tuple(aval_of(o.shape, o.dtype, traced) for o in ((out,) if single else out))
    sig = active[key] = Sig(op, attrs, operands, outs, single, traced)
    return sig


def infer_batched(key):
    """The signature of an operation on batched avals: that of one entry, with the levels of all operands."""
    op, attrs, operands = key[0], key[1], key[2:]
    entry = (op, attrs, *[aval_of(a.shape, a.dtype) if is_batched(a) else a for a in operands])
    one = active.get(entry) or infer(entry)
    levels = tuple(sorted({pair for a in operands if is_batched(a) for pair in a.traced}))
    outs = tuple([aval_of(a.shape, a.dtype, levels) for a in one.outs])
    sig = active[key] = Sig(op, attrs, operands, outs, one.single, levels)
    return sig
