"""Convolutions, pooling, padding, resampling."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops.pointwise import floor_quotient
from torchish.ops.promote import cast, dtype_of
from torchish.ops.table import op

_DIMS = "DHW"


def tuple_of(v, n):
    """An int or a sequence as n numbers."""
    v = (v,) * n if isinstance(v, (int, float)) else tuple(v)
    return v * n if len(v) == 1 else v


def _layout(n):
    s = _DIMS[-n:]
    return lax.conv_dimension_numbers((1,) * (n + 2), (1,) * (n + 2), ("NC" + s, "OI" + s, "NC" + s))


def _check_window(n, input, weight, stride, padding, dilation):
    if input.ndim > weight.ndim:
        raise RuntimeError(f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{list(weight.shape)}, but got "
                           f"{input.ndim}-dimensional input of size {list(input.shape)} instead")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def _check_conv(name, n, input, weight, bias, groups, channels):
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}{n}d, but got input of size: "
                           f"{list(input.shape)}")
    if input.dtype != weight.dtype:
        raise RuntimeError(f"Input type ({_ctype(input)}) and bias type ({_ctype(weight)}) should be the same"
                           if bias is not None else
                           f"expected m1 and m2 to have the same dtype, but got: {_ctype(input)} != {_ctype(weight)}")
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({_ctype(input)}) and bias type ({_ctype(bias)}) should be the same")
    if input.shape[-n - 1] != channels:
        x = input if input.ndim == n + 2 else input[None]
        tail = f"expected input{list(x.shape)} to have {channels} channels, but got {x.shape[1]} channels instead"
        head = "transposed=1, " if name == "conv_transpose" else ""
        raise RuntimeError(f"Given {head}groups={groups}, weight of size {list(weight.shape)}, {tail}")


def _ctype(x):
    return {"float32": "float", "float64": "double", "int64": "long int", "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>"}.get(x.dtype.name, x.dtype.name)


def _batched(fn, input, n):
    return fn(input) if input.ndim == n + 2 else fn(input[None])[0]


def _conv(n, input, weight, bias, stride, padding, dilation, groups):
    stride, dilation = tuple_of(stride, n), tuple_of(dilation, n)
    _check_window(n, input, weight, stride, () if isinstance(padding, str) else tuple_of(padding, n), dilation)
    _check_conv("conv", n, input, weight, bias, groups, weight.shape[1] * groups)
    span = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    if padding == "same":
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        pads = [(t // 2, t - t // 2) for t in span]
    else:
        pads = [(p, p) for p in tuple_of(0 if padding == "valid" else padding, n)]
    sizes = [i + lo + hi for i, (lo, hi) in zip(input.shape[-n:], pads)]
    if any(s < t + 1 for s, t in zip(sizes, span)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, sizes))}). Kernel size: "
                           f"({' x '.join(str(t + 1) for t in span)}). Kernel size can't be greater than actual input size")

    def run(x):
        y = lax.conv_general_dilated(x, weight, stride, pads, rhs_dilation=dilation, dimension_numbers=_layout(n),
                                     feature_group_count=groups, precision=lax.Precision.HIGHEST)
        return y if bias is None else y + bias.reshape((-1,) + (1,) * n)
    return _batched(run, input, n)


def _conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_conv("conv_transpose", n, input, weight, bias, groups, weight.shape[0])
    stride, dilation, padding, extra = (tuple_of(v, n) for v in (stride, dilation, padding, output_padding))
    # the transpose of a convolution: dilate the input by the stride, flip the kernel
    w = weight.reshape((groups, weight.shape[0] // groups) + weight.shape[1:])
    w = jnp.flip(jnp.swapaxes(w, 1, 2), tuple(range(3, n + 3))).reshape((-1, weight.shape[0] // groups) + weight.shape[2:])
    pads = [(d * (k - 1) - p, d * (k - 1) - p + e) for d, k, p, e in zip(dilation, weight.shape[2:], padding, extra)]

    def run(x):
        y = lax.conv_general_dilated(x, w, (1,) * n, pads, lhs_dilation=stride, rhs_dilation=dilation,
                                     dimension_numbers=_layout(n), feature_group_count=groups,
                                     precision=lax.Precision.HIGHEST)
        return y if bias is None else y + bias.reshape((-1,) + (1,) * n)
    return _batched(run, input, n)


def _register_convs(n):
    def conv(input, weight, bias=None, /, stride=1, padding=0, dilation=1, groups=1):
        return _conv(n, input, weight, bias, stride, padding, dilation, groups)

    def transpose(input, weight, bias=None, /, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation)
    op(conv, name=f"conv{n}d", names="torch functional", node="ConvolutionBackward0", by=f"input._aval.ndim == {n + 1}",
       variants={True: "SqueezeBackward1"})
    op(transpose, name=f"conv_transpose{n}d", names="torch functional", node="ConvolutionBackward0")


# ---- windows: a static table of the positions each output element sees

def _out_size(size, k, s, p, d, ceil_mode):
    span = size + 2 * p - d * (k - 1) - 1
    n = (-(-span // s) if ceil_mode else span // s) + 1
    return n - 1 if ceil_mode and (n - 1) * s >= size + p else n  # the last window must begin inside


def _check_pool(input, n, out):
    if any(o < 1 for o in out):
        def show(t):
            return "x".join(map(str, t))
        raise RuntimeError(f"Given input size: ({show(input.shape[-n - 1:])}). Calculated output size: "
                           f"({show((input.shape[-n - 1],) + tuple(out))}). Output size is too small")


def _join(per_dim, sizes):
    """Per-dimension position tables (out_i, k_i) -> flat positions (outs..., prod k) and what lies inside."""
    n = len(per_dim)
    flat, inside = 0, True
    for i, (table, size) in enumerate(zip(per_dim, sizes)):
        shape = [1] * (2 * n)
        shape[i], shape[n + i] = table.shape
        table = table.reshape(shape)
        flat = flat * size + np.clip(table, 0, size - 1)
        inside = inside & (table >= 0) & (table < size)
    outs = tuple(t.shape[0] for t in per_dim)
    return flat.reshape(outs + (-1,)), np.broadcast_to(inside, flat.shape).reshape(outs + (-1,))


def _strided(sizes, kernel, stride, padding, dilation, ceil_mode):
    outs = [_out_size(*a, ceil_mode) for a in zip(sizes, kernel, stride, padding, dilation)]
    return [np.arange(o)[:, None] * s - p + np.arange(k) * d
            for o, k, s, p, d in zip(outs, kernel, stride, padding, dilation)]


def _pool_max(x, n, tables, return_indices):
    """The largest of each window; the first among equals, nan first of all."""
    sizes = x.shape[-n:]
    where, inside = _join(tables, sizes)
    flat = x.reshape(x.shape[:-n] + (-1,))
    low = -jnp.inf if dtype_of(x).category >= 2 else jnp.iinfo(x.dtype).min
    seen = jnp.where(inside, flat[..., where], jnp.asarray(low, x.dtype))
    best = jnp.argmax(lax.stop_gradient(seen), axis=-1, keepdims=True)
    index = jnp.take_along_axis(jnp.broadcast_to(where, seen.shape), best, -1)[..., 0].astype("int64")
    values = jnp.take_along_axis(flat, index.reshape(flat.shape[:-1] + (-1,)), -1).reshape(index.shape)
    return (values, index) if return_indices else values


def _check_pooled(name, input, n):
    """The sizes that pooling takes: (channels, spatial…), with a batch in front that may be empty."""
    if input.ndim in (n + 1, n + 2) and 0 not in input.shape[-n - 1:]:
        return
    if name == "avg_pool3d":
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                       f"{list(input.shape)}")


def _check_padding(kernel, padding):
    for k, p in zip(kernel, padding):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation=1")


def _check_adaptive(name, input, output_size, n):
    """`output_size` as PyTorch takes it: one number, or one (or None) a dimension."""
    if isinstance(output_size, int) or output_size is None:
        output_size = (output_size,) * n
    if len(output_size) != n:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})" if n == 1 else
                           f"{name}: output_size must be {n}" if "avg" in name else
                           f"{name}(): internal error: output_size.size() must be {n}")
    if n > 1 and input.ndim < n + 1:
        raise ValueError(f"Input dimension should be at least {n + 1}")
    if any(o is not None and o < 0 for o in output_size):
        shown = ", ".join(str(o) for o in output_size)
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}" if "avg" in name else
                           f"Trying to create tensor with negative dimension {min(output_size)}: {[*input.shape[:-n], *output_size]}")


def _register_pools(n):
    def max_pool(input, /, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        kernel, padding, dilation = (tuple_of(v, n) for v in (kernel_size, padding, dilation))
        stride = kernel if stride in (None, ()) else tuple_of(stride, n)
        _check_pooled(f"max_pool{n}d", input, n)
        for what, values in ("kernel_size", kernel), ("stride", stride), ("dilation", dilation):
            if any(v <= 0 for v in values):
                raise RuntimeError(f"max_pool{n}d() {what} must be greater than zero, but got {min(values)}")
        _check_padding(kernel, padding)
        tables = _strided(input.shape[-n:], kernel, stride, padding, dilation, ceil_mode)
        _check_pool(input, n, [len(t) for t in tables])
        return _pool_max(input, n, tables, return_indices)

    def avg_pool(input, /, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        kernel, padding = tuple_of(kernel_size, n), tuple_of(padding, n)
        stride = kernel if stride in (None, ()) else tuple_of(stride, n)
        _check_pooled(f"avg_pool{n}d", input, n)
        _check_padding(kernel, padding)
        sizes = input.shape[-n:]
        outs = [_out_size(i, k, s, p, 1, ceil_mode) for i, k, s, p in zip(sizes, kernel, stride, padding)]
        _check_pool(input, n, outs)
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        pads = [(p, max((o - 1) * s + k - i - p, 0)) for i, k, s, p, o in zip(sizes, kernel, stride, padding, outs)]
        lead = input.ndim - n
        total = lax.reduce_window(input, np.zeros((), input.dtype), lax.add, (1,) * lead + kernel, (1,) * lead + stride,
                                  [(0, 0)] * lead + pads)
        total = total[(...,) + tuple(slice(0, o) for o in outs)]
        count = jnp.asarray(divisor_override or _window_count(sizes, kernel, stride, padding, outs, count_include_pad),
                            input.dtype)
        return total / count if dtype_of(input).category >= 2 else floor_quotient(total, count)

    def adaptive_max_pool(input, /, output_size, return_indices=False):
        _check_adaptive(f"adaptive_max_pool{n}d", input, output_size, n)
        tables = [_adaptive_table(i, o) for i, o in zip(input.shape[-n:], _sizes(output_size, input, n))]
        return _pool_max(input, n, tables, return_indices)

    def adaptive_avg_pool(input, /, output_size):
        _check_adaptive(f"adaptive_avg_pool{n}d", input, output_size, n)
        y = input
        for k, o in enumerate(_sizes(output_size, input, n)):
            axis = input.ndim - n + k
            weights = np.stack([((np.arange(y.shape[axis]) >= a) & (np.arange(y.shape[axis]) < b)) / (b - a)
                                for a, b in _adaptive_ranges(y.shape[axis], o)])
            y = jnp.moveaxis(jnp.tensordot(y, jnp.asarray(weights, y.dtype), (axis, 1),
                                           precision=lax.Precision.HIGHEST), -1, axis)
        return y
    node = {1: "SqueezeBackward1", 2: "MaxPool2DWithIndicesBackward0", 3: "MaxPool3DWithIndicesBackward0"}[n]
    op(max_pool, name=f"max_pool{n}d", names="torch functional", node=node, saves="0")
    op(avg_pool, name=f"avg_pool{n}d", names="functional torch" if n == 1 else "functional", saves="0",
       node="SqueezeBackward1" if n == 1 else f"AvgPool{n}DBackward0")
    op(adaptive_max_pool, name=f"adaptive_max_pool{n}d", names="functional", saves="0",
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


def _adaptive_ranges(size, out):
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def _adaptive_table(size, out):
    ranges = _adaptive_ranges(size, out)
    width = max((b - a for a, b in ranges), default=1)
    return np.array([[a + j if a + j < b else size for j in range(width)] for a, b in ranges]).reshape(out, width)


def _sizes(output_size, input, n):
    wanted = (output_size,) * n if output_size is None or isinstance(output_size, int) else tuple(output_size)
    return [input.shape[-n + i] if o is None else o for i, o in enumerate(wanted)]


for _n in (1, 2, 3):
    _register_convs(_n)
    _register_pools(_n)


def _register_unpool(n):
    def row(input, indices, /, kernel_size, stride=None, padding=0, output_size=None):
        kernel, padding = tuple_of(kernel_size, n), tuple_of(padding, n)
        stride = kernel if stride in (None, ()) else tuple_of(stride, n)
        out = tuple(output_size)[-n:] if output_size else tuple(
            (i - 1) * s - 2 * p + k for i, s, p, k in zip(input.shape[-n:], stride, padding, kernel))
        if indices.shape != input.shape:
            def shown(t):
                return list(t.shape) + [1] * (n == 1)
            raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({shown(input)}) but got indices tensor "
                               f"with shape: {shown(indices)}")
        lead = input.shape[:-n]
        flat, at = input.reshape((-1, math.prod(input.shape[-n:]))), indices.reshape((-1, math.prod(input.shape[-n:])))
        rows = jnp.arange(flat.shape[0])[:, None]
        y = jnp.zeros((flat.shape[0], math.prod(out)), input.dtype).at[rows, at].set(flat, unique_indices=True)
        return y.reshape(lead + out)
    op(row, name=f"max_unpool{n}d", names="functional", node=f"MaxUnpool{max(n, 2)}DBackward0")


for _n in (1, 2, 3):
    _register_unpool(_n)


# ---- patches

def _patches(sizes, kernel, dilation, padding, stride):
    n = len(sizes)
    kernel, dilation, padding, stride = (tuple_of(v, n) for v in (kernel, dilation, padding, stride))
    where, inside = _join(_strided(sizes, kernel, stride, padding, dilation, False), sizes)
    k = where.shape[-1]
    return where.reshape(-1, k).T, inside.reshape(-1, k).T


@op(names="functional", node="Im2ColBackward0")
def unfold(input, /, kernel_size, dilation=1, padding=0, stride=1):
    def run(x):
        where, inside = _patches(x.shape[2:], kernel_size, dilation, padding, stride)
        y = jnp.where(inside, x.reshape(x.shape[:2] + (math.prod(x.shape[2:]),))[..., where], jnp.zeros((), x.dtype))
        return y.reshape(x.shape[0], x.shape[1] * where.shape[0], where.shape[1])
    return _batched(run, input, 2)


@op(names="functional", node="Col2ImBackward0")
def fold(input, /, output_size, kernel_size, dilation=1, padding=0, stride=1):
    size = tuple_of(output_size, 2)
    where, inside = _patches(size, kernel_size, dilation, padding, stride)
    x = input if input.ndim == 3 else input[None]
    if x.shape[1] % where.shape[0] or x.shape[2] != where.shape[1]:
        raise RuntimeError(f"Given output_size={size}, kernel_size={tuple_of(kernel_size, 2)}, "
                           f"dilation={tuple_of(dilation, 2)}, padding={tuple_of(padding, 2)}, stride={tuple_of(stride, 2)}, "
                           f"expected size of input's dimension 2 to match the calculated number of sliding blocks "
                           f"{where.shape[1]}, but got input.size(2)={x.shape[2]}.")
    n, c = x.shape[0], x.shape[1] // where.shape[0]
    x = jnp.where(inside, x.reshape((n, c) + where.shape), jnp.zeros((), x.dtype))
    y = jnp.zeros((n, c, size[0] * size[1]), x.dtype).at[..., where].add(x).reshape((n, c) + size)
    return y if input.ndim == 3 else y[0]


# ---- padding

_NP_MODE = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@op(names="functional", node="ConstantPadNdBackward0", by="(mode, len(pad) // 2)",
    variants={(mode, n): f"{kind}Pad{n}DBackward0" for mode, kind in (("reflect", "Reflection"), ("replicate", "Replication"))
              for n in (1, 2, 3)})
def pad(input, /, pad, mode="constant", value=None):
    pairs = list(zip(pad[::2], pad[1::2]))
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pairs) > input.ndim:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding "
                           f"length {len(pad)} and input of dimension {input.ndim}")
    if mode == "constant":
        config = [(0, 0, 0)] * (input.ndim - len(pairs)) + [(lo, hi, 0) for lo, hi in reversed(pairs)]
        for i, (lo, hi, _) in enumerate(config):
            if input.shape[i] + lo + hi < 0:
                raise RuntimeError(f"The input size {input.shape[i]}, plus negative padding {lo} and {hi} resulted in a "
                                   f"negative output size, which is invalid. Check dimension {i} of your input.")
        return lax.pad(input, cast(value or 0, dtype_of(input)), config)
    if mode not in _NP_MODE:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if not len(pairs) + 1 <= input.ndim <= len(pairs) + 2:
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    y = input
    for k, (lo, hi) in enumerate(pairs):
        axis = input.ndim - 1 - k
        n = y.shape[axis]
        if mode == "reflect" and max(lo, hi) >= n:
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                               f"padding ({lo}, {hi}) at dimension {axis} of input {list(input.shape)}")
        if mode == "circular" and max(lo, hi) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        table = np.pad(np.arange(n), (max(lo, 0), max(hi, 0)), _NP_MODE[mode])
        table = table[max(-lo, 0):len(table) - max(-hi, 0)]
        y = jnp.take(y, table, axis=axis)
    return y


# ---- resampling

def _source_positions(size, out, scale, align_corners):
    i = np.arange(out)
    if align_corners:
        return i * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return (i + 0.5) * (1 / scale if scale else size / out) - 0.5


def _mix(x, axis, taps):
    """Weighted sum of takes along one axis: taps = [(positions, weights)]."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return sum(jnp.take(x, at, axis=axis) * jnp.asarray(w.reshape(shape), x.dtype) for at, w in taps)


