"""Resampling: interpolation, grids."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops.conv import tuple_of
from torchish.ops.factor import floating
from torchish.ops.pooling import averages, check_adaptive
from torchish.ops.promote import dtype_of, kernel
from torchish.ops.table import op


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


def _smooth(kind, size, out, scale, align):
    """The (out, size) weights of a filter that is as wide as the input steps between outputs, so that shrinking averages."""
    shape, width = _FILTERS[kind]
    step = ((size - 1) / (out - 1) if out > 1 else 0.0) if align else 1 / scale if scale else size / out
    spread = max(step, 1.0)
    centre = step * (np.arange(out)[:, None] + 0.5)
    first = np.maximum((centre - width * spread + 0.5).astype(int), 0)
    last = np.minimum((centre + width * spread + 0.5).astype(int), size)
    at = np.arange(size)
    w = np.where((at >= first) & (at < last), shape((at - centre + 0.5) / spread), 0.0)
    total = w.sum(1, keepdims=True)
    return w / np.where(total == 0, 1, total)


def _cubic_filter(t, a=-0.5):
    t = np.abs(t)
    return np.where(t < 1, ((a + 2) * t - (a + 3)) * t * t + 1, np.where(t < 2, (((t - 5) * t + 8) * t - 4) * a, 0.0))


# the filter and half its width
_FILTERS = {"bilinear": (lambda t: np.maximum(1 - np.abs(t), 0), 1), "bicubic": (_cubic_filter, 2),
            "lanczos": (lambda t: np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0.0), 3)}


def _quantized(x, axis, weights):
    """uint8 as PyTorch resamples it: int16 weights with as many binary places as fit, each dimension rounded to uint8 again."""
    places = next(p for p in range(22, -1, -1) if int(0.5 + weights.max() * (1 << p)) < 1 << 15)
    fixed = np.trunc(weights * (1 << places) + np.copysign(0.5, weights)).astype(np.int32)
    y = jnp.tensordot(x.astype(jnp.int32), jnp.asarray(fixed), (axis, 1))
    y = jnp.clip((y + (1 << places >> 1)) >> places, 0, 255).astype(jnp.uint8)
    return jnp.moveaxis(y, -1, axis)


def _dense(taps, size, out):
    """The (out, size) weights of taps."""
    weights = np.zeros((out, size))
    for at, w in taps:
        np.add.at(weights, (np.arange(out), at), w)
    return weights


def _resampled(input, out, scales, mode, align, antialias):
    """The spatial dimensions one after another; `scales` go before the ratio of the sizes where given."""
    y = input
    if input.dtype == np.uint8 and not mode.startswith("nearest"):
        for axis, i, o, s in list(zip((2, 3), input.shape[2:], out, scales))[::-1]:     # rows first, as PyTorch
            taps = _cubic_taps if mode == "bicubic" else _linear_taps
            y = _quantized(y, axis, _smooth(mode, i, o, s, align) if antialias else _dense(taps(i, o, s, align), i, o))
        return y
    for k, (i, o, s) in enumerate(zip(input.shape[2:], out, scales)):
        axis = k + 2
        if mode in ("nearest", "nearest-exact"):
            half = 0.5 if mode == "nearest-exact" else 0.0
            ratio = np.float32(1 / s if s else i / o)
            table = np.minimum(((np.arange(o) + np.float32(half)).astype(np.float32) * ratio).astype(int), i - 1)
            y = jnp.take(y, table, axis=axis)
        elif mode == "area" or antialias:
            weights = _smooth(mode, i, o, s, align) if antialias else averages(i, o)
            y = jnp.moveaxis(jnp.tensordot(y, jnp.asarray(weights, y.dtype), (axis, 1),
                                           precision=lax.Precision.HIGHEST), -1, axis)
        else:
            y = _mix(y, axis, (_cubic_taps if mode == "bicubic" else _linear_taps)(i, o, s, align))
    return y


# spatial dimensions that a mode takes
_MODES = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,),
          "bicubic": (2,), "lanczos": (2,)}
_SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")
# PyTorch's routines, by mode and spatial dimensions, which lack a kernel for most integers
_KERNELS = {("nearest", 2): "upsample_nearest2d_channels_last", ("nearest-exact", 2): "upsample_nearest2d_channels_last",
            ("bilinear", 2): "upsample_bilinear2d_channels_last", ("nearest", 1): "compute_indices_weights_nearest",
            ("nearest-exact", 1): "compute_indices_weights_nearest", ("nearest", 3): "compute_indices_weights_nearest",
            ("nearest-exact", 3): "compute_indices_weights_nearest", ("linear", 1): "compute_indices_weights_linear",
            ("trilinear", 3): "compute_indices_weights_linear", ("bicubic", 2): "compute_indices_weights_cubic",
            ("area", 1): "adaptive_avg_pool2d", ("area", 2): "adaptive_avg_pool2d", ("area", 3): "adaptive_avg_pool3d_cpu"}


def _output_size(input, size, scale_factor, mode, recompute):
    """(sizes of the result, scale of each dimension or None), from the one that is given."""
    n = input.ndim - 2
    spatial = input.shape[2:]
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None and recompute:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    given = scale_factor if size is None else size
    if isinstance(given, (list, tuple)) and len(given) != n:
        whose, what, form = ("Input and output", "output size of", "output size in (o1, o2, ...,oK)") if size is not None else (
            "Input and scale_factor", "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)")
        raise ValueError(f"{whose} must have the same number of spatial dimensions, but got input with spatial dimensions of "
                         f"{list(spatial)} and {what} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {form} format.")
    if size is not None:
        out = tuple_of(size, n)
        if not all(isinstance(o, int) for o in out):
            raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
                            f"types {[type(o) for o in out]}")
        return out, (None,) * n
    scales = tuple_of(scale_factor, n)
    if not all(abs(i * s) < 2**63 for i, s in zip(spatial, scales)):    # nan as well
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return tuple(int(math.floor(i * s)) for i, s in zip(spatial, scales)), (None,) * n if recompute else scales


def _check_resampled(input, out, mode, antialias):
    """Sizes and dtypes that PyTorch's routines refuse."""
    n = input.ndim - 2
    spatial = input.shape[2:]
    if n not in _MODES.get(mode, ()):
        wanted = _MODES.get(mode)
        if wanted and n in (1, 2, 3) and mode in ("linear", "bilinear", "trilinear"):
            raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {wanted[0] + 2}D input")
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                                  f"{input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
                                  f"nearest-exact (got {mode})")
    if mode == "area":
        check_adaptive(f"adaptive_avg_pool{n}d", input, out, n)
    elif min(*spatial, *out) <= 0:
        def shown(sizes):
            return "(" + ", ".join(f"{side}: {v}" for side, v in zip("DHW"[-n:], sizes)) + ")"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {shown(spatial)} {'and ' * (n == 1)}output "
                           f"{shown(out)}")
    elif input.shape[1] == 0:
        raise RuntimeError(f"Non-empty {n + 2}D data tensor expected but got a tensor with sizes {list(input.shape)}")
    if antialias:
        if input.dtype != np.uint8:
            kernel("compute_index_ranges_weights", input, "f")
            floating("", input, "compute_index_ranges_weights")
    elif input.dtype != np.uint8 or (n != 2 or mode == "area") and not mode.startswith("nearest"):
        kernel(_KERNELS[mode, n], input, "f")


