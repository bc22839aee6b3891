"""x[...] and x[...] = v: ints, slices, None, ellipsis, boolean and integer tensors, mixed."""

import numbers
import warnings

import numpy as np

from torchish.api import bounds
from torchish.api.bind import put_out
from torchish.api.creation import tensor
from torchish.api.viewing import ROW
from torchish.autograd.dispatch import apply, inplace, view
from torchish.autograd.graph import counter_of
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor

KINDS = "tensors used as indices must be long, int, byte or bool tensors"


MASKED = ("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask.")
MASKED_SELECT = ("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this "
                 "would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
                 "feature.")


def _is_advanced(i):
    return isinstance(i, (Tensor, np.ndarray, list)) or (isinstance(i, tuple))


def _as_index(i):
    if isinstance(i, Tensor):
        return i
    if isinstance(i, (list, tuple)) and not i:
        return tensor([], dtype=dtypes.int64)
    t = tensor(np.asarray(i) if not isinstance(i, np.ndarray) and all(isinstance(v, np.ndarray) for v in i) else i)
    return t


_PARTS = (slice, type(None), type(...), Tensor, np.ndarray, list, tuple)


def _normalise(index):
    if isinstance(index, tuple):
        return list(index)
    # a short list with anything but numbers in it counts as a tuple, as in old numpy
    if isinstance(index, list) and len(index) < 32 and any(isinstance(v, _PARTS) for v in index):
        return index
    return [index]


def _used_dims(index):
    n = 0
    for i in index:
        if i is None or i is Ellipsis or isinstance(i, (bool, np.bool_)):
            continue
        if isinstance(i, Tensor) and i.dtype in (dtypes.bool, dtypes.uint8):
            n += i.ndim
        elif isinstance(i, np.ndarray) and i.dtype == bool:
            n += i.ndim
        else:
            n += 1
    return n


def resolve(t, index):
    """Apply the basic part of an index as views; returns (view, advanced index list or None)."""
    items = _normalise(index)
    items = [_as_index(i) if isinstance(i, (list, tuple)) else i for i in items]
    items = [bool(i.item()) if isinstance(i, Tensor) and not i.ndim and i.dtype in (dtypes.bool, dtypes.uint8) else i for i in items]
    used = _used_dims(items)
    if t.ndim == 0 and used and not any(isinstance(i, Tensor) for i in items):
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                         "0-dim tensor to a number")
    if used > t.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t.ndim}")
    x, dim, advanced = t, 0, []
    for place, i in enumerate(items):       # errors name an index by its place
        if i is Ellipsis:
            skip = t.ndim - used
            dim += skip
            continue
        if i is None:
            x = view(ROW["unsqueeze"], x, (), (dim,))
            dim += 1
        elif isinstance(i, (bool, np.bool_)):
            x = view(ROW["unsqueeze"], x, (), (dim,))
            advanced.append((dim, tensor([0] if i else [], dtype=dtypes.int64)))
            dim += 1
        elif isinstance(i, slice):
            x = _slice(x, dim, i)
            dim += 1
        elif isinstance(i, numbers.Integral) and not isinstance(i, Tensor):
            x = _select(x, dim, int(i), place)
        elif isinstance(i, Tensor) and i.ndim == 0 and i.dtype.category == 1 and i.dtype is not dtypes.uint8:
            x = _select(x, dim, int(i.item()), place)
        elif _is_advanced(i) or isinstance(i, Tensor) or hasattr(i, "__array__"):
            dim = _advanced(x, dim, _as_index(i), advanced)
        elif isinstance(i, range):
            dim = _advanced(x, dim, tensor(list(i), dtype=dtypes.int64), advanced)
        elif hasattr(i, "__index__"):
            x = _select(x, dim, i.__index__(), place)
        elif isinstance(i, str):
            raise TypeError("new(): invalid data type 'str'")
        else:
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                             f"(got {type(i).__name__})")
    return x, advanced


def _select(x, dim, i, place):
    n = x._aval.shape[dim] if dim < x.ndim else 0
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {place} with size {n}")
    return view(ROW["select"], x, (i + n if i < 0 else i,), (dim,))


