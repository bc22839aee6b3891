"""Gathering and scattering by tensors of indices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops import dtypes
from torchish.ops.promote import CTYPES, broadcast_shapes, cast, dtype_of, is_number, kernel, wrap_dim
from torchish.ops.table import op

# ---- gathering

def _grid(index, dim):
    """Open coordinates of `index`'s elements with `index` itself along dim."""
    grid = list(jnp.indices(index.shape, sparse=True))
    grid[dim] = index
    return tuple(grid)


def fits(name, input, index, dim, src=None):
    """Refuse an index that is larger than what it points into, or than the source."""
    if max(index.ndim, 1) != max(input.ndim, 1) and index.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as "
                           + ("input tensor" if name == "gather" else "self tensor"))
    if src is not None and index.size and max(index.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if index.size and dtype_of(index) not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    for d, n in enumerate(index.shape if index.size and input.ndim else ()):
        if d != dim and n > input.shape[d] or src is not None and n > src.shape[d]:
            if name == "gather":
                raise RuntimeError(f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger "
                                   f"than self {list(input.shape)} apart from dimension {dim}")
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                               f"dimension {dim}" + (f" and to be no larger size than src {list(src.shape)}"
                                                     if src is not None else ""))


@op(saves="01", order="input, dim, index, *, sparse_grad=False")
def gather(input, index, /, dim, *, sparse_grad=False):
    d = wrap_dim(dim, input.ndim)
    fits("gather", input, index, d)
    if input.ndim == 0:
        return jnp.broadcast_to(input, index.shape)
    return input[_grid(jnp.atleast_1d(index), d)].reshape(index.shape) if index.size else jnp.zeros(index.shape, input.dtype)


@op(order="input, dim, index", saves="1")
def index_select(input, index, /, dim):
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if dtype_of(index) not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    d = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        return input
    return jnp.take(input, index.reshape(-1), axis=d)


@op(saves="01")
def take(input, index, /):
    if dtype_of(index) is not dtypes.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtype_of(index).legacy}")
    return input.reshape(-1)[index]


@op(node="GatherBackward0", saves="0")
def take_along_dim(input, indices, /, dim=None):
    if indices.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {dtypes.of(indices).legacy}")
    if dim is not None and input.ndim != indices.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} "
                           f"dimensions for input, and {indices.ndim} dimensions for indices")
    if dim is None:
        return jnp.take_along_axis(input.reshape(-1), indices.reshape(-1), 0)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, input.ndim)
    broadcast_shapes(*(x.shape[:d] + x.shape[d + 1:] for x in (input, indices)))
    # as in PyTorch, what lies outside wraps around
    return jnp.take_along_axis(input, indices % max(input.shape[d], 1), d)


# ---- scattering

def _spread(x, index, dim):
    """(operand with a dimension, index with one, wrapped dim)."""
    d = wrap_dim(dim, x.ndim)
    return (x.reshape(1), index.reshape(-1), 0) if x.ndim == 0 else (x, jnp.atleast_1d(index), d)


def _source(name, input, src, index):
    """The values to scatter, cut to the index's shape."""
    if is_number(src):
        return jnp.broadcast_to(cast(src, dtype_of(input)), index.shape)
    if src.dtype != input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    src = src.reshape(1) if src.ndim == 0 else src
    return src[tuple(slice(0, n) for n in index.shape)]


@op(inplace=True, order="input, dim, index, src=None, *, value=None, reduce=None", saves="1", numbers="2")
def scatter(input, index, src, /, dim, *, reduce=None):
    fits("scatter", input, index, wrap_dim(dim, input.ndim), None if is_number(src) else src)
    x, i, d = _spread(input, index, dim)
    v = _source("scatter", input, src, i)
    if not i.size:
        return input
    at = x.at[_grid(i, d)]
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    # PyTorch's gradient gathers for every source element, also where indices repeat
    y = added(at, v) if reduce == "add" else multiplied(at, v) if reduce else at.set(v, unique_indices=True)
    return y.reshape(input.shape)


def added(at, v):
    """The sum at some places; of booleans it is `or`, as in PyTorch."""
    return at.max(v) if v.dtype == bool else at.add(v)


def multiplied(at, v):
    """The product at some places; of booleans it is `and`, as in PyTorch."""
    return at.min(v) if v.dtype == bool else at.multiply(v)


@op(inplace=True, order="input, dim, index, src", saves="1:2")
def scatter_add(input, index, src, /, dim):
    fits("scatter_add", input, index, wrap_dim(dim, input.ndim), src)
    x, i, d = _spread(input, index, dim)
    if not i.size:
        return input
    return added(x.at[_grid(i, d)], _source("scatter", input, src, i)).reshape(input.shape)


_START = {"sum": 0, "mean": 0, "prod": 1, "amax": "-inf", "amin": "inf"}


