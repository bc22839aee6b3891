"""torch.cuda.amp.common."""

from torchish.tensor import devices

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """Whether there is no device for it."""
    return not devices.count("cuda")
