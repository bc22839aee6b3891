"""Counting, and sums and differences along a dimension."""

import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.promote import cast, dtype_of, is_number, promote, promote_float, wrap_dim
from torchish.ops.table import op

# ---- counting

@op(names="functional", differentiable=False)
def one_hot(input, /, num_classes):
    """`num_classes` is static here (the binding reads the largest class for -1)."""
    if dtype_of(input) is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    return (input[..., None] == jnp.arange(num_classes)).astype("int64")


@op(underivable="aten::bincount")
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


@op(aliases="trapz", names="torch", node="MulBackward1", by="x is not None", variants={True: "DivBackward1"}, saves="")
def trapezoid(y, x=None, /, *, dx=1, dim=-1):
    strips, d = _strips(y, x, dx, dim)
    return jnp.sum(strips, axis=d)


@op(names="torch", node="CumsumBackward0", saves="")
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


@op(names="", differentiable=False)
def unravel_index(indices, /, shape):
    out, indices = [], cast(indices, dtypes.int64)
    for n in reversed([max(n, 1) for n in shape]):
        out.append(indices % n)
        indices = indices // n
    return tuple(reversed(out))
