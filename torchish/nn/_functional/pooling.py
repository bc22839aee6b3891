"""Pooling and resampling."""

import math
import warnings

import torchish as torch
from torchish.api import bounds
from torchish.api.bind import functional as _rows
from torchish.autograd.modes import in_float32


def _tuple(x, n):
    return (x,) * n if isinstance(x, int) else tuple(x)


_SPATIAL = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def _pools(n):
    """The pooling functions over the last `n` dimensions."""
    row, adaptive = _rows[f"max_pool{n}d"], _rows[f"adaptive_max_pool{n}d"]

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """The largest element of each window."""
        return row(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=return_indices)

    def max_pool_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """The largest element of each window and where it was."""
        return row(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)

    def adaptive_max_pool(input, output_size, return_indices=False):
        """Maxima over windows chosen for an output size."""
        return adaptive(input, output_size, return_indices=return_indices)

    def adaptive_max_pool_with_indices(input, output_size, return_indices=False):
        """Maxima over windows chosen for an output size, and where they were."""
        return adaptive(input, output_size, return_indices=True)

    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        """Put maxima back where they were, zeros elsewhere."""
        kernel, pad = _tuple(kernel_size, n), _tuple(padding, n)
        step = kernel if stride in (None, ()) else _tuple(stride, n)
        size = _unpooled(input, kernel, step, pad, output_size)
        if len(size) != n:
            raise RuntimeError(f"There should be exactly {_SPATIAL[max(n, 2)]} in output_size, but got {len(size)} elements.")
        for name, numbers in ("stride", step), ("padding", pad):
            if n == 3 and len(numbers) != n:
                raise RuntimeError(f"There should be exactly {_SPATIAL[n]} in {name}, but got: {len(numbers)} elements.")
        if n == 3 and min(step) <= 0:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {list(step)}")
        wrong = bounds.outside(indices, 0, math.prod(size[-n:]))
        if wrong is not None:
            volume = "x".join(map(str, [*size[-n:], *[1] * (n == 1)]))
            raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {volume})")
        return _rows[f"max_unpool{n}d"](input, indices, kernel, step, pad, output_size=size)

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        """The p-norm of each window."""
        return _lp_pool(n, input, norm_type, kernel_size, stride, ceil_mode)

    made = {}
    for fn, name in ((max_pool, f"max_pool{n}d"), (max_pool_with_indices, f"max_pool{n}d_with_indices"),
                     (adaptive_max_pool, f"adaptive_max_pool{n}d"),
                     (adaptive_max_pool_with_indices, f"adaptive_max_pool{n}d_with_indices"),
                     (max_unpool, f"max_unpool{n}d"), (lp_pool, f"lp_pool{n}d")):
        fn.__name__ = fn.__qualname__ = name
        made[name] = fn
    return made


def _unpooled(input, kernel, stride, padding, wanted):
    """The spatial size of the result, checked against the one that is asked for."""
    n = len(kernel)
    default = [(input.size(d - n) - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)]
    if wanted is None:
        return default
    if len(wanted) == n + 2:
        wanted = wanted[2:]
    if len(wanted) != n:
        raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
                         f"'{len(wanted)}'")
    for d in range(n):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {low} and {high})')
    return wanted


