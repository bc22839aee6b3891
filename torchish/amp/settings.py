"""What autocast is set to in a thread, and torch's functions that ask for it and change it."""

import threading
import warnings

from torchish.amp.casts import Layer
from torchish.autograd.modes import state
from torchish.ops import dtypes
from torchish.tensor import devices

AVAILABLE = ("cpu", "cuda", "xpu", "hpu", "mtia", "maia", "xla", "mps", "ipu")


class _Settings(threading.local):
    """The kinds of device for which autocast is on, and the fast dtype of every kind."""

    def __init__(self):
        self.on = frozenset()
        self.fast = {kind: dtypes.bfloat16 if kind in ("cpu", "xla") else dtypes.float16 for kind in AVAILABLE}
        self.cache, self.nesting = True, 0

    def kept(self):
        """What `restore` takes."""
        return self.on, self.fast, self.cache

    def restore(self, kept):
        """Set again what was set then."""
        self.on, self.fast, self.cache = kept
        self.act()

    def act(self):
        """Let operations meet what was set."""
        state.door = Layer({kind: self.fast[kind] for kind in self.on}) if self.on else state.level or state.below


settings = _Settings()


def is_autocast_available(device_type):
    """Whether PyTorch knows autocast on this kind of device."""
    return devices.device(device_type).type in AVAILABLE


def _kind(device_type, unknown="unknown device type for autocast in get_autocast_dispatch_key_from_device_type"):
    if not is_autocast_available(device_type):
        raise RuntimeError(unknown)
    return device_type


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for this kind of device."""
    return _kind(device_type) in settings.on


def set_autocast_enabled(device_type, enabled=None):
    """Turn autocast on or off for a kind of device; `set_autocast_enabled(True)` means "cuda"."""
    kind, enabled = ("cuda", device_type) if enabled is None else (_kind(device_type), enabled)
    settings.on = settings.on | {kind} if enabled else settings.on - {kind}
    settings.act()


def get_autocast_dtype(device_type):
    """The dtype that autocast takes on this kind of device."""
    return settings.fast[_kind(device_type, "unsupported scalarType")]


def set_autocast_dtype(device_type, dtype):
    """The dtype that autocast takes where none is given."""
    settings.fast = {**settings.fast, _kind(device_type): dtype}
    settings.act()


def is_autocast_cache_enabled():
    """What set_autocast_cache_enabled set; casts are recorded operations, of which a program makes equal ones once anyway."""
    return settings.cache


def set_autocast_cache_enabled(enabled):
    """Accepted."""
    settings.cache = bool(enabled)


def clear_autocast_cache():
    """Accepted; there is none."""


def autocast_increment_nesting():
    """How deep, from here on, autocast contexts are nested."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting():
    """One context less."""
    settings.nesting -= 1
    return settings.nesting


def _old(name, new, kind):
    """A function named after its kind of device, which says what to call instead."""
    arguments = (name.rsplit("_", 1)[1],) if name.startswith("set") else ()
    text = (f"torch.{name}({', '.join(arguments)}) is deprecated. Please use "
            f"torch.{new.__name__}({', '.join((repr(kind), *arguments))}) instead.")

    def old(*args):
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return new(kind, *args)
    old.__name__ = old.__qualname__ = name
    return old


TORCH = {f.__name__: f for f in (
    is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype, is_autocast_cache_enabled,
    set_autocast_cache_enabled, clear_autocast_cache, autocast_increment_nesting, autocast_decrement_nesting,
    *(_old(new.__name__.replace("autocast_", f"autocast_{label}_"), new, kind)
      for label, kind in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla"))
      for new in (is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype)
      if not (label == "gpu" and new.__name__.endswith("enabled"))))}
