"""Reductions and scans over dimensions."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.pointwise import magnitude
from torchish.ops.promote import cast, dtype_of, kernel, promote_float, wrap_dim, wrap_dims
from torchish.ops.table import op


def default_float(x):
    return x if dtype_of(x).category >= 2 else cast(x, dtypes.get_default())


def widened(x, dtype):
    """The operand in the dtype of a sum: bools and integers count in int64."""
    if dtype is not None:
        return cast(x, dtype)
    return cast(x, dtypes.int64) if dtype_of(x).category < 2 else x


def one_dim(x, dim):
    """(array with at least one dimension, the wrapped dimension)."""
    dim = wrap_dim(dim, x.ndim)
    return (x.reshape(1), 0) if x.ndim == 0 else (x, dim)


def refuse_empty(name, x, dims):
    if x.size == 0:
        if dims is None:
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                               "reduction dim with the 'dim' argument.")
        for d in wrap_dims(dims, x.ndim):
            if x.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


# ---- sums and products

@op(by="dim is not None", variants={True: "SumBackward1"})
def sum(input, /, dim=None, keepdim=False, *, dtype=None):
    x = widened(input, dtype)
    return _total(x, wrap_dims(dim, x.ndim), keepdim)


def _total(x, dims, keepdim):
    """The sum. XLA adds complex numbers one after another, and loses bits by it; real ones it adds in groups."""
    if x.dtype.kind == "c":
        return lax.complex(_total(x.real, dims, keepdim), _total(x.imag, dims, keepdim))
    return jnp.sum(x, axis=dims, keepdims=keepdim, dtype=x.dtype)


@op(saves="0")
def nansum(input, /, dim=None, keepdim=False, *, dtype=None):
    x = widened(input, dtype)
    x = jnp.where(jnp.isnan(x), 0, x)
    return jnp.sum(x, axis=wrap_dims(dim, x.ndim), keepdims=keepdim, dtype=x.dtype)


def _mean_operand(input, dtype):
    if dtype is not None:
        if dtype.category < 2:
            raise RuntimeError("mean(): could not infer output dtype. Optional dtype must be either a floating point or "
                               f"complex dtype. Got: {dtype.legacy}")
        return cast(input, dtype)
    if dtype_of(input).category < 2:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                           f"dtype. Got: {dtype_of(input).legacy}")
    return input


@op(by="dim is not None", variants={True: "MeanBackward1"})
def mean(input, /, dim=None, keepdim=False, *, dtype=None):
    x = _mean_operand(input, dtype)
    dims = wrap_dims(dim, x.ndim)
    # divide at the end, as PyTorch: the sum is exact to the last bit more often
    return _total(x, dims, keepdim) / jnp.asarray(_count(x, dims), x.dtype)


def _count(x, dims):
    n = 1
    for d in dims:
        n *= x.shape[d]
    return n


@op(node="DivBackward0")
def nanmean(input, /, dim=None, keepdim=False, *, dtype=None):
    if dtype is None and dtype_of(input).category < 2:
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got "
                           f"{dtype_of(input).legacy}")
    x = _mean_operand(input, dtype)
    dims = wrap_dims(dim, x.ndim)
    nan = jnp.isnan(x)
    total = jnp.sum(jnp.where(nan, 0, x), axis=dims, keepdims=keepdim, dtype=x.dtype)
    return total / jnp.sum(~nan, axis=dims, keepdims=keepdim).astype(x.dtype)


@op(by="dim is not None", variants={True: "ProdBackward1"}, saves="0r")
def prod(input, /, dim=None, keepdim=False, *, dtype=None):
    x = widened(input, dtype)
    return jnp.prod(x, axis=wrap_dims(dim, x.ndim), keepdims=keepdim, dtype=x.dtype)


@op(differentiable=False)
def count_nonzero(input, /, dim=None):
    return jnp.sum(input != 0, axis=wrap_dims(dim, input.ndim), dtype="int64")


def _truth(fn, input, dim, keepdim):
    y = fn(input != 0, axis=wrap_dims(dim, input.ndim) if dim != () else (), keepdims=keepdim)
    return y.astype("uint8") if dtype_of(input) is dtypes.uint8 else y


@op(differentiable=False)
def all(input, /, dim=None, keepdim=False):
    return _truth(jnp.all, input, dim, keepdim)


@op(differentiable=False)
def any(input, /, dim=None, keepdim=False):
    return _truth(jnp.any, input, dim, keepdim)


# ---- spread

def _var(input, dim, correction, keepdim, name="std and var"):
    if dtype_of(input).category < 2:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    dims = wrap_dims(dim, input.ndim)
    n = _count(input, dims)
    gap = input - jnp.sum(input, axis=dims, keepdims=True, dtype=input.dtype) / jnp.asarray(n, input.dtype)
    total = jnp.sum(gap.real * gap.real + (gap.imag * gap.imag if dtype_of(input).is_complex else 0),
                    axis=dims, keepdims=keepdim)
    free = max(n - (1 if correction is None else correction), 0)
    return total / jnp.asarray(free, total.dtype)


def _sqrt_flat(v):
    # the standard deviation of constants has slope 0
    return jnp.where(v == 0, 0, jnp.sqrt(jnp.where(v == 0, 1, v)))


@op(saves="0")
def var(input, /, dim=None, *, correction=1, keepdim=False):
    return _var(input, dim, correction, keepdim)


@op(saves="0r")
def std(input, /, dim=None, *, correction=1, keepdim=False):
    return _sqrt_flat(_var(input, dim, correction, keepdim))


def _mean_of(x, dim, keepdim):
    dims = wrap_dims(dim, x.ndim)
    return _total(x, dims, keepdim) / jnp.asarray(_count(x, dims), x.dtype)


@op(names="torch")
def var_mean(input, /, dim=None, *, correction=1, keepdim=False):
    return _var(input, dim, correction, keepdim, "var_mean"), _mean_of(input, dim, keepdim)


@op(names="torch", saves="0r")
def std_mean(input, /, dim=None, *, correction=1, keepdim=False):
    return (_sqrt_flat(_var(input, dim, correction, keepdim, "std_mean")), _mean_of(input, dim, keepdim))


# ---- extremes

@op(name="max_all", names="", node="MaxBackward1", saves="0r")
def max_all(input, /):
    kernel("max_all", input, "bif")
    refuse_empty("max", input, None)
    return _max_all(input, None, False)


@op(name="min_all", names="", node="MinBackward1", saves="0r")
def min_all(input, /):
    kernel("min_all", input, "bif")
    refuse_empty("min", input, None)
    return _min_all(input, None, False)


def _even(fn, equal_nan):
    """An extreme whose slope is shared evenly by all elements equal to it; where it is nan the slope is nan, or shared by
    the nans if `equal_nan`."""
    @partial(jax.custom_jvp, nondiff_argnums=(1, 2))
    def value(x, dims, keepdim):
        return fn(x, axis=dims, keepdims=keepdim)

    @value.defjvp
    def jvp(dims, keepdim, primals, tangents):
        (x,), (t,) = primals, tangents
        y = value(x, dims, True)
        hit = x == y
        if equal_nan:
            hit |= jnp.isnan(x) & jnp.isnan(y)
        hit = hit.astype(x.dtype)
        slope = jnp.sum(t * (hit / jnp.sum(hit, axis=dims, keepdims=True)), axis=dims, keepdims=keepdim)
        return (y if keepdim else jnp.squeeze(y, dims)), slope
    return lambda input, dim, keepdim: value(input, wrap_dims(dim, input.ndim), keepdim)


_amax, _amin = _even(jnp.max, False), _even(jnp.min, False)
_max_all, _min_all = _even(jnp.max, True), _even(jnp.min, True)


@op(saves="0r")
def amax(input, /, dim=(), keepdim=False):
    kernel("max_values_cpu", input, "bif")
    refuse_empty("amax", input, dim if dim != () else None)
    return _amax(input, dim, keepdim)


@op(saves="0r")
def amin(input, /, dim=(), keepdim=False):
    kernel("min_values_cpu", input, "bif")
    refuse_empty("amin", input, dim if dim != () else None)
    return _amin(input, dim, keepdim)


@op(multi="min max", saves="0ri")
def aminmax(input, /, *, dim=None, keepdim=False):
    kernel("aminmax_cpu", input, "bif")
    if dim is None and not input.size:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if dim is not None and input.ndim and not input.shape[wrap_dim(dim, input.ndim)]:
        raise IndexError(f"aminmax: Expected reduction dim {wrap_dim(dim, input.ndim)} to have non-zero size.")
    return _amin(input, dim, keepdim), _amax(input, dim, keepdim)


def scatter_back(values, x, index, dim, keepdim):
    """Cotangent of x for values taken along one dimension at `index`: what PyTorch's value_selecting backward does."""
    if x.ndim == 0:
        return values.reshape(())
    dim = wrap_dim(dim, x.ndim)
    if not keepdim:
        values, index = jnp.expand_dims(values, dim), jnp.expand_dims(index, dim)
    return jnp.put_along_axis(jnp.zeros(x.shape, values.dtype), index, values, dim, inplace=False)


