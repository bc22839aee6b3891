"""Pooling."""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops.conv import join, out_size, strided, tuple_of
from torchish.ops.pointwise import floor_quotient
from torchish.ops.promote import dtype_of, kernel
from torchish.ops.table import op

_COUNT = {1: "one", 2: "two", 3: "three"}
_SIDES = {1: "HW", 2: "HW", 3: "THW"}


# ---- checks, in PyTorch's words

def _numbers(name, n, what, given):
    """One number a dimension."""
    t = tuple_of(given, n)
    if len(t) == n:
        return t
    omitted = "omitted, " * (what == "stride")
    if name == "max_pool1d":
        none, comma = "None, " * (what == "stride"), "," * (what in ("stride", "padding"))
        raise RuntimeError(f"max_pool1d() {what} must be {none}an int, list of ints{comma} or tuple of ints of size 1 but got size {len(t)}")
    if n == 1:
        raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(t)})")
    verb = "be" if name == "avg_pool3d" else "be either" if what == "dilation" else "either be"
    raise RuntimeError(f"{name}: {what} must {verb} {omitted}a single int, or a tuple of {_COUNT[n]} ints")


def _each(prefix, values):
    """The values with the names of their dimensions, as PyTorch prints them; one dimension is computed in two."""
    values = (1, *values) if len(values) == 1 else values
    return " ".join(f"{prefix}{side}: {v}" for side, v in zip(_SIDES[len(values)], values))


def _windows(name, n, kernel_size, stride, padding, dilation=1, indices=False):
    """The four, checked, with one number a dimension."""
    size, pads, spread = (_numbers(name, n, what, v) for what, v in
                          (("kernel_size", kernel_size), ("padding", padding), ("dilation", dilation)))
    steps = size if stride in (None, ()) else _numbers(name, n, "stride", stride)
    if name == "max_pool1d" and not indices:       # with them PyTorch computes it in two dimensions
        for what, (v,) in ("kernel_size", size), ("stride", steps), ("dilation", spread):
            if v <= 0:
                raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {v}")
        if pads[0] < 0:
            raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pads[0]}")
        if pads[0] > size[0] // 2:
            raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={pads[0]} and "
                               f"kernel_size={size[0]}")
        return size, steps, pads, spread
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    for what, prefix, values in ("kernel size", "k", size), ("stride", "d", steps), ("dilation", "dilation", spread):
        if min(values) <= 0:
            raise RuntimeError(f"{what} should be greater than zero, but got {_each(prefix, values)}")
    for k, p, d in zip(size, pads, spread):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    return size, steps, pads, spread


def _check_dimensions(name, input, n):
    """(channels, spatial…), with a batch in front or not."""
    if input.ndim in (n + 1, n + 2):
        return
    if n == 1 and name != "max_pool1d":
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking "
                           f"arguments for {name.removesuffix('_with_indices')})")
    if name.startswith("adaptive"):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{':' * ('max' in name)} {list(input.shape)}")
    if name == "max_pool2d" or n == 3:
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if input.ndim < n and name != "max_pool1d":
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {-n - 1})")
    _refuse_shape(name, input, n)


def _refuse_shape(name, input, n):
    shape = list(input.shape)
    if name in ("avg_pool1d", "max_pool1d_with_indices"):    # computed in two dimensions
        n, shape = 2, [*shape[:-1], 1, *shape[-1:]]
    said = "max_pool1d: " * (name == "max_pool1d")
    raise RuntimeError(f"{said}Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}")


def _check_pooled(name, input, n):
    """Only the batch may be empty."""
    _check_dimensions(name, input, n)
    if 0 not in input.shape[-n - 1:]:
        return
    if n == 3:
        routine = "max_pool3d_with_indices_out_cpu_template" if name.startswith("max") else name
        raise RuntimeError(f"{routine}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
                           f"{list(input.shape)} and non-batch dimension 0 has length zero!")     # 0 whichever it is
    _refuse_shape(name, input, n)


def _check_outs(input, n, out):
    if any(o < 1 for o in out):
        def show(sizes):     # one dimension is computed in two
            return "x".join(map(str, [input.shape[-n - 1], *[1] * (n == 1), *sizes]))
        raise RuntimeError(f"Given input size: ({show(input.shape[-n:])}). Calculated output size: ({show(out)}). Output size is too small")


