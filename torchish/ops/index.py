"""Gathering, scattering, joining and rearranging."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops import dtypes
from torchish.ops.promote import (
    CTYPES,
    broadcast_shapes,
    cast,
    dtype_of,
    is_number,
    promote,
    promote_float,
    result_type,
    wrap_dim,
    wrap_dims,
)
from torchish.ops.table import op

# ---- joining

@op(names="torch", aliases="concat concatenate")
def cat(*tensors, dim=0):
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    d = result_type(*tensors)
    # a one-dimensional empty tensor is skipped, whatever the others' rank
    parts = [t for t in tensors if t.shape != (0,)] or [tensors[0]]
    axis = wrap_dim(dim, parts[0].ndim)
    for i, t in enumerate(parts):
        if t.ndim != parts[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {parts[0].ndim} and {t.ndim}")
        for k in range(t.ndim):
            if k != axis and t.shape[k] != parts[0].shape[k]:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Expected size "
                                   f"{parts[0].shape[k]} but got size {t.shape[k]} for tensor number {i} in the list.")
    return jnp.concatenate([cast(t, d) for t in parts], axis=axis)


def _stack(tensors, dim, name="stack"):
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    axis = wrap_dim(dim, tensors[0].ndim + 1)
    for i, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 "
                               f"and {list(t.shape)} at entry {i}")
    d = result_type(*tensors)
    return jnp.stack([cast(t, d) for t in tensors], axis=axis)


@op(names="torch")
def stack(*tensors, dim=0):
    return _stack(tensors, dim)


def _some(name, tensors):
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


@op(names="torch", node="CatBackward0")
def hstack(*tensors):
    _some("hstack", tensors)
    parts = [jnp.atleast_1d(t) for t in tensors]
    return cat(*parts, dim=0 if parts and parts[0].ndim == 1 else 1)


@op(names="torch", node="CatBackward0", aliases="row_stack")
def vstack(*tensors):
    _some("vstack", tensors)
    return cat(*map(jnp.atleast_2d, tensors), dim=0)


@op(names="torch", node="CatBackward0")
def dstack(*tensors):
    _some("dstack", tensors)
    return cat(*map(jnp.atleast_3d, tensors), dim=2)


@op(names="torch", node="CatBackward0")
def column_stack(*tensors):
    return cat(*(t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors), dim=1)


@op(names="torch")
def block_diag(*tensors):
    d = result_type(*tensors)
    parts = [cast(jnp.atleast_2d(t), d) for t in tensors]
    out = jnp.zeros((sum(p.shape[0] for p in parts), sum(p.shape[1] for p in parts)), d.np)
    r = c = 0
    for p in parts:
        out = out.at[r:r + p.shape[0], c:c + p.shape[1]].set(p)
        r, c = r + p.shape[0], c + p.shape[1]
    return out


@op(names="torch", node="StackBackward0")
def cartesian_prod(*tensors):
    if len(tensors) == 1:
        return tensors[0]
    return jnp.stack([g.reshape(-1) for g in jnp.meshgrid(*tensors, indexing="ij")], axis=1)


@op(names="torch", node="StackBackward0")
def combinations(input, /, r=2, with_replacement=False):
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(pick(range(input.shape[0]), r)), int).reshape(-1, r)
    return input[rows]


# ---- gathering

def _grid(index, dim):
    """Open coordinates of `index`'s elements with `index` itself along dim."""
    grid = list(jnp.indices(index.shape, sparse=True))
    grid[dim] = index
    return tuple(grid)


def _fits(name, input, index, dim, src=None):
    if max(index.ndim, 1) != max(input.ndim, 1) and index.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as "
                           + ("input tensor" if name == "gather" else "self tensor"))
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
    _fits("gather", input, index, d)
    if input.ndim == 0:
        return jnp.broadcast_to(input, index.shape)
    return input[_grid(index, d)] if index.size else jnp.zeros(index.shape, input.dtype)


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


@op(node="GatherBackward0", saves="01")
def take_along_dim(input, indices, /, dim=None):
    if dim is None:
        return jnp.take_along_axis(input.reshape(-1), indices.reshape(-1), 0)
    return jnp.take_along_axis(input, indices, wrap_dim(dim, input.ndim))


# ---- scattering

def _spread(x, index, dim):
    """(operand with a dimension, index with one, wrapped dim)."""
    d = wrap_dim(dim, x.ndim)
    return (x.reshape(1), index.reshape(-1), 0) if x.ndim == 0 else (x, index, d)


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
    _fits("scatter", input, index, wrap_dim(dim, input.ndim), None if is_number(src) else src)
    x, i, d = _spread(input, index, dim)
    v = _source("scatter", input, src, i)
    if not i.size:
        return input
    at = x.at[_grid(i, d)]
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    # PyTorch's gradient gathers for every source element, also where indices repeat
    y = _added(at, v) if reduce == "add" else (at.min(v) if x.dtype == bool else at.multiply(v)) if reduce else at.set(v, unique_indices=True)
    return y.reshape(input.shape)


