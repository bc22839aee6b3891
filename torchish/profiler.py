"""torch.profiler: names for regions of a program; times are JAX's to measure."""

import enum
from contextlib import ContextDecorator


class ProfilerActivity(enum.Enum):
    """What PyTorch's profiler can record."""

    CPU = 0
    CUDA = 1
    XPU = 2


def profile(*args, **kwargs):
    raise NotImplementedError("torchish has no profiler of operations: they run fused; use jax.profiler.trace(log_dir)")


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    raise NotImplementedError("torchish has no profiler schedule; use jax.profiler.trace(log_dir) around the steps of interest")


class record_function(ContextDecorator):
    """Name a region. Its operations run later, with the rest of their program, so nothing is measured here."""

    def __init__(self, name, args=None):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False
