"""torch.cuda.amp: the old names of torch.amp, for "cuda"."""

from torchish.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from torchish.cuda.amp.common import amp_definitely_not_available
from torchish.cuda.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
