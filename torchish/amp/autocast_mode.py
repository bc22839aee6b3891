"""autocast: accepted where PyTorch would disable it."""

import functools
import warnings

from torchish.tensor import devices


def is_autocast_available(device_type):
    return False


class autocast:
    """Context manager or decorator. Enabled autocast is not there: convert tensors and modules with `.to(torch.bfloat16)`."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype = device_type, dtype
        if enabled and device_type == "cuda" and not devices.count("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled:
            raise NotImplementedError(f"torchish has no autocast on '{device_type}'; use module.to(torch.bfloat16), or enabled=False")
        self._enabled = enabled

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def within(*args, **kwargs):
            with self:
                return func(*args, **kwargs)
        return within


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorator of a Function's forward; without autocast it changes nothing."""
    return fwd if fwd is not None else lambda f: f


def custom_bwd(bwd=None, *, device_type):
    """Decorator of a Function's backward; without autocast it changes nothing."""
    return bwd if bwd is not None else lambda f: f
