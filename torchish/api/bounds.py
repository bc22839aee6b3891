"""Checks that need the numbers of an integer tensor: indices out of range, integer division by zero.

Nothing is computed while recording, so a check has to look. What was looked at is remembered with the storage's contents,
so a data set's targets, and slices of them, are looked at once; an index that is still to be computed is computed here.
"""

import weakref

import numpy as np

from torchish.ops import dtypes
from torchish.ops.index import fits
from torchish.program import to_numpy
from torchish.tensor import Tensor

_ranges = weakref.WeakKeyDictionary()       # storage -> (its contents, smallest, largest)


def _range(t):
    """(smallest, largest) of all that the tensor's storage holds."""
    storage = t._storage
    value = storage.value
    known = _ranges.get(storage)
    if known is None or known[0] is not value:
        a = to_numpy(value)
        known = _ranges[storage] = (value, int(a.min()), int(a.max()))
    return known[1], known[2]


def within(t, low, high):
    """Say that every element of a new tensor is known to lie in low <= element < high."""
    _ranges[t._storage] = (t._storage.value, low, max(high - 1, low))


def taken(t, source):
    """Say that the elements of a new tensor come from `source`, which is looked at if that computes nothing."""
    value = source._storage.value
    if value.array is not None and value.aval.size and not value.aval.traced:
        _ranges[t._storage] = (t._storage.value, *_range(source))


def outside(t, low, high, ignore=None):
    """The first element that is not in low <= element < high, or None."""
    aval = t._aval
    if aval.traced or not aval.size or aval.dtype.kind not in "iu":
        return None
    least, most = _range(t)
    if low <= least and most < high:
        return None
    a = t._numpy()
    bad = (a < low) | (a >= high)
    if ignore is not None:
        bad &= a != ignore
    return int(a[bad][0]) if bad.any() else None


def _size(t, dim):
    """Elements along a dimension; None when there is no such dimension, which the operation itself reports."""
    n = t._aval.ndim
    return t._aval.shape[dim] if n and -n <= dim < n else None if n else 1


def _index(text, kind=IndexError, negative=False):
    """A check of an index against one dimension; the text is filled with the index, dimension and size."""
    def check(index, input, dim):
        n = _size(input, dim)
        bad = None if n is None else outside(index, -n if negative else 0, n)
        if bad is not None:
            d = dim + input._aval.ndim if dim < 0 else dim
            raise kind(text.format(bad=bad, dim=d, n=n))
    return check


_PLAIN = "index {bad} is out of bounds for dimension {dim} with size {n}"
of_dim = _index(_PLAIN, negative=True)
_reached = _index(_PLAIN, RuntimeError)
copied = _index("index_copy_(): index {bad} is out of bounds for dimension {dim} with size {n}")
rows = _index("index out of range in self")
_columns = _index("INDICES element is out of DATA bounds, id={bad} axis_dim={n}", RuntimeError)


def gathered(index, input, dim, src=None, name="scatter"):
    """gather and scatter, which compare the shapes first."""
    try:
        _reached(index, input, dim)
    except RuntimeError:
        fits(name, input._aval, index._aval, dim % max(input._aval.ndim, 1), src._aval if isinstance(src, Tensor) else None)
        raise


def selected(index, input, dim):
    """index_select: PyTorch has another routine for dimension 1."""
    (_columns if input._aval.ndim > 1 and dim in (1, 1 - input._aval.ndim) else rows)(index, input, dim)


def flat(index, input):
    """take and put_: places in the flattened tensor."""
    n = input._aval.size
    bad = outside(index, -n, n)
    if bad is not None:
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {n} elements.")


def classes(target, input, ignore):
    """nll_loss: classes, apart from the one to ignore."""
    if isinstance(target, Tensor) and input._aval.ndim:
        bad = outside(target, 0, input._aval.shape[1 if input._aval.ndim > 1 else 0], ignore)
        if bad is not None:
            raise IndexError(f"Target {bad} is out of bounds.")


def labels(target, input):
    """multi_margin_loss."""
    if isinstance(target, Tensor) and input._aval.ndim and outside(target, 0, input._aval.shape[-1]) is not None:
        raise RuntimeError("target out of range")


def alpha(a, b):
    """add and sub with a bool as `alpha`."""
    if any(not isinstance(x, bool) and getattr(x, "dtype", None) is not dtypes.bool for x in (a, b)):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")


def divisor(input, other):
    """Integers are not divided by zero."""
    if other.__class__ in (int, bool):
        zero = other == 0
    elif isinstance(other, Tensor) and other._aval.dtype.kind in "iu" and other._aval.size and not other._aval.traced:
        least, most = _range(other)
        zero = least <= 0 <= most and not np.all(other._numpy())
    else:
        return
    if zero and (not isinstance(input, Tensor) or input._aval.dtype.kind in "biu") and not isinstance(input, float):
        raise RuntimeError("ZeroDivisionError")


DYNAMIC = ("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please file an issue at "
           "https://github.com/pytorch/pytorch/issues if you need this feature.")


def one_shape(t, name, text=DYNAMIC):
    """Refuse a tensor under vmap whose entries might give results of different shapes."""
    if t._aval.traced.__class__ is tuple:
        raise RuntimeError(text.format(name))