def limit(x, name):
    start = _START[name]
    if not isinstance(start, str):
        return start
    if dtype_of(x).category >= 2:
        return float(start)
    if x.dtype == bool:
        return start == "inf"
    return getattr(jnp.iinfo(x.dtype), "max" if start == "inf" else "min")


def combine(x, where, v, name, include_self):
    """x with the values v combined into the places `where` (an index tuple) by a named reduction."""
    if name not in _START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {name}")
    base = x if include_self else x.at[where].set(jnp.asarray(limit(x, name), x.dtype))
    if name in ("sum", "mean"):
        y = added(base.at[where], v)
        if name == "sum":
            return y
        n = jnp.full(x.shape, int(include_self), "int64").at[where].add(1)
        n = jnp.maximum(n, 1).astype(x.dtype)
        kernel("scatter_gather_tensor_cpu_reduce_mean", x, "ifc")
        return y / n if dtype_of(x).category >= 2 else jnp.floor_divide(y, n)
    if name == "prod":
        if x.dtype == bool:
            return multiplied(base.at[where], v)
        places = jnp.arange(base.size).reshape(base.shape)[where]
        v = jnp.broadcast_to(v, places.shape)
        return _product_scattered(base.reshape(-1), places.reshape(-1), v.reshape(-1)).reshape(base.shape)
    return _evenly_scattered(base, where, v, name)


@jax.custom_jvp
def _product_scattered(base, where, v):
    """Products into places of a flat array; each factor's slope is the product of the others. The places are an argument, for a derivative
    that closed over a tracer would keep it beyond its trace."""
    return base.at[where].multiply(v)


@_product_scattered.defjvp
def _product_scattered_jvp(primals, tangents):
    (base, where, v), (tb, _, tv) = primals, tangents
    slope = base[where] * _product_of_others(where, v)
    return _product_scattered(base, where, v), (tb * _product_scattered(jnp.ones_like(base), where, v)).at[where].add(tv * slope)


def _product_of_others(where, v):
    """For each factor the product of those that go to the same place: without a division, so that every order has its derivative."""
    if not v.size:
        return v
    order = jnp.argsort(where, stable=True)
    x, new = v[order], jnp.diff(where[order]) != 0

    def within(a, b):
        (starts, before), (start, here) = a, b
        return starts | start, jnp.where(start, here, before * here)

    def running(first, shifted, **way):
        return lax.associative_scan(within, (first, jnp.where(first, 1, shifted)), **way)[1]
    edge = jnp.ones(1, bool)
    before = running(jnp.concatenate([edge, new]), jnp.roll(x, 1))
    after = running(jnp.concatenate([new, edge]), jnp.roll(x, -1), reverse=True)
    return jnp.zeros_like(v).at[order].set(before * after)


def _evenly_scattered(base, where, v, name):
    """amax/amin into places; the slope is shared evenly by all that reach the extreme."""
    y = lax.stop_gradient(base.at[where].max(v) if name == "amax" else base.at[where].min(v))
    if dtype_of(base).category < 2:
        return y
    own, hit = (base == y).astype(base.dtype), (v == y[where]).astype(base.dtype)
    count = own.at[where].add(hit)
    # a value-free sum that carries the derivative
    slope = jnp.where(own > 0, base - lax.stop_gradient(base), 0).at[where].add(
        jnp.where(hit > 0, v - lax.stop_gradient(v), 0))
    return y + jnp.where(jnp.isfinite(y), slope / count, 0)


@op(inplace=True, order="input, dim, index, src, reduce, *, include_self=True", saves="012r")
def scatter_reduce(input, index, src, /, dim, reduce, *, include_self=True):
    fits("scatter_reduce", input, index, wrap_dim(dim, input.ndim), src)
    x, i, d = _spread(input, index, dim)
    if not i.size:
        return input
    return combine(x, _grid(i, d), _source("scatter", input, src, i), reduce, include_self).reshape(input.shape)


def _rows(dim, index):
    return (slice(None),) * dim + (index.reshape(-1),)


def _row_source(name, input, source, index, d):
    if not is_number(source) and source.dtype != input.dtype:
        raise RuntimeError(f"{name}(): self ({dtype_of(input).legacy}) and source ({dtype_of(source).legacy}) must have the "
                           "same scalar type")
    if source.ndim and source.shape[d] != index.size:
        raise RuntimeError(f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim) "
                           f"({source.shape[d]})")
    return source.reshape(1) if source.ndim == 0 else source


@op(inplace=True, order="input, dim, index, source, *, alpha=1", saves="1:22:2")
def index_add(input, index, source, alpha=1, /, dim=None):
    x, i, d = _spread(input, index, dim)
    if input.ndim and (source.ndim != input.ndim or input.shape[:d] + input.shape[d + 1:] != source.shape[:d] + source.shape[d + 1:]):
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                           f"{list(input.shape)} source.shape = {list(source.shape)}")
    v = _row_source("index_add", input, source, index, d)
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        v = v * cast(alpha, dtype_of(input))
    return added(x.at[_rows(d, i)], v).reshape(input.shape)


