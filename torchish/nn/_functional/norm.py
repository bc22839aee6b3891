"""Normalisation."""

import warnings

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.autograd.dispatch import apply
from torchish.autograd.modes import state
from torchish.autograd.slots import unversioned
from torchish.ops import TABLE
from torchish.ops.promote import CTYPES, dtype_of


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalise over the last dimensions."""
    return _rows["layer_norm"](input, normalized_shape=tuple(normalized_shape), weight=weight, bias=bias, eps=eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divide by the root mean square over the last dimensions."""
    if weight is not None and weight.dtype is not input.dtype:
        theirs, own = (CTYPES[dtype_of(t._aval).legacy] for t in (weight, input))
        warnings.warn(f"Mismatch dtype between input and weight: input dtype = {own}, weight dtype = {theirs}, Cannot dispatch to fused "
                      "implementation.", stacklevel=2)
    return _rows["rms_norm"](input, normalized_shape=tuple(normalized_shape), weight=weight, eps=eps)


def _more_than_one(size):
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalise over groups of channels."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _more_than_one([input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:]))
    return _rows["group_norm"](input, num_groups=num_groups, weight=weight, bias=bias, eps=eps)


def _check_channels(input, **per_channel):
    given = {name: t for name, t in per_channel.items() if t is not None}
    channels = 0 if input.dim() < 2 and given else input.size(1)
    for name, t in given.items():
        if t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")


def follow(running, new, momentum):
    """running = (1 - momentum) * running + momentum * new, outside of the graph and unseen by the version counter, as the kernel does."""
    if running is not None:
        with torch.no_grad():
            unversioned(running).mul_(1 - momentum).add_(new.to(running.dtype), alpha=momentum)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Normalise every channel, by the batch's statistics when training (which the running ones follow)."""
    if training:
        _more_than_one(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return normalised(input, running_mean, running_var, weight, bias, training, momentum, eps)


def normalised(input, running_mean, running_var, weight, bias, training, momentum, eps):
    """`batch_norm` as its kernel does it, of any batch."""
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if input.numel() == 0 and input.dim() < 2:
        return input.clone()
    if not training:
        for name, t in ("running_mean", running_mean), ("running_var", running_var):
            if t is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        level = state.level
        if level is not None and level.tangent(input) is not None and any(
                level.tangent(t) is not None for t in (running_mean, running_var)):
            raise RuntimeError("batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined")
        return apply(TABLE["native_batch_norm_eval"], (input, weight, bias, running_mean, running_var), (eps,))
    out, mean, var = apply(TABLE["native_batch_norm_train"], (input, weight, bias, running_mean, running_var), (eps,))
    if input.numel():    # nothing has no statistics
        follow(running_mean, mean, momentum)
        follow(running_var, var, momentum)
    return out


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5):
    """Normalise every channel of every sample."""
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return apply(TABLE["native_batch_norm_eval"], (input, weight, bias, running_mean, running_var), (eps,))
    spatial = 1
    for n in input.size()[2:]:
        spatial *= n
    if spatial == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return instances_normalised(input, running_mean, running_var, weight, bias, momentum, eps)


def instances_normalised(input, running_mean, running_var, weight, bias, momentum, eps):
    """`instance_norm` by the samples' statistics, of any size."""
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if running_mean is not None or running_var is not None:
        with torch.no_grad():
            flat = input.detach().flatten(2)
            follow(running_mean, flat.mean(2).mean(0), momentum)
            follow(running_var, flat.var(2).mean(0), momentum)
    return apply(TABLE["native_instance_norm"], (input, weight, bias), (eps,))


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divide by (k + alpha * mean of squares over neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = (input * input).unsqueeze(1).flatten(3).unsqueeze(-1) if input.dim() > 3 else \
        (input * input).unsqueeze(1).unsqueeze(-1)
    padded = _rows["pad"](squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
    mean = _rows["avg_pool3d"](padded, (size, 1, 1), stride=1).reshape(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide by the p-norm along `dim`, which counts as at least eps."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norm if out is None else torch.div(input, norm, out=out)