def _added(at, v):
    """The sum at some places; of booleans it is `or`, as in PyTorch."""
    return at.max(v) if v.dtype == bool else at.add(v)


@op(inplace=True, order="input, dim, index, src", saves="1")
def scatter_add(input, index, src, /, dim):
    _fits("scatter_add", input, index, wrap_dim(dim, input.ndim), src)
    x, i, d = _spread(input, index, dim)
    if not i.size:
        return input
    return _added(x.at[_grid(i, d)], _source("scatter", input, src, i)).reshape(input.shape)


_START = {"sum": 0, "mean": 0, "prod": 1, "amax": "-inf", "amin": "inf"}


def _limit(x, name):
    start = _START[name]
    if not isinstance(start, str):
        return start
    if dtype_of(x).category >= 2:
        return float(start)
    if x.dtype == bool:
        return start == "inf"
    return getattr(jnp.iinfo(x.dtype), "max" if start == "inf" else "min")


def _combine(x, where, v, name, include_self):
    """x with the values v combined into the places `where` (an index tuple) by a named reduction."""
    if name not in _START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {name}")
    base = x if include_self else x.at[where].set(jnp.asarray(_limit(x, name), x.dtype))
    if name in ("sum", "mean"):
        y = base.at[where].add(v)
        if name == "sum":
            return y
        n = jnp.full(x.shape, int(include_self), "int64").at[where].add(1)
        n = jnp.maximum(n, 1).astype(x.dtype)
        return y / n if dtype_of(x).category >= 2 else jnp.floor_divide(y, n)
    if name == "prod":
        return _product_scattered(base, where, v)
    return _evenly_scattered(base, where, v, name)


def _product_scattered(base, where, v):
    """Products into places; PyTorch's derivative, each factor's slope being the product of the others."""
    factor = jax.custom_jvp(lambda base, v: base.at[where].multiply(v))

    @factor.defjvp
    def jvp(primals, tangents):
        (base, v), (tb, tv) = primals, tangents
        zeros = (base == 0).astype(base.dtype).at[where].add((v == 0).astype(v.dtype))
        others = jnp.where(base == 0, 1, base).at[where].multiply(jnp.where(v == 0, 1, v))

        def rest(x, product, none):
            return jnp.where(x == 0, jnp.where(none == 1, product, 0), jnp.where(none == 0, product / jnp.where(x == 0, 1, x), 0))
        out = (tb * rest(base, others, zeros)).at[where].add(tv * rest(v, others[where], zeros[where]))
        return factor(base, v), out
    return factor(base, v)


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


@op(inplace=True, order="input, dim, index, src, reduce, *, include_self=True", saves="01r")
def scatter_reduce(input, index, src, /, dim, reduce, *, include_self=True):
    _fits("scatter_reduce", input, index, wrap_dim(dim, input.ndim), src)
    x, i, d = _spread(input, index, dim)
    if not i.size:
        return input
    return _combine(x, _grid(i, d), _source("scatter", input, src, i), reduce, include_self).reshape(input.shape)


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


@op(inplace=True, order="input, dim, index, source, *, alpha=1", saves="1")
def index_add(input, index, source, alpha=1, /, dim=None):
    x, i, d = _spread(input, index, dim)
    if input.ndim and (source.ndim != input.ndim or input.shape[:d] + input.shape[d + 1:] != source.shape[:d] + source.shape[d + 1:]):
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                           f"{list(input.shape)} source.shape = {list(source.shape)}")
    v = _row_source("index_add", input, source, index, d)
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        v = v * cast(alpha, dtype_of(input))
    return _added(x.at[_rows(d, i)], v).reshape(input.shape)


@op(inplace=True, order="input, dim, index, source", saves="1")
def index_copy(input, index, source, /, dim):
    x, i, d = _spread(input, index, dim)
    v = _row_source("index_copy", input, source, index, d)
    return x.at[_rows(d, i)].set(v, unique_indices=True).reshape(input.shape)


@op(inplace=True, order="input, dim, index, value", saves="1")
def index_fill(input, index, value, /, dim):
    x, i, d = _spread(input, index, dim)
    if not is_number(value) and value.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
                           "dimension(s).")
    hit = jnp.zeros(x.shape[d], bool).at[i.reshape(-1)].set(True)
    hit = hit.reshape((-1,) + (1,) * (x.ndim - d - 1))
    return jnp.where(hit, cast(value, dtype_of(input)), x).reshape(input.shape)


