"""torch.ops.aten: PyTorch's operators under their own names, each with its overload `default`.

An operator is the public function or method of that name, or one of those below, which have no other name.
"""

import torchish as torch
from torchish.autograd.dispatch import apply
from torchish.nn import native
from torchish.ops import TABLE

# functions of nn.functional that take their operator's arguments
FUNCTIONAL = ("elu", "gelu", "glu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu6", "silu", "softplus")
PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """Batch norm in training: (result, mean, reciprocal standard deviation, memory that only GPUs use)."""
    made = native.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, torch.empty(0, dtype=torch.uint8)


def native_dropout_backward(grad_output, mask, scale):
    """The gradient of `native_dropout`."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of a maximum goes to where the maximum was."""
    return apply(TABLE["max_pool2d_with_indices_backward"], (grad_output, self, indices))


def _upsample_bilinear2d_aa(input, output_size, align_corners, scales_h=None, scales_w=None, *, scale_factors=None):
    """Bilinear resampling that averages where it shrinks."""
    if isinstance(scales_h, (list, tuple)):         # the overload `vec`
        scale_factors, scales_h = scales_h, None
    scales = (scales_h, scales_w) if scale_factors is None else tuple(scale_factors)
    if output_size is None:
        output_size = (int(n * s) for n, s in zip(input.shape[2:], scales))
    return apply(TABLE["upsample_aa"], (input,), (tuple(output_size), scales, bool(align_corners)))


OWN = {f.__name__: f for f in (_batch_norm_with_update, native_dropout_backward, max_pool2d_with_indices_backward,
                               _upsample_bilinear2d_aa)}


def _find(name):
    if name in OWN:
        return OWN[name]
    for prefix, space in PREFIXES.items():
        if name.startswith(prefix):
            return getattr(getattr(torch, space), name[len(prefix):], None)
    if name in FUNCTIONAL:
        return getattr(torch.nn.functional, name)
    found = getattr(torch, name, None)
    found = getattr(torch.Tensor, name, None) if found is None else found
    return found if callable(found) and not isinstance(found, type) and not name.startswith("__") else None


class Operator:
    """An operator of a namespace; called, it is its overload `default`."""

    def __init__(self, name, fn):
        self.__name__, self._fn = name, fn

    def __call__(self, *args, **kwargs):
        return self._fn(*args, **kwargs)

    @property
    def default(self):
        """The operator itself."""
        return self

    def overloads(self):
        """The names of its overloads."""
        return ["default"]

    def __getattr__(self, name):
        raise AttributeError(f"The underlying op of '{self.__name__}' has no overload name '{name}'")

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self.__name__}')>"


class Namespace:
    """The operators of one library."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        fn = _find(name) if self.name == "aten" else None
        if fn is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        operator = Operator(f"{self.name}.{name}", fn)
        setattr(self, name, operator)
        return operator


aten = Namespace("aten")