def _selected(y, ct, x, dim=-1, keepdim=False):
    return scatter_back(ct[0], x, y[1], dim, keepdim)


def pick(input, index, dim, keepdim):
    """(values, indices) for an int64 index array that keeps the dimension."""
    x, d = one_dim(input, dim)
    index = index.astype("int64")
    values = jnp.take_along_axis(x, index, d)
    if keepdim and input.ndim:
        return values, index
    return jnp.squeeze(values, d), jnp.squeeze(index, d)


def _extreme_dim(name, arg, input, dim, keepdim):
    kernel(f"{name}_cpu", input, "bif")
    x, d = one_dim(input, dim)
    refuse_empty(name, x, d)
    return pick(input, arg(x, axis=d, keepdims=True), dim, keepdim)


@op(name="max_dim", names="", multi="values indices", node="MaxBackward0", saves="i", result=_selected)
def max_dim(input, /, dim, keepdim=False):
    return _extreme_dim("max", jnp.argmax, input, dim, keepdim)


@op(name="min_dim", names="", multi="values indices", node="MinBackward0", saves="i", result=_selected)
def min_dim(input, /, dim, keepdim=False):
    return _extreme_dim("min", jnp.argmin, input, dim, keepdim)


def _arg(name, fn, input, dim, keepdim):
    if dtype_of(input).category in (0, 3):
        raise RuntimeError(f"{name}(): does not support {'complex' if dtype_of(input).is_complex else 'bool'} input")
    if dim is None and not input.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    refuse_empty(name, input, dim)
    if dim is None:
        y = fn(input.reshape(-1)).astype("int64")
        return y.reshape((1,) * input.ndim) if keepdim else y
    x, d = one_dim(input, dim)
    return fn(x, axis=d, keepdims=keepdim and input.ndim > 0).astype("int64")