def _linear_taps(size, out, scale, align):
    p = np.maximum(_source_positions(size, out, scale, align), 0)
    lo = np.minimum(p.astype(int), size - 1)
    w = p - lo
    return [(lo, 1 - w), (np.minimum(lo + 1, size - 1), w)]


def _cubic(t, a=-0.75):
    """The four weights of PyTorch's bicubic kernel at fraction t."""
    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic_taps(size, out, scale, align):
    p = _source_positions(size, out, scale, align)
    lo = np.floor(p).astype(int)
    return [(np.clip(lo + k - 1, 0, size - 1), w) for k, w in enumerate(_cubic(p - lo))]


_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


_UPSAMPLE = {("nearest", 3): "Nearest1D", ("nearest", 4): "Nearest2D", ("nearest", 5): "Nearest3D", ("linear", 3): "Linear1D",
             ("nearest-exact", 3): "NearestExact1D", ("nearest-exact", 4): "NearestExact2D", ("nearest-exact", 5): "NearestExact3D",
             ("bicubic", 4): "Bicubic2D", ("trilinear", 5): "Trilinear3D"}


@op(names="functional", node="UpsampleBilinear2DBackward0", by="(mode, input._aval.ndim)",
    variants={key: f"Upsample{kind}Backward0" for key, kind in _UPSAMPLE.items()}
    | {("area", n + 2): f"AdaptiveAvgPool{n}DBackward0" for n in (2, 3)})
