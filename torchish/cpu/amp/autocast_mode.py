"""torch.cpu.amp.autocast_mode."""

from torchish.amp._old import autocast_of

__all__ = ["autocast"]
autocast = autocast_of("cpu")