@op(differentiable=False, positions="input._aval.size")
def argmax(input, /, dim=None, keepdim=False):
    return _arg("argmax", jnp.argmax, input, dim, keepdim)


@op(differentiable=False, positions="input._aval.size")
def argmin(input, /, dim=None, keepdim=False):
    return _arg("argmin", jnp.argmin, input, dim, keepdim)


# ---- medians, modes, quantiles

def _lower_median_index(x, dim, skip_nan):
    """Index of the lower median along dim (kept); nan wins unless it is skipped."""
    n = x.shape[dim]
    order = jnp.argsort(x, axis=dim, stable=True)
    nan = jnp.sum(jnp.isnan(x), axis=dim, keepdims=True)
    if skip_nan:
        at = jnp.maximum(n - nan - 1, 0) // 2
    else:
        at = jnp.where(nan > 0, n - nan, (n - 1) // 2)
    return jnp.take_along_axis(order, at, dim)


@jax.custom_jvp
def _median(x, y):
    return y


@_median.defjvp
def _median_jvp(primals, tangents):
    # shared evenly by all elements equal to the median
    (x, y), (t, _) = primals, tangents
    hit = ((x == y) | (jnp.isnan(x) & jnp.isnan(y))).astype(x.dtype)
    return y, jnp.sum(t * hit) / jnp.sum(hit)


def _median_all(input, skip_nan):
    kernel("median_cpu", input, "if")
    if input.size == 0:
        return jnp.full((), jnp.nan if dtype_of(input).category >= 2 else jnp.iinfo(input.dtype).min, input.dtype)
    flat = input.reshape(-1)
    y = flat[_lower_median_index(flat, 0, skip_nan)][0]
    return _median(flat, lax.stop_gradient(y)) if dtype_of(input).category >= 2 else y


def _median_dim(input, dim, keepdim, skip_nan):
    kernel("median_out", input, "if")
    x, d = one_dim(input, dim)
    if x.shape[d] == 0:
        raise IndexError("median(): Expected reduction dim {d} to have non-zero size.")
    return pick(input, _lower_median_index(x, d, skip_nan), dim, keepdim)


@op(name="median_all", names="", node="MedianBackward0", saves="0r", keeps=True)
def median_all(input, /):
    return _median_all(input, False)


@op(name="nanmedian_all", names="", node="NanmedianBackward0", saves="0r", keeps=True)
def nanmedian_all(input, /):
    return _median_all(input, True)


@op(name="median_dim", names="", multi="values indices", node="MedianBackward1", saves="i", result=_selected)
def median_dim(input, /, dim, keepdim=False):
    return _median_dim(input, dim, keepdim, False)


@op(name="nanmedian_dim", names="", multi="values indices", node="NanmedianBackward1", saves="i", result=_selected)
def nanmedian_dim(input, /, dim, keepdim=False):
    return _median_dim(input, dim, keepdim, True)


@op(multi="values indices", saves="i", result=_selected)
def mode(input, /, dim=-1, keepdim=False):
    kernel("mode_cpu", input, "bif")
    x, d = one_dim(input, dim)
    order = jnp.argsort(x, axis=d, stable=True)
    s = jnp.moveaxis(jnp.take_along_axis(x, order, d), d, -1)
    n = s.shape[-1]
    place = jnp.arange(n)
    starts = jnp.concatenate([jnp.ones(s.shape[:-1] + (1,), bool), s[..., 1:] != s[..., :-1]], -1)
    run = place - lax.cummax(jnp.where(starts, place, 0), axis=s.ndim - 1)
    best = jnp.argmax(run, axis=-1, keepdims=True)  # the smallest value among the most frequent, its last index
    return pick(input, jnp.take_along_axis(order, jnp.moveaxis(best, -1, d), d), dim, keepdim)


def _quantile(name, input, q, dim, keepdim, interpolation, skip_nan):
    if dtype_of(input).category != 2:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    q = cast(q, dtype_of(input))
    x, d = (input.reshape(-1), 0) if dim is None else one_dim(input, dim)
    if x.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    s = jnp.moveaxis(jnp.sort(x, axis=d), d, -1)
    n = s.shape[-1]
    nan = jnp.sum(jnp.isnan(s), axis=-1, keepdims=True)
    rank = q.reshape(-1) * (jnp.maximum(n - nan - 1, 0) if skip_nan else n - 1)
    rank = rank.astype(s.dtype) if skip_nan else jnp.where(nan > 0, n - 1, rank)
    below = jnp.floor(rank).astype(int)
    if interpolation == "lower":
        y = jnp.take_along_axis(s, below, -1)
    elif interpolation == "higher":
        y = jnp.take_along_axis(s, jnp.ceil(rank).astype(int), -1)
    elif interpolation == "nearest":
        y = jnp.take_along_axis(s, jnp.round(rank).astype(int), -1)
    else:
        lo, hi = (jnp.take_along_axis(s, i, -1) for i in (below, jnp.ceil(rank).astype(int)))
        w = 0.5 if interpolation == "midpoint" else rank - below
        y = lo + jnp.where(lo == hi, 0, hi - lo) * w
    y = jnp.moveaxis(y, -1, 0)
    if keepdim:
        y = y.reshape(y.shape[:1] + (1,) * input.ndim) if dim is None or not input.ndim else jnp.expand_dims(y, d + 1)
    return y if q.ndim else y[0]


@op(numbers="1", node="SqueezeBackward4", keeps=True)
def quantile(input, q, /, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@op(numbers="1", node="SqueezeBackward4", keeps=True)
def nanquantile(input, q, /, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# ---- logarithmic sums

@op(saves="0r", aliases="special.logsumexp")
def logsumexp(input, /, dim, keepdim=False):
    x = default_float(input)
    dims = wrap_dims(dim, x.ndim)
    top = lax.stop_gradient(jnp.max(x.real, axis=dims, keepdims=True, initial=-jnp.inf))
    top = jnp.where(jnp.isfinite(top), top, 0)
    y = jnp.log(jnp.sum(jnp.exp(x - top), axis=dims, keepdims=True)) + top
    return y if keepdim else jnp.squeeze(y, dims)


# ---- norms

def vector_norm(x, p, dims, keepdim):
    """(sum |x|^p)^(1/p) with slope 0 where the norm is 0."""
    def total(v):
        return jnp.sum(v, axis=dims, keepdims=keepdim)
    if p == 2:
        square = x.real * x.real + x.imag * x.imag if dtype_of(x).is_complex else x * x
        return _sqrt_flat(total(square))
    a = magnitude(x)
    if p == 0:
        return total((a != 0).astype(a.dtype))
    if p == 1:
        return total(a)
    if p == float("inf"):
        return _amax(a, dims, keepdim)
    if p == float("-inf"):
        return _amin(a, dims, keepdim)
    s = total(jnp.where(a == 0, 0.0 if p > 0 else jnp.inf, jnp.where(a == 0, 1, a) ** p))
    flat = s == 0
    return jnp.where(flat, 0 if p > 0 else jnp.inf, jnp.where(flat, 1, s) ** (1 / p))


def norm_operand(name, x, dtype):
    if dtype is not None:
        return cast(x, dtype)
    if dtype_of(x).category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype_of(x).legacy}")
    return x


@op(names="linalg", name="linalg_vector_norm", node="LinalgVectorNormBackward0", saves="0r")
def linalg_vector_norm(x, /, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = norm_operand("linalg.vector_norm", x, dtype)
    return vector_norm(x, ord, wrap_dims(dim, x.ndim), keepdim)


@op(node="LinalgVectorNormBackward0", saves="0r")
def norm(input, /, p="fro", dim=None, keepdim=False, dtype=None):
    x = norm_operand("linalg.vector_norm", input, dtype)
    dims = wrap_dims(dim, x.ndim)
    if p == "nuc":
        m = jnp.moveaxis(x, dims, (-2, -1)) if x.ndim > 2 else x
        y = jnp.sum(jnp.linalg.svd(m, compute_uv=False), -1)
        return jnp.expand_dims(y, dims) if keepdim else y
    return vector_norm(x, 2 if p in ("fro", None) else p, dims, keepdim)


# ---- scans

def _scan(fn, input, dim, dtype):
    x = widened(input, dtype)
    kernel(f"{fn.__name__}_out_cpu", x, "ifc")
    d = wrap_dim(dim, x.ndim)
    return fn(x, axis=d) if x.ndim else x


@op(inplace=True)
def cumsum(input, /, dim, *, dtype=None):
    return _scan(lax.cumsum, input, dim, dtype)


@op(inplace=True, saves="0r")
def cumprod(input, /, dim, *, dtype=None):
    return _scan(lax.cumprod, input, dim, dtype)


@op(saves="0r")
def logcumsumexp(input, /, dim):
    x = input
    kernel("logcumsumexp_out_cpu", x, "fc")
    d = wrap_dim(dim, x.ndim)
    return lax.cumlogsumexp(x, axis=d) if x.ndim else x


def _cumulative_extreme(input, dim, better):
    x, d = one_dim(input, dim)
    place = jnp.broadcast_to(jnp.expand_dims(jnp.arange(x.shape[d]), tuple(i for i in range(x.ndim) if i != d)), x.shape)

    def join(a, b):
        # the later index wins a tie, nan wins always
        take = better(b[0], a[0]) | jnp.isnan(b[0])
        return jnp.where(take, b[0], a[0]), jnp.where(take, b[1], a[1])
    index = lax.associative_scan(join, (lax.stop_gradient(x), place), axis=d)[1].astype("int64")
    values = jnp.take_along_axis(x, index, d)
    return values.reshape(input.shape), index.reshape(input.shape)


def _cumulative_back(y, ct, x, dim):
    x1, d = one_dim(x, dim)
    grid = list(jnp.indices(x1.shape, sparse=True))
    grid[d] = y[1].reshape(x1.shape)
    return jnp.zeros(x1.shape, ct[0].dtype).at[tuple(grid)].add(ct[0].reshape(x1.shape)).reshape(x.shape)


@op(multi="values indices", saves="0i", result=_cumulative_back)
def cummax(input, /, dim):
    kernel("cummax_cpu", input, "bif")
    return _cumulative_extreme(input, dim, jnp.greater_equal)


@op(multi="values indices", saves="0i", result=_cumulative_back)
def cummin(input, /, dim):
    kernel("cummin_cpu", input, "bif")
    return _cumulative_extreme(input, dim, jnp.less_equal)


@op(order="input, n=1, dim=-1, prepend=None, append=None", node="SubBackward0")
def diff(input, prepend=None, append=None, /, n=1, dim=-1):
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, input.ndim)
    x = jnp.concatenate([p for p in (prepend, input, append) if p is not None], axis=d)
    for _ in range(n):
        hi, lo = lax.slice_in_dim(x, 1, None, axis=d), lax.slice_in_dim(x, 0, -1, axis=d)
        x = hi ^ lo if dtype_of(x) is dtypes.bool else hi - lo
    return x


@op(saves="")
def trace(input, /):
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return jnp.sum(jnp.diagonal(widened(input, None)))


@op(saves="01r")
def cdist(x1, x2, /, p=2.0, compute_mode=None):
    gap = x1[..., :, None, :] - x2[..., None, :, :]
    return vector_norm(gap, p, (gap.ndim - 1,), False)


@op(saves="01r")
def dist(input, other, /, p=2):
    (gap,) = promote_float(input - other)
    return vector_norm(gap, p, tuple(range(gap.ndim)), False)


@op(names="torch functional", saves="0r")
def pdist(input, /, p=2.0):
    i, j = jnp.triu_indices(input.shape[0], 1)
    return vector_norm(input[i] - input[j], p, (1,), False)


@op(order="input, *, correction=1, fweights=None, aweights=None", node="SqueezeBackward0", saves="")
def cov(input, fweights=None, aweights=None, /, *, correction=1):
    return _cov(input, correction, fweights, aweights)


def _cov(input, correction, fweights=None, aweights=None, name="cov"):
    if input.ndim > 2:
        raise RuntimeError(f"{name}(): expected input to have two or fewer dimensions but got an input with {input.ndim} "
                           "dimensions")
    if dtype_of(input).category == 0:
        raise RuntimeError(f"{name}(): bool dtype is not supported for input")
    _weights("fweights", fweights, "integral", 1, input)
    _weights("aweights", aweights, "floating point", 2, input)
    x = default_float(input)
    x = x.reshape(1, -1) if x.ndim < 2 else x
    w = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    w = jnp.ones(x.shape[1], x.dtype) if w is None else w.astype(x.dtype)
    total = jnp.sum(w)
    gap = x - jnp.sum(x * w, axis=1, keepdims=True) / total
    free = total - correction * (1 if aweights is None else jnp.sum(w * aweights) / total)
    c = (gap * w) @ jnp.conj(gap.T) / jnp.maximum(free.real, 0).astype(x.dtype)
    return jnp.squeeze(c)


def _weights(name, w, kind, category, input):
    if w is None:
        return
    if w.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions")
    if dtype_of(w).category != category:
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {dtype_of(w).legacy} dtype")
    n = input.shape[-1] if input.ndim else 1
    if w.size != n:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.size} != {n}")


@op(node="ClampBackward1", saves="")
def corrcoef(input, /):
    c = _cov(input, 1, name="corrcoef")
    if c.ndim == 0:
        return c / c
    d = jnp.sqrt(jnp.diagonal(c).real)
    return c / d[:, None] / d[None, :]
