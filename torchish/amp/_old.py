"""The names that torch.cpu.amp and torch.cuda.amp had before torch.amp: its own for one kind of device, with a warning."""

import warnings

from torchish.amp.autocast_mode import autocast
from torchish.amp.grad_scaler import GradScaler
from torchish.amp.settings import settings


def warn(kind, name, instead):
    """FutureWarning at the caller of the function that calls this."""
    warnings.warn(f"`torch.{kind}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}({instead})` instead.", FutureWarning,
                  stacklevel=3)


def autocast_of(kind):
    """The class autocast of a kind of device."""

    class old(autocast):
        __doc__ = autocast.__doc__

        def __init__(self, enabled=True, dtype=settings.fast[kind], cache_enabled=True):
            warn(kind, "autocast", f"'{kind}', args...")
            super().__init__(kind, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    return _named(old, "autocast", f"torchish.{kind}.amp.autocast_mode")


def scaler_of(kind):
    """The class GradScaler of a kind of device."""

    class old(GradScaler):
        __doc__ = GradScaler.__doc__

        def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
            warn(kind, "GradScaler", f"'{kind}', args...")
            super().__init__(kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return _named(old, "GradScaler", f"torchish.{kind}.amp.grad_scaler")


def _named(cls, name, module):
    cls.__name__ = cls.__qualname__ = name
    cls.__module__ = module
    return cls