def _index(v):
    if not hasattr(v, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return v.__index__()


def _slice(x, dim, s):
    n = x._aval.shape[dim]
    start, stop, step = (v if v is None else _index(v) for v in (s.start, s.stop, s.step))
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = slice(start, stop, step).indices(n)
    size = max(-(-(stop - start) // step), 0)
    if size == n and step == 1:
        return x
    return view(ROW["slice"], x, (min(start, n),), (dim, size, step))


def _advanced(x, dim, i, advanced):
    if i.dtype in (dtypes.bool, dtypes.uint8):
        if i.dtype is dtypes.uint8:
            warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning,
                          stacklevel=4)
        for k in range(i.ndim):
            if i._aval.shape[k] != x._aval.shape[dim + k]:
                raise IndexError(f"The shape of the mask {list(i._aval.shape)} at index {k} does not match the shape of the indexed "
                                 f"tensor {list(x._aval.shape)} at index {dim + k}")
        bounds.one_shape(i, "", MASKED)
        for k, where in enumerate(np.nonzero(i._numpy())):
            found = tensor(where)
            found._counter = counter_of(i)      # PyTorch saves the mask: a write to it is a write to what was found
            advanced.append((dim + k, found))
        return dim + i.ndim
    if i.dtype.category != 1:
        raise IndexError(KINDS)
    _check_bounds(i, x._aval.shape[dim], len(advanced))
    advanced.append((dim, i))
    return dim + 1


def _check_bounds(i, n, dim):
    if n == 0 and i._aval.size:
        raise IndexError("index is out of bounds for dimension with size 0")
    bad = bounds.outside(i, -n, n)
    if bad is not None:
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {n}")


def _lists(x, advanced):
    present = [False] * x.ndim
    for d, _ in advanced:
        present[d] = True
    tensors = [i for _, i in sorted(advanced, key=lambda p: p[0])]
    shape = ()
    for i in tensors:
        from torchish.ops.promote import broadcast_shapes
        try:
            shape = broadcast_shapes(shape, i._aval.shape)
        except RuntimeError:
            shapes = ", ".join(str(list(i._aval.shape)) for i in tensors)
            raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None
    return tensors, tuple(present)


def getitem(self, index):
    x, advanced = resolve(self, index)
    if advanced:
        tensors, present = _lists(x, advanced)
        out = apply(TABLE["index"], (x, *tensors), (present,))
        if out._aval.dtype.kind in "iu":
            bounds.taken(out, self)
        return out
    if x is self:
        return view(ROW["alias"], self)
    return x


def _value(self, value):
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, numbers.Number):
        return value
    if isinstance(value, np.ndarray):
        return tensor(value)
    if isinstance(value, (list, tuple)):
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{self.dtype.legacy}Tensor")
    raise TypeError(f"can't assign a {type(value).__name__} to a torch.{self.dtype.legacy}Tensor")


def _check_source(t, index, value):
    """What is written at index tensors has the dtype of `t`; one number where a mask is true may have another, as in masked_fill."""
    if not isinstance(value, Tensor) or value.dtype is t.dtype:
        return
    tensors = [_as_index(i) for i in _normalise(index) if _is_advanced(i)]
    if value._aval.size != 1 or len(tensors) != 1 or tensors[0].dtype is not dtypes.bool:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {t.dtype.legacy} for the destination and "
                           f"{value.dtype.legacy} for the source.")


def setitem(self, index, value):
    value = _value(self, value)
    if isinstance(index, Tensor) and index.dtype is dtypes.uint8 and index.ndim and not isinstance(value, Tensor):
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    x, advanced = resolve(self, index)
    if advanced:
        _check_source(self, index, value)
        tensors, present = _lists(x, advanced)
        put = TABLE["index_put"]
        inplace(put, x, (value, *tensors), (present, False), overlap_ok=True)
        return
    if isinstance(value, Tensor):
        shape = value._aval.shape
        while len(shape) > x.ndim and shape[0] == 1:
            shape = shape[1:]
        _fits(shape, x._aval.shape)
    inplace(TABLE["copy"], x, (value,), (), overlap_ok=True)


def _fits(shape, target):
    if len(shape) > len(target):
        raise RuntimeError(f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided "
                           f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    for k in range(1, len(shape) + 1):
        if shape[-k] not in (1, target[-k]):
            raise RuntimeError(f"The expanded size of the tensor ({target[-k]}) must match the existing size ({shape[-k]}) at "
                               f"non-singleton dimension {len(target) - k}.  Target sizes: {list(target)}.  Tensor sizes: "
                               f"{list(shape)}")


def index_put_(self, indices, values, accumulate=False):
    """In-place write at index tensors; `accumulate` counts repeats."""
    if not len(indices):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape []"
                           if not self.ndim else "index_put_ needs at least one index tensor")
    x, advanced = resolve(self, tuple(indices))
    _check_source(self, tuple(indices), values)
    tensors, present = _lists(x, advanced)
    return inplace(TABLE["index_put"], x, (_value(self, values), *tensors), (present, accumulate), overlap_ok=True)


def index_put(input, indices, values, accumulate=False):
    return index_put_(apply(TABLE["clone"], (input,)), indices, values, accumulate)


def masked_select(input, mask, *, out=None):
    """The elements where `mask` is true, as a 1-D tensor."""
    from torchish.api.viewing import broadcast_tensors
    bounds.one_shape(mask, "", MASKED_SELECT)
    if mask.dtype is not dtypes.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    a, m = broadcast_tensors(input, mask)
    x, advanced = resolve(*((a, m) if a.ndim else (a.unsqueeze(0), m.unsqueeze(0))))
    made = apply(TABLE["masked_select"], (x, *[found for _, found in advanced]))
    return made if out is None else put_out("masked_select", made, out)


def nonzero(input, *, out=None, as_tuple=False):
    """Indices of the nonzero elements: (n, dim), or one index tensor a dimension."""
    bounds.one_shape(input, "nonzero")
    found = np.nonzero(np.atleast_1d(input._numpy()))
    if as_tuple:
        return tuple(tensor(np.asarray(f, "int64")) for f in found)
    made = tensor(np.stack(found, -1).astype("int64") if input.ndim else np.zeros((len(found[0]), 0), "int64"))
    return made if out is None else put_out("nonzero", made, out)
