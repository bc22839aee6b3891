"""torch.signal."""

from torchish.signal import windows

__all__ = ["windows"]