def check_adaptive(name, input, output_size, n):
    """`output_size` as PyTorch takes it: one number, or one (or None) a dimension."""
    if isinstance(output_size, int) or output_size is None:
        output_size = (output_size,) * n
    elif 1 < n == len(output_size) >= input.ndim:
        raise ValueError(f"Input dimension should be at least {n + 1}")
    if len(output_size) != n:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})" if n == 1 else
                           f"{name}: output_size must be {n}" if "avg" in name else
                           f"{name}(): internal error: output_size.size() must be {n}")
    if any(o is not None and o < 0 for o in output_size):
        if "max" in name:
            made = [*input.shape[:-n], *[1] * (n == 1), *output_size]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {made}")
        first, *rest = [1, *output_size] if n == 1 else output_size
        raise RuntimeError(f"adaptive_avg_pool{max(n, 2)}d: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{first}, {','.join(map(str, rest))}}}")      # spaced as PyTorch prints them
    _check_dimensions(name, input, n)
    shape = list(input.shape)
    if name == "adaptive_avg_pool1d":   # computed in two dimensions
        name, shape, n = "adaptive_avg_pool2d", [*shape[:-1], 1, *shape[-1:]], 2
    # the first dimension may be empty, and the channels where the average is taken in two dimensions
    checked = range(len(shape) - n if name == "adaptive_avg_pool2d" else 1, len(shape))
    empty = next((d for d in checked if not shape[d]), None)
    if empty is not None:
        raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} with "
                           f"dimension {empty} being empty")
    kernel(f"{name.replace('1d', '2d')}{'_cpu' * (n == 3)}", input, "f")


# ---- rows

def _pool_max(x, n, tables, return_indices):
    """The largest of each window; the first among equals, nan first of all."""
    sizes = x.shape[-n:]
    where, inside = join(tables, sizes)
    flat = x.reshape(x.shape[:-n] + (math.prod(sizes),))
    low = -jnp.inf if dtype_of(x).category >= 2 else jnp.iinfo(x.dtype).min
    seen = jnp.where(inside, flat[..., where], jnp.asarray(low, x.dtype))
    best = jnp.argmax(lax.stop_gradient(seen), axis=-1, keepdims=True)
    index = jnp.take_along_axis(jnp.broadcast_to(where, seen.shape), best, -1)[..., 0].astype("int64")
    values = jnp.take_along_axis(flat, index.reshape(flat.shape[:-1] + (math.prod(where.shape[:-1]),)), -1).reshape(index.shape)
    if not inside.any(-1).all():     # a window may lie in the padding altogether
        values = jnp.where(inside.any(-1), values, jnp.asarray(low, x.dtype))
    return (values, index) if return_indices else values


def _register_pools(n):
    def max_pool(input, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        size, steps, pads, spread = _windows(f"max_pool{n}d", n, kernel_size, stride, padding, dilation, return_indices)
        _check_pooled(f"max_pool{n}d" + "_with_indices" * (n == 1 and return_indices), input, n)
        tables = strided(input.shape[-n:], size, steps, pads, spread, ceil_mode)
        outs = [len(t) for t in tables]
        if n == 1 and outs[0] < 1 and not return_indices:
            got = out_size(input.shape[-1], size[0], steps[0], pads[0], spread[0], ceil_mode)
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {got}")
        _check_outs(input, n, outs)
        if n == 1 and not return_indices:
            kernel("max_pool1d_impl", input, "f")
        else:
            kernel(f"max_pool{max(n, 2)}d", input, "if")
        return _pool_max(input, n, tables, return_indices)

    def avg_pool(input, /, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        size, steps, padding, _ = _windows(f"avg_pool{n}d", n, kernel_size, stride, padding)
        _check_pooled(f"avg_pool{n}d", input, n)
        sizes = input.shape[-n:]
        if n == 3 and any(i + 2 * p < k for i, p, k in zip(sizes, padding, size)):
            raise RuntimeError(f"input image ({_each('', sizes)}) smaller than kernel size ({_each('k', size)})")
        outs = [out_size(i, k, s, p, 1, ceil_mode) for i, k, s, p in zip(sizes, size, steps, padding)]
        _check_outs(input, n, outs)
        if input.dtype != np.int64:
            kernel("avg_pool3d_out_frame" if n == 3 else "avg_pool2d", input, "f")
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        pads = [(p, max((o - 1) * s + k - i - p, 0)) for i, k, s, p, o in zip(sizes, size, steps, padding, outs)]
        lead = input.ndim - n
        wide = input.astype("float32") if dtype_of(input).category == 2 and dtype_of(input).itemsize < 4 else input
        total = lax.reduce_window(wide, np.zeros((), wide.dtype), lax.add, (1,) * lead + size, (1,) * lead + steps,
                                  [(0, 0)] * lead + pads)
        total = total[(...,) + tuple(slice(0, o) for o in outs)]
        count = jnp.asarray(divisor_override or _window_count(sizes, size, steps, padding, outs, count_include_pad), wide.dtype)
        return (total / count).astype(input.dtype) if dtype_of(input).category >= 2 else floor_quotient(total, count)

    def adaptive_max_pool(input, /, output_size, return_indices=False):
        check_adaptive(f"adaptive_max_pool{n}d", input, output_size, n)
        tables = [_adaptive_table(i, o) for i, o in zip(input.shape[-n:], _sizes(output_size, input, n))]
        return _pool_max(input, n, tables, return_indices)

    def adaptive_avg_pool(input, /, output_size):
        check_adaptive(f"adaptive_avg_pool{n}d", input, output_size, n)
        y = input
        for k, o in enumerate(_sizes(output_size, input, n)):
            axis = input.ndim - n + k
            weights = averages(y.shape[axis], o)
            y = jnp.moveaxis(jnp.tensordot(y, jnp.asarray(weights, y.dtype), (axis, 1),
                                           precision=lax.Precision.HIGHEST), -1, axis)
        return y
    node = {1: "SqueezeBackward1", 2: "MaxPool2DWithIndicesBackward0", 3: "MaxPool3DWithIndicesBackward0"}[n]
    op(max_pool, name=f"max_pool{n}d", names="torch functional", node=node, saves="0i")
    op(avg_pool, name=f"avg_pool{n}d", names="functional torch" if n == 1 else "functional", saves="0",
       node="SqueezeBackward1" if n == 1 else f"AvgPool{n}DBackward0")
    op(adaptive_max_pool, name=f"adaptive_max_pool{n}d", names="functional", saves="0i",
       node=f"AdaptiveMaxPool{n}DBackward0" if n > 1 else "SqueezeBackward1")
    op(adaptive_avg_pool, name=f"adaptive_avg_pool{n}d", names="functional torch" if n == 1 else "functional", saves="0",
       node=f"AdaptiveAvgPool{n}DBackward0" if n > 1 else "SqueezeBackward1")


def _window_count(sizes, kernel, stride, padding, outs, include_pad):
    count = 1
    for i, k, s, p, o in zip(sizes, kernel, stride, padding, outs):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, i + p)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, i)
        count = np.multiply.outer(count, end - start)
    return count


