"""The few names that Python code reaches for in torch._C."""

import contextlib
from types import SimpleNamespace

from torchish.autograd import SavedTensor, is_grad_enabled  # noqa: F401 - names of torch._C
from torchish.autograd.modes import state
from torchish.autograd.saved_hooks import hooks_enabled

_DisableFuncTorch = _DisableTorchDispatch = DisableTorchFunction = DisableTorchFunctionSubclass = contextlib.nullcontext


class _LinAlgError(RuntimeError):
    """A matrix for which the computation has no result; torch.linalg.LinAlgError."""


_autograd = SimpleNamespace(SavedTensor=SavedTensor, _saved_tensors_hooks_is_enabled=hooks_enabled)


def _current_graph_task_id():
    """The number of the backward pass that runs in this thread, or -1."""
    return -1 if state.task is None else state.task.number
