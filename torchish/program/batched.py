"""Batched values: arrays of which an operation sees one entry at a time, as under `vmap`.

A batched Value has the aval of one entry, with its levels as `traced`; its `array` is a Batch: the physical Value, which has
one leading dimension a level. An operation on batched Values is recorded once, on the physical ones, as the `jax.vmap` of
itself: programs only ever see ordinary operations.
"""

import itertools
import weakref

import jax

from torchish.program.disk import digest
from torchish.program.value import Value, aval_of

READ = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
        "rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug "
        "report.")

_levels = weakref.WeakValueDictionary()     # index -> Level


class Level:
    """One mapped dimension. Its index is free again when nobody holds the level any more, so that signatures come back."""

    __slots__ = ("index", "size", "randomness", "__weakref__")

    def __init__(self, size, randomness="error"):
        self.index, self.size, self.randomness = next(i for i in itertools.count(1) if i not in _levels), size, randomness
        _levels[self.index] = self


class Batch:
    """What a batched Value holds in place of an array."""

    __slots__ = ("value", "levels")

    def __init__(self, value, levels):
        self.value, self.levels = value, levels

    def __array__(self, *args, **kw):
        raise RuntimeError(READ)


def levels_of(v):
    """The levels of a Value, in the order of its leading dimensions."""
    return v.array.levels if v.array.__class__ is Batch else ()


def physical(v):
    """The whole array behind a Value."""
    return v.array.value if v.array.__class__ is Batch else v


def batched(value, levels):
    """The Value of one entry of `value`, whose leading dimensions are `levels` (sorted by index)."""
    if not levels:
        return value
    a = value.aval
    keys = tuple((level.index, level.size) for level in levels)
    return Value(aval_of(a.shape[len(levels):], a.dtype, keys), Batch(value, levels))


def by_index(level):
    return level.index


# --- operations ------------------------------------------------------------------------------------------------------

class BatchedOp:
    """An operation mapped over levels. masks: for each operand the levels that it has, None for what is not a Value;
    out_masks: the same for each result."""

    def __init__(self, op, depth, masks, out_masks, single):
        self.op, self.depth, self.masks, self.out_masks, self.single = op, depth, masks, out_masks, single
        self.varying = getattr(op, "varying", ())

    @property
    def digest(self):
        return digest("vmap", getattr(self.op, "digest", None), self.masks, self.out_masks)

    def call(self, args, attrs):
        def fn(*xs):
            return self.op.call(xs, attrs)

        for k in reversed(range(self.depth)):
            axes = [0 if m is not None and m[k] else None for m in self.masks]
            outs = tuple([0 if m[k] else None for m in self.out_masks])
            fn = jax.vmap(fn, in_axes=axes, out_axes=outs[0] if self.single else outs)
        return fn(*args)


_ops = {}


def run_batched(sig, operands, record):
    """Record an operation of which some operand is batched; the results as `append` gives them."""
    levels = tuple(sorted({level for x in operands if x.__class__ is Value for level in levels_of(x)}, key=by_index))
    masks = tuple([tuple([level in levels_of(x) for level in levels]) if x.__class__ is Value else None for x in operands])
    held = [tuple([level for level in levels if (level.index, level.size) in (a.traced or ())]) for a in sig.outs]
    out_masks = tuple([tuple([level in mine for level in levels]) for mine in held])
    key = (sig.op, masks, out_masks)
    op = _ops.get(key)
    if op is None:
        op = _ops[key] = BatchedOp(sig.op, len(levels), masks, out_masks, sig.single)
    out = record(op, [physical(x) if x.__class__ is Value else x for x in operands], sig.attrs)
    outs = [batched(v, mine) for v, mine in zip([out] if sig.single else out, held)]
    return outs[0] if sig.single else outs