def adaptive_ranges(size, out):
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def averages(size, out):
    """The (out, size) weights of adaptive averaging."""
    at = np.arange(size)
    return np.array([((at >= a) & (at < b)) / (b - a) for a, b in adaptive_ranges(size, out)]).reshape(out, size)


def _adaptive_table(size, out):
    ranges = adaptive_ranges(size, out)
    width = max((b - a for a, b in ranges), default=1)
    return np.array([[a + j if a + j < b else size for j in range(width)] for a, b in ranges], int).reshape(out, width)


def _sizes(output_size, input, n):
    wanted = (output_size,) * n if output_size is None or isinstance(output_size, int) else tuple(output_size)
    return [input.shape[-n + i] if o is None else o for i, o in enumerate(wanted)]


for _n in (1, 2, 3):
    _register_pools(_n)


def _check_unpooled(n, input, indices):
    twice = max(n, 2)       # one dimension is computed in two
    shape = [*input.shape, *[1] * (n == 1)]
    if indices.dtype != np.int64:
        got = f" but got: {dtype_of(indices).legacy}" * (n < 3)
        raise RuntimeError(f"elements in indices should be type int64{got}")
    if len(shape) not in (twice + 1, twice + 2):
        raise RuntimeError(f"Input to max_unpooling{twice}d should be a {twice + 1}d or {twice + 2}d Tensor, but got a tensor with "
                           f"{len(shape)} dimensions.")
    empty = next((d for d in range(len(shape) - twice - 1, len(shape)) if not shape[d]), None)
    if empty is not None:
        raise RuntimeError(f"max_unpooling{twice}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got "
                           f"{shape} with dimension {empty} being empty.")
    kernel(f"max_unpool{twice}d", input, "f")


def _register_unpool(n):
    def row(input, indices, /, kernel_size, stride=None, padding=0, output_size=None):
        size, padding = tuple_of(kernel_size, n), tuple_of(padding, n)
        stride = size if stride in (None, ()) else tuple_of(stride, n)
        out = tuple(output_size)[-n:] if output_size else tuple(
            (i - 1) * s - 2 * p + k for i, s, p, k in zip(input.shape[-n:], stride, padding, size))
        if indices.shape != input.shape:
            def shown(t):
                return list(t.shape) + [1] * (n == 1)
            raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({shown(input)}) but got indices tensor "
                               f"with shape: {shown(indices)}")
        lead = input.shape[:-n]
        _check_unpooled(n, input, indices)
        flat, at = (t.reshape((math.prod(lead), math.prod(input.shape[-n:]))) for t in (input, indices))
        rows = jnp.arange(flat.shape[0])[:, None]
        y = jnp.zeros((flat.shape[0], math.prod(out)), input.dtype).at[rows, at].set(flat, unique_indices=True)
        return y.reshape(lead + out)
    op(row, name=f"max_unpool{n}d", names="functional", node=f"MaxUnpool{max(n, 2)}DBackward0")


for _n in (1, 2, 3):
    _register_unpool(_n)


@op(name="max_pool2d_with_indices_backward", names="", saves="2", node="MaxPool2DWithIndicesBackwardBackward0")
def max_pool2d_with_indices_backward(grad_output, input, indices, /):
    """A cotangent goes to where the maximum was."""
    lead = math.prod(input.shape[:-2])
    at, ct = indices.reshape((lead, -1)), grad_output.reshape((lead, -1))
    y = jnp.zeros((lead, math.prod(input.shape[-2:])), ct.dtype).at[jnp.arange(lead)[:, None], at].add(ct)
    return y.reshape(input.shape)