def _lp_pool(n, input, norm_type, kernel_size, stride, ceil_mode):
    if norm_type == float("inf"):
        return _rows[f"max_pool{n}d"](input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -_rows[f"max_pool{n}d"](-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    mean = _rows[f"avg_pool{n}d"](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for k in _tuple(kernel_size, n):
        count *= k
    return (torch.sign(mean) * torch.relu(mean.abs())).mul(count).pow(1.0 / norm_type)


for _n in (1, 2, 3):
    globals().update(_pools(_n))


def _check_fractional(n, input, kernel, out, samples):
    name, routine = f"fractional_max_pool{n}d", f"fractional_max_pool{n}d" + "_out" * (n == 3)
    for what, numbers in ("kernel_size", kernel), ("output_size", out):
        if len(numbers) != n:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {'three ' * (n == 3)}Ints")
    for d in range(input.dim() - n - 1, input.dim()):
        if not input.shape[d]:
            raise RuntimeError(f"{routine}(): Expected input to have non-zero size for non-batch dimensions, but got{list(input.shape)} with "
                               f"dimension {d} being empty.")
    for side, size, k, o in zip(("time", "height", "width")[-n:], input.shape[-n:], kernel, out):
        if o + k - 1 > size:
            raise RuntimeError(f"{routine}(): pool {side} {k} too large relative to input {side} {size}")
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    batch = input.size(0) if input.dim() == n + 2 else 1
    if samples.size(0) < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.size(1) != input.size(-n - 1):
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.size(2) != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.size(2)}.")


@in_float32
def _fractional(n, input, kernel_size, output_size, output_ratio, return_indices, samples):
    """Max pooling over windows whose starts are spread by a random offset per sample and channel."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratio = (output_ratio,) * n if isinstance(output_ratio, float) else tuple(output_ratio)
        if n == 2 and len(ratio) != n:
            raise ValueError("fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(s * r) for s, r in zip(input.shape[-n:], ratio)]
    out, kernel = _tuple(output_size, n), _tuple(kernel_size, n)
    if samples is None:
        batch = input.size(0) if input.dim() == n + 2 else 1
        samples = torch.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
    _check_fractional(n, input, kernel, out, samples)
    x = input if input.dim() == n + 2 else input.unsqueeze(0)
    sizes = x.shape[2:]
    if 0 in (x.size(0), *out):
        made = x.sum() * x.new_zeros((*input.shape[:-n], *out))     # empty, and still part of the graph
        return (made, made.long()) if return_indices else made
    flat = torch.zeros((), dtype=torch.int64)
    for d in range(n):
        # in two dimensions PyTorch takes the first column for the width
        u = samples[:x.size(0), :x.size(1), 1 - d if n == 2 else d].unsqueeze(-1)
        alpha = (sizes[d] - kernel[d]) / (out[d] - 1) if out[d] > 1 else 0.0
        i = torch.arange(out[d] - 1, dtype=x.dtype)
        starts = ((i + u) * alpha).to(torch.int64) - (u * alpha).to(torch.int64)
        last = torch.full(starts.shape[:-1] + (1,), sizes[d] - kernel[d], dtype=torch.int64)
        at = torch.cat([starts, last], -1).unsqueeze(-1) + torch.arange(kernel[d])
        shape = [x.size(0), x.size(1)] + [1] * (2 * n)
        shape[2 + d], shape[2 + n + d] = out[d], kernel[d]
        flat = flat * sizes[d] + at.reshape(shape)
    flat = flat.reshape(x.size(0), x.size(1), *out, -1)
    windows = x.flatten(2).gather(2, flat.flatten(2)).reshape(flat.shape)
    values, best = windows.max(-1)
    where = flat.gather(-1, best.unsqueeze(-1)).squeeze(-1)
    if input.dim() == n + 1:
        values, where = values.squeeze(0), where.squeeze(0)
    return (values, where) if return_indices else values


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Max pooling over pseudo-random windows."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                       _random_samples=None):
    """Max pooling over pseudo-random windows, and where the maxima were."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Max pooling over pseudo-random windows."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                       _random_samples=None):
    """Max pooling over pseudo-random windows, and where the maxima were."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, True, _random_samples)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return _rows["interpolate"](input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """The old name of `interpolate` with mode "nearest"."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return _rows["interpolate"](input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """The old name of `interpolate` with mode "bilinear" and aligned corners."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return _rows["interpolate"](input, size, scale_factor, "bilinear", True)


def _say_default(align_corners):
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
                      "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.", stacklevel=3)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """`input` read at the places of `grid`, whose coordinates go from -1 to 1."""
    _say_default(align_corners)
    return _rows["grid_sample"](input, grid, mode, padding_mode, align_corners)


def affine_grid(theta, size, align_corners=None):
    """The grid of places for `grid_sample` that the affine maps `theta` give."""
    _say_default(align_corners)
    if align_corners and 1 in size[2:]:
        warnings.warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
                      "intended use case of affine_grid. See the documentation of affine_grid for details.", stacklevel=2)
    return _rows["affine_grid"](theta, size, align_corners)


__all__ = [name for name in globals() if not name.startswith("_") and ("pool" in name or "upsample" in name or "grid" in name)]
