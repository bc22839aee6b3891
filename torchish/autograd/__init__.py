"""torch.autograd, floor 4: graph, engine, grad modes, hooks, custom functions. Knows ops, not how values are computed."""

from torchish.autograd import slots as _slots
from torchish.autograd import anomaly_mode, forward_ad, function, functional, grad_mode, graph, hooks, variable
from torchish.autograd.anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from torchish.autograd.function import Function, NestedIOFunction
from torchish.autograd.gradcheck import gradcheck, gradgradcheck
from torchish.autograd.gradients import backward, grad
from torchish.autograd.graph import Node, SavedTensor
from torchish.autograd.grad_mode import _force_original_view_tracking, _unsafe_preserve_version_counter
from torchish.autograd.modes import (enable_grad, enforce_grad_layout_policy, inference_mode, is_grad_enabled, is_inference_mode_enabled,
                                     is_multithreading_enabled, is_view_replay_enabled, no_grad, set_grad_enabled, set_multithreading_enabled)
from torchish.autograd import saved_hooks as _saved_hooks
from torchish.autograd.variable import Variable
from torchish.tensor import Tensor

for _name in _saved_hooks.__all__:
    setattr(graph, _name, getattr(_saved_hooks, _name))


__all__ = ["Function", "Node", "Tensor", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "hooks", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
           "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]
