"""Convolutions, sliding blocks, padding."""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops.promote import cast, dtype_of, kernel
from torchish.ops.table import op

_DIMS = "DHW"


def tuple_of(v, n):
    """An int or a sequence as n numbers."""
    v = (v,) * n if isinstance(v, (int, float)) else tuple(v)
    return v * n if len(v) == 1 else v


def _layout(n):
    s = _DIMS[-n:]
    return lax.conv_dimension_numbers((1,) * (n + 2), (1,) * (n + 2), ("NC" + s, "OI" + s, "NC" + s))


def _check_window(name, n, input, weight, stride, padding, dilation, same=False):
    """`same`: padding="same", for which PyTorch has a routine with a check of its own."""
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}{n}d, but got input of size: "
                           f"{list(input.shape)}")
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.ndim != n + 2:
        if n == 1 or same:
            shape = [1, *input.shape] if same and input.ndim == n + 1 else list(input.shape)
            raise RuntimeError(f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{'' if same else ' '}"
                               f"{list(weight.shape)}, but got {len(shape)}-dimensional input of size {shape} instead")
        _sizes_of("stride", stride, weight.ndim - 2)
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        spread = _planar("dilation", dilation)
        named = ", ".join(f"dilation_{side}: {d}" for side, d in zip(("depth", "height", "width")[-len(spread):], spread))
        raise RuntimeError(f"dilation should be greater than zero, but got {named if name == 'conv_transpose' else list(spread)}")


def _sizes_of(name, v, n):
    """`tuple_of`, of as many numbers as the convolution has dimensions."""
    t = tuple_of(v, n)
    if len(t) != n:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, "
                           f"but got {name}={list(t)}")
    return t


def _check_conv(name, n, input, weight, bias, groups):
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    transposed = name == "conv_transpose"
    if weight.shape[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
                           f"{list(weight.shape)} instead")
    if weight.shape[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
                           f"[{list(weight.shape)}] instead")
    outs = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and bias.shape != (outs,):
        raise RuntimeError(f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight.shape)}, expected bias to be "
                           f"1-dimensional with {outs} elements, but got bias of size {list(bias.shape)} instead")
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if input.dtype != weight.dtype:
        raise RuntimeError(f"Input type ({_ctype(input)}) and bias type ({_ctype(weight)}) should be the same"
                           if bias is not None else
                           f"expected m1 and m2 to have the same dtype, but got: {_ctype(input)} != {_ctype(weight)}")
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({_ctype(input)}) and bias type ({_ctype(bias)}) should be the same")
    if input.shape[-n - 1] != channels:
        x = input if input.ndim == n + 2 else input[None]
        tail = f"expected input{list(x.shape)} to have {channels} channels, but got {x.shape[1]} channels instead"
        head = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(f"Given {head}, weight of size {list(weight.shape)}, {tail}")
    if transposed and 0 in input.shape[-n:]:
        shape = [*input.shape[:-1], 1, *input.shape[-1:]] if n == 1 else list(input.shape)
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}")
    kernel(f"slow_conv_transpose{max(n, 2)}d_out_cpu" if transposed else "compute_columns3d" if n == 3 else "slow_conv2d_cpu", input, "ifc")


def _ctype(x):
    return {"float32": "float", "float64": "double", "int64": "long int", "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>"}.get(x.dtype.name, x.dtype.name)


def _planar(name, t):
    """The numbers of one dimension as the kernel in two dimensions shows them."""
    return t if len(t) > 1 else (int(name != "output_padding"), *t)


def _batched(fn, input, n):
    return fn(input) if input.ndim == n + 2 else fn(input[None])[0]