@op(inplace=True, order="input, dim, index, source, reduce, *, include_self=True", saves="01r")
def index_reduce(input, index, source, /, dim, reduce, *, include_self=True):
    x, i, d = _spread(input, index, dim)
    return _combine(x, _rows(d, i), _row_source("index_reduce", input, source, index, d), reduce,
                    include_self).reshape(input.shape)


@op(inplace=True, saves="1")
def masked_fill(input, mask, value, /):
    if dtype_of(mask) is not dtypes.bool:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           + CTYPES[dtype_of(mask).legacy])
    if not is_number(value) and value.ndim:
        raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    shape = broadcast_shapes(input.shape, mask.shape)
    if (isinstance(value, complex) if is_number(value) else dtype_of(value).is_complex) and not dtype_of(input).is_complex:
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
    at = (jnp.cumsum(m.reshape(-1)) - 1).reshape(shape)
    return jnp.where(m, source.reshape(-1)[jnp.maximum(at, 0)], x)


@op(inplace=True, saves="01")
def put(input, index, source, /, accumulate=False):
    flat, i = input.reshape(-1), index.reshape(-1)
    if index.size != source.size:
        raise RuntimeError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                           f"{source.size}, index.numel() = {index.size}")
    if source.dtype != input.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{dtype_of(input).legacy} and source.dtype = {dtype_of(source).legacy}")
    at, v = flat.at[i], source.reshape(-1)
    return (_added(at, v) if accumulate else at.set(v, unique_indices=True)).reshape(input.shape)


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


# ---- triangles and diagonals

@op(inplace=True)
def tril(input, /, diagonal=0):
    return _triangle("tril", jnp.tril, input, diagonal)


@op(inplace=True)
def triu(input, /, diagonal=0):
    return _triangle("triu", jnp.triu, input, diagonal)


def _triangle(name, fn, input, k):
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return fn(input, k)


@op(node="DiagonalBackward0_copy", by="input._aval.ndim == 1", variants={True: "DiagEmbedBackward0"})
def diag(input, /, diagonal=0):
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return jnp.diagonal(input, diagonal) if input.ndim == 2 else jnp.diag(input, diagonal)


@op(node="DiagEmbedBackward0")
def diag_embed(input, /, offset=0, dim1=-2, dim2=-1):
    d1, d2 = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    rows = np.arange(input.shape[-1])
    out = jnp.zeros(input.shape[:-1] + (n, n), input.dtype)
    out = out.at[..., rows + max(-offset, 0), rows + max(offset, 0)].set(input)
    return jnp.moveaxis(out, (-2, -1), (d1, d2))


@op(node="DiagEmbedBackward0")
def diagflat(input, /, offset=0):
    return jnp.diag(input.reshape(-1), offset)


# ---- rearranging

@op()
def flip(input, /, dims):
    dims = wrap_dims(dims, input.ndim) if dims != () else ()
    return jnp.flip(input, dims)


@op(node="FlipBackward0")
def fliplr(input, /):
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return jnp.flip(input, 1)


@op(node="FlipBackward0")
def flipud(input, /):
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return jnp.flip(input, 0)


@op()
def roll(input, /, shifts, dims=()):
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return jnp.roll(input, shifts, tuple(wrap_dim(d, input.ndim) for d in dims))


@op()
def rot90(input, /, k=1, dims=(0, 1)):
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return jnp.rot90(input, k, dims)


@op(names="method")
def repeat(input, /, repeats):
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return jnp.tile(input, repeats)


@op(node="RepeatBackward0")
def tile(input, /, dims):
    return jnp.tile(input, dims)


