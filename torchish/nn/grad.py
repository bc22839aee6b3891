"""Gradients of convolutions in their input and in their weight, as functions."""

import torchish as torch
from torchish.nn import functional as F


def _gradient(n, like, other, grad_output, call):
    """The gradient of a convolution, which is linear in `like`: at any point the same, so at zero."""
    with torch.enable_grad():
        at = torch.zeros(like, dtype=other.dtype, device=other.device, requires_grad=True)
        further = other.requires_grad or grad_output.requires_grad
        return torch.autograd.grad(call(getattr(F, f"conv{n}d"), at), at, grad_output, create_graph=further)[0]


def _gradients(n):
    def conv_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(n, input_size, weight, grad_output, lambda conv, x: conv(x, weight, None, stride, padding, dilation, groups))

    def conv_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(n, weight_size, input, grad_output, lambda conv, w: conv(input, w, None, stride, padding, dilation, groups))
    for fn, what in (conv_input, "input"), (conv_weight, "weight"):
        fn.__name__ = fn.__qualname__ = f"conv{n}d_{what}"
        fn.__doc__ = f"The gradient of `nn.functional.conv{n}d` in its {what}, whose size is given."
        yield fn


conv1d_input, conv1d_weight = _gradients(1)
conv2d_input, conv2d_weight = _gradients(2)
conv3d_input, conv3d_weight = _gradients(3)
