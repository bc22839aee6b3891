"""torch.cuda.amp.autocast_mode."""

from torchish import amp
from torchish.amp._old import autocast_of, warn

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
autocast = autocast_of("cuda")


def custom_fwd(fwd=None, *, cast_inputs=None):
    """torch.amp.custom_fwd for "cuda"."""
    warn("cuda", "custom_fwd", "args..., device_type='cuda'")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """torch.amp.custom_bwd for "cuda"."""
    warn("cuda", "custom_bwd", "args..., device_type='cuda'")
    return amp.custom_bwd(bwd, device_type="cuda")