def _conv(n, input, weight, bias, stride, padding, dilation, groups):
    stride, dilation = _sizes_of("stride", stride, n), _sizes_of("dilation", dilation, n)
    if isinstance(padding, str) and padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    pads = () if isinstance(padding, str) else _sizes_of("padding", padding, n)
    _check_window("conv", n, input, weight, stride, pads, dilation, padding == "same")
    _check_conv("conv", n, input, weight, bias, groups)
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
        if not x.shape[1]:      # PyTorch's result has no channels then, whatever the weight and bias say
            return jnp.zeros((x.shape[0], 0, *((s - t - 1) // step + 1 for s, t, step in zip(sizes, span, stride))), x.dtype)
        y = lax.conv_general_dilated(x, weight, stride, pads, rhs_dilation=dilation, dimension_numbers=_layout(n),
                                     feature_group_count=groups, precision=lax.Precision.HIGHEST)
        return y if bias is None else y + bias.reshape((-1,) + (1,) * n)
    return _batched(run, input, n)


def _conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    stride, dilation, padding, extra = (_sizes_of(name, v, n) for name, v in (
        ("stride", stride), ("dilation", dilation), ("padding", padding), ("output_padding", output_padding)))
    _check_window("conv_transpose", n, input, weight, stride, padding, dilation)
    _check_conv("conv_transpose", n, input, weight, bias, groups)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        shown = " ".join(f"{name}_{side}: {v}" for name, t in (("output_padding", extra), ("stride", stride), ("dilation", dilation))
                         for side, v in zip(("depth", "height", "width")[-max(n, 2):], _planar(name, t)))
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {shown}")
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
    op(conv, name=f"conv{n}d", names="torch functional", node="ConvolutionBackward0", saves="01", by=f"input._aval.ndim == {n + 1}",
       variants={True: "SqueezeBackward1"})
    op(transpose, name=f"conv_transpose{n}d", names="torch functional", node="ConvolutionBackward0", saves="01",
       by=f"input._aval.ndim == {n + 1}", variants={True: "SqueezeBackward1"})


# ---- windows: a static table of the positions each output element sees

def out_size(size, k, s, p, d, ceil_mode):
    span = size + 2 * p - d * (k - 1) - 1
    n = (-(-span // s) if ceil_mode else span // s) + 1
    return n - 1 if ceil_mode and (n - 1) * s >= size + p else n  # the last window must begin inside


def join(per_dim, sizes):
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
    outs += (math.prod(t.shape[1] for t in per_dim),)
    return flat.reshape(outs), np.broadcast_to(inside, flat.shape).reshape(outs)


def strided(sizes, kernel, stride, padding, dilation, ceil_mode):
    outs = [out_size(*a, ceil_mode) for a in zip(sizes, kernel, stride, padding, dilation)]
    return [np.arange(o)[:, None] * s - p + np.arange(k) * d
            for o, k, s, p, d in zip(outs, kernel, stride, padding, dilation)]


for _n in (1, 2, 3):
    _register_convs(_n)


def _patches(sizes, kernel, dilation, padding, stride):
    n = len(sizes)
    kernel, dilation, padding, stride = (tuple_of(v, n) for v in (kernel, dilation, padding, stride))
    where, inside = join(strided(sizes, kernel, stride, padding, dilation, False), sizes)
    k = where.shape[-1]
    return where.reshape(-1, k).T, inside.reshape(-1, k).T


def _blocks(input, sizes, kernel, dilation, padding, stride):
    """How many sliding blocks lie along each dimension of an image; `input` and the windows checked as PyTorch does."""
    for name, short, (h, w), least in (("kernel size", "kernel", kernel, 1), ("stride", "stride", stride, 1),
                                       ("dilation", "dilation", dilation, 1), ("padding", "pad", padding, 0)):
        if min(h, w) < least:
            wanted = "greater than zero" if least else "non-negative"
            raise RuntimeError(f"{name} should be {wanted}, but got {short}_height: {h} {short}_width: {w}")
    batched, plain = (3, 2) if sizes is not None else (4, 3)    # columns, or an image
    if input.ndim not in (batched, plain) or 0 in input.shape[-plain:]:
        raise RuntimeError(f"Expected {plain}D or {batched}D (batch mode) tensor {'for input ' * (plain == 2)}with possibly 0 batch size and "
                           f"{'other ' * (plain == 3)}non-zero dimensions for input, but got: {list(input.shape)}")
    return tuple((s + 2 * p - d * (k - 1) - 1) // t + 1
                 for s, k, d, p, t in zip(sizes or input.shape[-2:], kernel, dilation, padding, stride))


@op(names="functional", node="Im2ColBackward0")
def unfold(input, /, kernel_size, dilation=1, padding=0, stride=1):
    kernel, spread, pads, step = (tuple_of(v, 2) for v in (kernel_size, dilation, padding, stride))
    blocks = _blocks(input, None, kernel, spread, pads, step)
    if min(blocks) < 1:
        raise RuntimeError(f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={kernel}, dilation={spread}, "
                           f"padding={pads}, calculated shape of the array of sliding blocks as {blocks}, but its components must be at "
                           "least one.")

    def run(x):
        where, inside = _patches(x.shape[2:], kernel_size, dilation, padding, stride)
        y = jnp.where(inside, x.reshape(x.shape[:2] + (math.prod(x.shape[2:]),))[..., where], jnp.zeros((), x.dtype))
        return y.reshape(x.shape[0], x.shape[1] * where.shape[0], where.shape[1])
    return _batched(run, input, 2)


@op(names="functional", node="Col2ImBackward0")
def fold(input, /, output_size, kernel_size, dilation=1, padding=0, stride=1):
    size, kernel, spread, pads, step = (tuple_of(v, 2) for v in (output_size, kernel_size, dilation, padding, stride))
    blocks = _blocks(input, size, kernel, spread, pads, step)
    x = input if input.ndim == 3 else input[None]
    if x.shape[1] % math.prod(kernel):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={x.shape[1]} and kernel_size={kernel}.")
    given = f"Given output_size={size}, kernel_size={kernel}, dilation={spread}, padding={pads}, stride={step}, "
    if x.shape[2] != math.prod(blocks):
        raise RuntimeError(f"{given}expected size of input's dimension 2 to match the calculated number of sliding blocks {blocks[0]} * "
                           f"{blocks[1]} = {math.prod(blocks)}, but got input.size(2)={x.shape[2]}.")
    if min(blocks) < 1:
        raise RuntimeError(f"{given}calculated shape of the array of sliding blocks as {blocks}, which is too small (non-positive)")
    where, inside = _patches(size, kernel, spread, pads, step)
    n, c = x.shape[0], x.shape[1] // where.shape[0]
    x = jnp.where(inside, x.reshape((n, c) + where.shape), jnp.zeros((), x.dtype))
    y = jnp.zeros((n, c, size[0] * size[1]), x.dtype).at[..., where].add(x).reshape((n, c) + size)
    return y if input.ndim == 3 else y[0]


# ---- padding

_NP_MODE = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _padded(n, lo, hi, mode):
    """The places that a padded dimension of size n shows; negative padding crops."""
    def crop(table):
        return table[max(-lo, 0):len(table) - max(-hi, 0)]

    def extend(table):
        return np.pad(table, (max(lo, 0), max(hi, 0)), _NP_MODE[mode])
    # what wraps around is what cropping left; reflections see the whole
    return extend(crop(np.arange(n))) if mode == "circular" else crop(extend(np.arange(n)))


@op(names="functional", node="ConstantPadNdBackward0", by="(mode, len(pad) // 2)",
    variants={(mode, n): (f"{kind}Pad{n}DBackward0", "0") for mode, kind in (("reflect", "Reflection"), ("replicate", "Replication"))
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
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_pad(mode, input, pairs)
    y = input
    for k, (lo, hi) in enumerate(pairs):
        axis = input.ndim - 1 - k
        y = jnp.take(y, _padded(y.shape[axis], lo, hi, mode), axis=axis)
    return y


def _check_pad(mode, input, pairs):
    """What PyTorch refuses of padding that repeats the input's own elements."""
    n, shape = len(pairs), list(input.shape)
    if n not in (1, 2, 3) or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(f"Padding size {2 * n} is not supported for {input.ndim}D input tensor.\n"
                                  "Supported combinations for non-constant padding:\n"
                                  "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                                  "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                                  "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    padded = shape[:-n] + [shape[-k] + sum(pairs[k - 1]) for k in range(n, 0, -1)]
    if mode == "circular":
        for k, (lo, hi) in enumerate(pairs, 1):
            if max(lo, hi) > shape[-k]:
                raise RuntimeError("Padding value causes wrapping around more than once.")
        if min(padded) < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        return
    if 0 in shape[-n - 1:]:
        raise RuntimeError(f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {shape}")
    for k, (lo, hi) in enumerate(pairs, 1):
        if mode == "reflect" and max(lo, hi) >= shape[-k]:
            raise RuntimeError(f"Argument #{2 + 2 * k}: Padding size should be less than the corresponding input dimension, but got: padding "
                               f"({lo}, {hi}) at dimension {input.ndim - k} of input {shape}")
    if n == 1 and padded[-1] < 1:
        raise RuntimeError(f"input (W: {shape[-1]}) is too small. Calculated output W: {padded[-1]}")
    if min(padded) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(padded)}: {padded}")
    kernel(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{n}d", input, "ifc")


# ---- pixel arrangements

def _check_pixels(name, factor, input, r):
    if input.ndim < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"{name} expects a positive {factor}, but got {r}")


@op(names="torch functional")
def pixel_shuffle(input, /, upscale_factor):
    r = upscale_factor
    _check_pixels("pixel_shuffle", "upscale_factor", input, r)
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
    _check_pixels("pixel_unshuffle", "downscale_factor", input, r)
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
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    n, c = input.shape[:2]
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return jnp.swapaxes(input.reshape((n, groups, c // groups) + input.shape[2:]), 1, 2).reshape(input.shape)
