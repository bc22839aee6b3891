"""torch.autograd._functions: two Functions of early PyTorch."""

import math
import warnings

from torchish.autograd.function import Function


class Resize(Function):
    """The tensor in another shape of as many elements; RuntimeError for another number."""

    @staticmethod
    def forward(ctx, tensor, sizes):
        wanted, had = math.prod(sizes), tensor.numel()
        if wanted != had:
            raise RuntimeError(f"requested resize to {'x'.join(map(str, sizes))} ({wanted} elements in total), but the given tensor has a "
                               f"size of {'x'.join(map(str, tensor.shape))} ({had} elements). autograd's resize can only change the shape "
                               "of a given tensor, while preserving the number of elements. ")
        ctx.sizes = tensor.shape
        return tensor.reshape(sizes)

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.sizes), None


class Type(Function):
    """The tensor in another dtype; deprecated, as in PyTorch."""

    @staticmethod
    def forward(ctx, tensor, dest_type):
        warnings.warn("`torch.autograd._functions.Type` is deprecated as of PyTorch 2.1, please use `torch.tensor.to(dtype=dtype)` instead.",
                      FutureWarning, stacklevel=2)
        ctx.dtype = tensor.dtype
        return tensor.type(dest_type)

    @staticmethod
    def backward(ctx, grad):
        return grad.to(ctx.dtype), None
