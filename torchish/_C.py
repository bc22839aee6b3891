"""The few names that Python code reaches for in torch._C."""

import contextlib
import weakref
from types import SimpleNamespace

from torchish.autograd import SavedTensor, is_grad_enabled  # noqa: F401 - names of torch._C
from torchish.autograd.function import DelayedError, UndefinedGrad
from torchish.autograd.graph import AccumulateGrad, counter_of
from torchish.autograd.modes import dispatched, state
from torchish.autograd.pending import execution_order as _current_graph_task_execution_order  # noqa: F401
from torchish.autograd.pending import will_execute as _will_engine_execute_node  # noqa: F401
from torchish.autograd.saved_hooks import hooks_enabled

has_lapack = True       # XLA's linear algebra
_DisableTorchDispatch = dispatched
_DisableFuncTorch = DisableTorchFunction = DisableTorchFunctionSubclass = contextlib.nullcontext


class _LinAlgError(RuntimeError):
    """A matrix for which the computation has no result; torch.linalg.LinAlgError."""


def _set_fwd_grad_enabled(mode):
    """Whether operations push tangents on, in this thread."""
    state.forward = bool(mode)


_fallback = SimpleNamespace(warns=False)


def _debug_only_display_vmap_fallback_warnings(mode):
    """Kept for scripts: nothing here falls back on a loop, so there is nothing to warn of."""
    _fallback.warns = bool(mode)


def _debug_only_are_vmap_fallback_warnings_enabled():
    """What was set last."""
    return _fallback.warns


def _keeps_graph():
    """Whether the backward pass that runs in this thread retains the graph."""
    return state.task is None or state.task.keep


def _current_autograd_node():
    """The node whose backward runs in this thread, or None."""
    return None if state.task is None else state.task.node


class _WeakTensorRef:
    """A reference that does not keep its tensor alive."""

    def __init__(self, tensor):
        self._ref = weakref.ref(tensor)

    def expired(self):
        return self._ref() is None


_autograd = SimpleNamespace(SavedTensor=SavedTensor, _saved_tensors_hooks_is_enabled=hooks_enabled,
                            _get_current_graph_task_keep_graph=_keeps_graph)
_functions = SimpleNamespace(AccumulateGrad=AccumulateGrad, DelayedError=DelayedError, UndefinedGrad=lambda: UndefinedGrad.apply)


def _unsafe_set_version_counter(tensors, versions):
    """Each tensor's version counter is set."""
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for t, version in zip(tensors, versions):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        counter_of(t).version = version


_autograd._unsafe_set_version_counter = _unsafe_set_version_counter


def _current_graph_task_id():
    """The number of the backward pass that runs in this thread, or -1."""
    return -1 if state.task is None else state.task.number
