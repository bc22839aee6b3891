"""torch.autograd, floor 4: graph, engine, grad modes, hooks, custom functions. Knows ops, not how values are computed."""

from torchish.autograd import slots as _slots
from torchish.autograd import forward_ad, function, functional, graph, hooks
from torchish.autograd.anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from torchish.autograd.function import Function
from torchish.autograd.gradcheck import gradcheck, gradgradcheck
from torchish.autograd.gradients import backward, grad
from torchish.autograd.graph import Node
from torchish.autograd.modes import (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
                                     set_grad_enabled)
from torchish.autograd import saved_hooks as _saved_hooks
from torchish.tensor import Tensor

for _name in _saved_hooks.__all__:
    setattr(graph, _name, getattr(_saved_hooks, _name))


def Variable(data, requires_grad=False, volatile=None):
    """The tensor itself, as since PyTorch 0.4."""
    if requires_grad:
        data = data.detach().requires_grad_()
    return data


__all__ = ["Function", "Node", "Tensor", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "hooks", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
           "set_detect_anomaly", "set_grad_enabled"]
