"""Limiting gradients."""

import types
import warnings

import torchish as torch


def _tensors(x):
    """A list, also of one tensor."""
    if isinstance(x, torch.Tensor):
        return [x]
    generator = isinstance(x, types.GeneratorType)
    x = list(x)
    if generator and not x:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    return x


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors' elements together."""
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    if not tensors:
        return torch.tensor(0.0)
    device = tensors[0].device
    norms = [torch.linalg.vector_norm(t, float(norm_type)) for t in tensors]
    total = torch.linalg.vector_norm(torch.stack([n.to(device) for n in norms]), float(norm_type))
    if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot "
                           "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients by max_norm / total_norm where that is below 1."""
    grads = [p.grad for p in _tensors(parameters) if p.grad is not None]
    # clamped instead of tested: a test would have to read the norm
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(scale.to(g.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients in place so that their total norm is at most max_norm; returns the norm before."""
    parameters = _tensors(parameters)
    with torch.no_grad():
        total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type, error_if_nonfinite)
        if parameters:
            clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of `clip_grad_norm_`."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamp every element of the gradients to [-clip_value, clip_value], in place."""
    with torch.no_grad():
        for p in [parameters] if isinstance(parameters, torch.Tensor) else parameters:
            if p.grad is not None:
                p.grad.clamp_(min=-float(clip_value), max=float(clip_value))
