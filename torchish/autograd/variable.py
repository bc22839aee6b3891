"""torch.autograd.Variable, which has been Tensor since PyTorch 0.4."""

from torchish.autograd.engine import queue_callback
from torchish.tensor import Tensor

__all__ = ["Variable"]


class VariableMeta(type):
    """Makes every tensor a Variable, and a Variable of a tensor the tensor itself."""

    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)

    def __call__(cls, data, requires_grad=False, volatile=None):
        return data.detach().requires_grad_() if requires_grad else data


class _Engine:
    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=VariableMeta):
    """The tensor itself."""

    _execution_engine = _Engine()
