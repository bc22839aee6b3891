"""torch.autograd.grad_mode: the grad modes under PyTorch's module name."""

import contextlib

from torchish.autograd.graph import counter_of
from torchish.autograd.modes import (  # noqa: F401 - a private name of PyTorch's module
    _force_original_view_tracking,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from torchish.tensor import Tensor

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled"]


@contextlib.contextmanager
def _unsafe_preserve_version_counter(tensors):
    """What is written inside leaves the version of a tensor, or of each of a tuple, as it was."""
    counters = [counter_of(t) for t in ((tensors,) if isinstance(tensors, Tensor) else tensors)]
    before = [c.version for c in counters]
    try:
        yield
    finally:
        for counter, version in zip(counters, before):
            counter.version = version