@op(inplace=True, order="input, dim, index, source", saves="12:2")
def index_copy(input, index, source, /, dim):
    x, i, d = _spread(input, index, dim)
    v = _row_source("index_copy", input, source, index, d)
    return x.at[_rows(d, i)].set(v, unique_indices=True).reshape(input.shape)


@op(inplace=True, order="input, dim, index, value", saves="1", by="isinstance(value, Tensor)", variants={True: "IndexFillBackward1"})
def index_fill(input, index, value, /, dim):
    x, i, d = _spread(input, index, dim)
    if not is_number(value) and value.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
                           "dimension(s).")
    hit = jnp.zeros(x.shape[d], bool).at[i.reshape(-1)].set(True)
    hit = hit.reshape((-1,) + (1,) * (x.ndim - d - 1))
    return jnp.where(hit, cast(value, dtype_of(input)), x).reshape(input.shape)


@op(inplace=True, order="input, dim, index, source, reduce, *, include_self=True", saves="012r")
def index_reduce(input, index, source, /, dim, reduce, *, include_self=True):
    kernel("index_func_", input, "ifc")
    x, i, d = _spread(input, index, dim)
    return combine(x, _rows(d, i), _row_source("index_reduce", input, source, index, d), reduce,
                    include_self).reshape(input.shape)


@op(inplace=True, saves="1", by="isinstance(value, Tensor)", variants={True: "MaskedFillBackward1"})
def masked_fill(input, mask, value, /):
    if dtype_of(mask) is not dtypes.bool:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           + CTYPES[dtype_of(mask).legacy])
    if not is_number(value) and value.ndim:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    shape = broadcast_shapes(input.shape, mask.shape)
    if dtype_of(value).is_complex and not dtype_of(input).is_complex:
        kind = {"Float": "float", "Double": "double", "Long": "int64_t", "Int": "int"}.get(dtype_of(input).legacy, dtype_of(input).legacy)
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return jnp.where(mask, cast(value, dtype_of(input)), jnp.broadcast_to(input, shape))


@op(inplace=True, saves="1")
def masked_scatter(input, mask, source, /):
    if source.dtype != input.dtype:
        raise RuntimeError("masked_scatter_: expected self and source to have same dtypes but got "
                           f"{dtype_of(input).legacy} and {dtype_of(source).legacy}")
    if dtype_of(mask) is not dtypes.bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtype_of(mask).legacy}")
    shape = broadcast_shapes(input.shape, mask.shape)
    x, m = jnp.broadcast_to(input, shape), jnp.broadcast_to(mask, shape)
    if not source.size:     # nothing is taken, which the caller has seen to
        return x
    at = (jnp.cumsum(m.reshape(-1)) - 1).reshape(shape)
    return jnp.where(m, source.reshape(-1)[jnp.maximum(at, 0)], x)


@op(inplace=True, saves="12:2")
def put(input, index, source, /, accumulate=False):
    flat, i = input.reshape(-1), index.reshape(-1)
    if index.size != source.size:
        raise RuntimeError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                           f"{source.size}, index.numel() = {index.size}")
    if source.dtype != input.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{dtype_of(input).legacy} and source.dtype = {dtype_of(source).legacy}")
    at, v = flat.at[i], source.reshape(-1)
    return (added(at, v) if accumulate else at.set(v, unique_indices=True)).reshape(input.shape)


def _written(input, src, *index):
    """`input` with a region replaced by `src`."""
    target = input[index].shape
    if src.shape != target:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice "
                           f"size = {list(target)}")
    return input.at[index].set(src.astype(input.dtype))


@op()
def select_scatter(input, src, /, dim, index):
    return _written(input, src, *(slice(None),) * wrap_dim(dim, input.ndim), index)


@op()
def slice_scatter(input, src, /, dim=0, start=None, end=None, step=1):
    return _written(input, src, *(slice(None),) * wrap_dim(dim, input.ndim), slice(start, end, step))


def _diagonal_index(shape, offset, dim1, dim2):
    rows = np.arange(max(min(shape[dim1] + min(offset, 0), shape[dim2] - max(offset, 0)), 0))
    index = [slice(None)] * len(shape)
    index[dim1], index[dim2] = rows + max(-offset, 0), rows + max(offset, 0)
    return index


@op()
def diagonal_scatter(input, src, /, offset=0, dim1=0, dim2=1):
    d1, d2 = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    moved = jnp.moveaxis(input, (d1, d2), (-2, -1))
    i = _diagonal_index(moved.shape, offset, moved.ndim - 2, moved.ndim - 1)
    y = moved.at[tuple([slice(None)] * (moved.ndim - 2) + i[-2:])].set(src)
    return jnp.moveaxis(y, (-2, -1), (d1, d2))
