"""Normalisation within a sample."""

import numbers

import torchish as torch
import torchish.nn.functional as F
from torchish.nn import init
from torchish.nn.modules._held import Held
from torchish.nn.modules.module import Module
from torchish.nn.parameter import Parameter


class LocalResponseNorm(Held):
    """Divide by the squares of neighbouring channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """The old name of LocalResponseNorm."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)


class _OverLast(Module):
    def _set_up(self, normalized_shape, eps, elementwise_affine, bias, device, dtype):
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine

        def empty(wanted):
            return Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype)) if wanted else None
        self.register_parameter("weight", empty(elementwise_affine))
        if bias is not None:
            self.register_parameter("bias", empty(elementwise_affine and bias))
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if getattr(self, "bias", None) is not None:
                init.zeros_(self.bias)


class LayerNorm(_OverLast):
    """Normalise over the last dimensions."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self._set_up(normalized_shape, eps, elementwise_affine, bias, device, dtype)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(_OverLast):
    """Divide by the root mean square over the last dimensions."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self._set_up(normalized_shape, eps, elementwise_affine, None, device, dtype)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalise over groups of channels."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine

        def empty(wanted):
            return Parameter(torch.empty(num_channels, device=device, dtype=dtype)) if wanted else None
        self.register_parameter("weight", empty(affine))
        self.register_parameter("bias", empty(affine and bias))
        self.reset_parameters()

    def reset_parameters(self):
        """Scale one, shift zero."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")