def interpolate(input, /, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    n = input.ndim - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
                             "| trilinear")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if antialias:
        raise NotImplementedError("interpolate(antialias=True): resize without it, or average with avg_pool2d first")
    spatial = input.shape[2:]
    scales = (None,) * n if size is not None else tuple_of(scale_factor, n)
    out = tuple_of(size, n) if size is not None else tuple(int(math.floor(i * s)) for i, s in zip(spatial, scales))
    if recompute_scale_factor:
        scales = (None,) * n
    if mode in _LINEAR and _LINEAR[mode] != n:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_LINEAR[mode] + 2}D input")
    if mode not in _LINEAR and mode not in ("nearest", "nearest-exact", "area"):
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                                  f"{input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | "
                                  f"nearest-exact (got {mode})")
    y = input
    for k, (i, o, s) in enumerate(zip(spatial, out, scales)):
        axis = k + 2
        if mode in ("nearest", "nearest-exact"):
            half = 0.5 if mode == "nearest-exact" else 0.0
            ratio = np.float32(1 / s if s else i / o)
            table = np.minimum(((np.arange(o) + np.float32(half)).astype(np.float32) * ratio).astype(int), i - 1)
            y = jnp.take(y, table, axis=axis)
        elif mode == "area":
            weights = np.stack([((np.arange(i) >= a) & (np.arange(i) < b)) / (b - a) for a, b in _adaptive_ranges(i, o)])
            y = jnp.moveaxis(jnp.tensordot(y, jnp.asarray(weights, y.dtype), (axis, 1)), -1, axis)
        else:
            y = _mix(y, axis, (_cubic_taps if mode == "bicubic" else _linear_taps)(i, o, s, bool(align_corners)))
    return y