@op(node="ViewBackward0")
def repeat_interleave(input, /, repeats, dim=None, *, output_size=None):
    """`repeats` is static: an int or a tuple (the binding reads a tensor of repeats first)."""
    x, axis = (input.reshape(-1), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        return jnp.repeat(x, repeats, axis=axis)
    if len(repeats) not in (1, x.shape[axis]):
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{len(repeats)} and input.size({axis}) = {x.shape[axis]}")
    return jnp.take(x, np.repeat(np.arange(x.shape[axis]), repeats), axis=axis)


# ---- counting

@op(names="functional", differentiable=False)
def one_hot(input, /, num_classes):
    """`num_classes` is static here (the binding reads the largest class for -1)."""
    if dtype_of(input) is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    return (input[..., None] == jnp.arange(num_classes)).astype("int64")


@op(differentiable=False)
def bincount(input, weights=None, /, minlength=0, *, length=None):
    """`length` is static (the binding reads the largest value)."""
    if dtype_of(input).category != 1 or input.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    w = jnp.ones(input.shape, "int64") if weights is None else (
        weights if weights.dtype.name == "float32" else cast(weights, dtypes.float64))
    d = w.dtype if weights is None else jnp.dtype("float64") if weights.dtype.name != "float32" else w.dtype
    return jnp.zeros(max(length or 0, minlength), d).at[input].add(w)


@op(differentiable=False)
def histc(input, /, bins=100, min=0, max=0):
    x = input.reshape(-1)
    lo, hi = (jnp.min(x), jnp.max(x)) if min == max == 0 and x.size else (min, max)
    if isinstance(lo, (int, float)) and lo > hi:
        raise RuntimeError("torch.histc: max must be larger than min")
    lo, hi = jnp.asarray(lo, x.dtype), jnp.asarray(hi, x.dtype)
    lo, hi = jnp.where(lo == hi, lo - 1, lo), jnp.where(lo == hi, hi + 1, hi)
    inside = (x >= lo) & (x <= hi)
    bin_ = ((x - lo) / (hi - lo) * bins).astype(int)
    return jnp.zeros(bins, x.dtype).at[jnp.minimum(bin_, bins - 1)].add(inside.astype(x.dtype))


# ---- integrals and differences

def _slices(x, d):
    return lax.slice_in_dim(x, 1, None, axis=d), lax.slice_in_dim(x, 0, -1, axis=d)


def _strips(y, x, dx, dim):
    """Areas of the trapezoids along dim."""
    d = wrap_dim(dim, y.ndim)
    hi, lo = _slices(y, d)
    if x is None:
        (total,) = promote_float(hi + lo)
        return total * jnp.asarray(dx / 2, total.dtype), d
    if x.ndim == 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = x.reshape((-1,) + (1,) * (y.ndim - d - 1))
        step = x[1:] - x[:-1]
    else:
        step = jnp.subtract(*_slices(x, wrap_dim(dim, x.ndim)))
    step, total = promote_float(step, hi + lo)
    return step * total / 2, d


@op(aliases="trapz", names="torch", node="MulBackward1", by="x is not None", variants={True: "DivBackward1"})
def trapezoid(y, x=None, /, *, dx=1, dim=-1):
    strips, d = _strips(y, x, dx, dim)
    return jnp.sum(strips, axis=d)


@op(names="torch", node="CumsumBackward0")
def cumulative_trapezoid(y, x=None, /, *, dx=1, dim=-1):
    strips, d = _strips(y, x, dx, dim)
    return jnp.cumsum(strips, axis=d)


@op(names="", node="CatBackward0")
def gradient(input, coordinates=None, /, spacing=1.0, dim=0, edge_order=1):
    """The numeric gradient along one dimension, at equal steps or at given coordinates."""
    d = wrap_dim(dim, input.ndim)
    if input.shape[d] < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    y = jnp.moveaxis(input, d, 0)
    y = y if dtype_of(y).category >= 2 else cast(y, dtypes.get_default())
    x = coordinates if coordinates is not None else jnp.arange(y.shape[0], dtype=y.dtype) * jnp.asarray(spacing, y.dtype)
    return jnp.moveaxis(_slope(y, x.reshape((-1,) + (1,) * (y.ndim - 1)), edge_order), 0, d)


def _slope(y, x, edge_order):
    h = x[1:] - x[:-1]
    if y.shape[0] > 2:
        a, b = h[:-1], h[1:]
        inside = (a * a * y[2:] + (b * b - a * a) * y[1:-1] - b * b * y[:-2]) / (a * b * (a + b))
    else:
        inside = y[:0]
    if edge_order == 1:
        first, last = (y[1:2] - y[:1]) / h[:1], (y[-1:] - y[-2:-1]) / h[-1:]
    else:
        def edge(y0, y1, y2, p, q):
            return (-(2 * p + q) / (p * (p + q))) * y0 + ((p + q) / (p * q)) * y1 - (p / (q * (p + q))) * y2
        first = edge(y[:1], y[1:2], y[2:3], h[:1], h[1:2])
        last = -edge(y[-1:], y[-2:-1], y[-3:-2], h[-1:], h[-2:-1])
    return jnp.concatenate([first, inside, last])


@op(inplace=True)
def renorm(input, /, p, dim, maxnorm):
    from torchish.ops.reduce import vector_norm
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    d = wrap_dim(dim, input.ndim)
    n = vector_norm(input, p, tuple(i for i in range(input.ndim) if i != d), True)
    return input * jnp.where(n > maxnorm, jnp.asarray(maxnorm, n.dtype) / (n + 1e-7), 1)


@op(names="torch", differentiable=False, numbers="01")
def isin(elements, test_elements, /, *, assume_unique=False, invert=False):
    return jnp.isin(*promote(elements, test_elements) if is_number(elements) or is_number(test_elements)
                    else (elements, test_elements), invert=invert)


@op(names="torch", differentiable=False)
def unravel_index(indices, /, shape):
    out = []
    for n in reversed(shape):
        out.append(indices % n)
        indices = indices // n
    return tuple(reversed(out))