_UPSAMPLE = {("nearest", 3): "Nearest1D", ("nearest", 4): "Nearest2D", ("nearest", 5): "Nearest3D", ("linear", 3): "Linear1D",
             ("nearest-exact", 3): "NearestExact1D", ("nearest-exact", 4): "NearestExact2D", ("nearest-exact", 5): "NearestExact3D",
             ("bicubic", 4): "Bicubic2D", ("trilinear", 5): "Trilinear3D"}


@op(names="functional", node="UpsampleBilinear2DBackward0", by="(mode, input._aval.ndim, antialias)",
    variants={(*key, False): f"Upsample{kind}Backward0" for key, kind in _UPSAMPLE.items()}
    | {("area", n + 2, False): (f"AdaptiveAvgPool{n}DBackward0", "0") for n in (2, 3)}
    | {(kind, 4, True): f"Upsample{kind.capitalize()}2DAaBackward0" for kind in _FILTERS})
def interpolate(input, /, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    if mode not in _SMOOTH and align_corners is not None and mode in _MODES:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
                         "| trilinear")
    out, scales = _output_size(input, size, scale_factor, mode, recompute_scale_factor)
    if antialias and (mode not in _FILTERS or input.ndim != 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    _check_resampled(input, out, mode, antialias)
    return _resampled(input, out, scales, mode, bool(align_corners), antialias)


@op(name="upsample_aa", names="", node="UpsampleBilinear2DAaBackward0")
def upsample_aa(input, /, size, scales, align_corners):
    return _resampled(input, size, scales, "bilinear", align_corners, True)


def _unnormalised(g, size, align):
    return (g + 1) / 2 * (size - 1) if align else ((g + 1) * size - 1) / 2


def _bounced(p, size, align):
    lo, hi = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    span = max(hi - lo, 1e-30)
    d = jnp.abs(p - lo) % (2 * span)
    return jnp.clip(jnp.where(d > span, 2 * span - d, d) + lo, 0, size - 1)


def _check_grid(input, grid, mode, padding_mode):
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
                         f"'{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                         f"'{padding_mode}'")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
                           f"{list(grid.shape)}")
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        wanted = input.ndim if input.ndim == 4 else 5
        raise RuntimeError(f"grid_sampler(): expected {wanted}D input and grid with same number of dimensions, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    for d in range(2, input.ndim):
        if not input.shape[d]:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                               f"{list(input.shape)} with dimension {d} being empty")
    kernel("grid_sampler_2d_cpu_kernel_impl" if input.ndim == 4 else "grid_sampler3d_cpu", input, "f")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"expected scalar type {dtype_of(input).legacy} but found {dtype_of(grid).legacy}")


@op(names="functional", node="GridSampler2DBackward0", saves="01", by="input._aval.ndim", variants={5: "GridSampler3DBackward0"})
def grid_sample(input, grid, /, mode="bilinear", padding_mode="zeros", align_corners=None):
    _check_grid(input, grid, mode, padding_mode)
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
        rows = input.reshape(input.shape[:2] + (math.prod(sizes),))
        v = jnp.take_along_axis(rows, flat.reshape(flat.shape[0], 1, math.prod(flat.shape[1:])), axis=2)
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
    n = len(spatial)
    if theta.dtype.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got torch.{theta.dtype.name}")
    if n not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
                                  f"{list(size)}.")
    if theta.shape[1:] != (n, n + 1):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {list(size)}. Got "
                         f"torch.Size({list(theta.shape)}).")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {n + 1}] but got: "
                           f"[{theta.shape[0]}, {n + 1}].")
    axes = [jnp.linspace(-1, 1, s, dtype=theta.dtype) * (1 if align_corners else (s - 1) / s) for s in spatial]
    grid = jnp.stack(jnp.meshgrid(*axes, indexing="ij")[::-1] + [jnp.ones(spatial, theta.dtype)], axis=-1)
    return jnp.einsum("...i,nji->n...j", grid, theta, precision=lax.Precision.HIGHEST)
