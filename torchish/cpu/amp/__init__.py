"""torch.cpu.amp: the old names of torch.amp, for "cpu"."""

from torchish.cpu.amp.autocast_mode import autocast
from torchish.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