def _unnormalised(g, size, align):
    return (g + 1) / 2 * (size - 1) if align else ((g + 1) * size - 1) / 2


def _bounced(p, size, align):
    lo, hi = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    span = max(hi - lo, 1e-30)
    d = jnp.abs(p - lo) % (2 * span)
    return jnp.clip(jnp.where(d > span, 2 * span - d, d) + lo, 0, size - 1)


@op(names="torch functional", node="GridSampler2DBackward0")
def grid_sample(input, grid, /, mode="bilinear", padding_mode="zeros", align_corners=None):
    n = input.ndim - 2
    sizes = input.shape[2:]
    align = bool(align_corners)
    position = [_unnormalised(grid[..., n - 1 - k], sizes[k], align) for k in range(n)]

    def fit(p, size):
        if padding_mode == "border":
            return jnp.clip(p, 0, size - 1)
        return _bounced(p, size, align) if padding_mode == "reflection" else p

    def read(at):
        """Values at integer places, (N, C, outs...); zero outside."""
        inside, flat = True, 0
        for p, size in zip(at, sizes):
            inside = inside & (p >= 0) & (p < size)
            flat = flat * size + jnp.clip(p, 0, size - 1).astype(int)
        rows = input.reshape(input.shape[:2] + (-1,))
        v = jnp.take_along_axis(rows, flat.reshape(flat.shape[0], 1, -1), axis=2)
        return jnp.where(inside[:, None], v.reshape(v.shape[:2] + flat.shape[1:]), 0)
    if mode == "nearest":
        return read([jnp.round(fit(p, s)) for p, s in zip(position, sizes)])
    if mode == "bicubic":
        base = [jnp.floor(p) for p in position]
        weights = [_cubic(p - b) for p, b in zip(position, base)]
        taps = itertools.product(range(4), repeat=n)
        return sum(read([fit(b + (k - 1), s) for b, k, s in zip(base, tap, sizes)])
                   * math.prod([w[k] for w, k in zip(weights, tap)])[:, None] for tap in taps)
    position = [fit(p, s) for p, s in zip(position, sizes)]
    base = [jnp.floor(lax.stop_gradient(p)) for p in position]
    out = 0
    for corner in itertools.product((0, 1), repeat=n):
        w = math.prod([p - b if c else 1 - (p - b) for p, b, c in zip(position, base, corner)])
        out = out + read([b + c for b, c in zip(base, corner)]) * w[:, None]
    return out


