"""torch.cpu.amp: the old names of torch.amp, for "cpu"."""

from torchish.amp._old import classes

__all__ = ["GradScaler", "autocast"]
autocast, GradScaler = classes("cpu")