@op(names="functional", node="AffineGridGeneratorBackward0")
def affine_grid(theta, /, size, align_corners=None):
    spatial = size[2:]
    axes = [jnp.linspace(-1, 1, s, dtype=theta.dtype) * (1 if align_corners else (s - 1) / s) for s in spatial]
    grid = jnp.stack(jnp.meshgrid(*axes, indexing="ij")[::-1] + [jnp.ones(spatial, theta.dtype)], axis=-1)
    return jnp.einsum("...i,nji->n...j", grid, theta, precision=lax.Precision.HIGHEST)


# ---- pixel arrangements

@op(names="torch functional")
def pixel_shuffle(input, /, upscale_factor):
    r = upscale_factor
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    b = len(lead)
    x = jnp.transpose(x, tuple(range(b + 1)) + (b + 3, b + 1, b + 4, b + 2))
    return x.reshape(*lead, c // (r * r), h * r, w * r)


@op(names="torch functional")
def pixel_unshuffle(input, /, downscale_factor):
    r = downscale_factor
    *lead, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)={h} is "
                           f"not divisible by {r}")
    b = len(lead)
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    x = jnp.transpose(x, tuple(range(b + 1)) + (b + 2, b + 4, b + 1, b + 3))
    return x.reshape(*lead, c * r * r, h // r, w // r)


@op(names="torch functional", aliases="functional.native_channel_shuffle torch.native_channel_shuffle")
def channel_shuffle(input, /, groups):
    n, c = input.shape[:2]
    return jnp.swapaxes(input.reshape((n, groups, c // groups) + input.shape[2:]), 1, 2).reshape(input.shape)
