"""torch.cpu: the one device that is always there."""

from torchish.cpu import amp as amp


def is_available():
    return True


def is_initialized():
    return True


def device_count():
    return 1


def current_device():
    return "cpu"


def set_device(device):
    """Accepted: there is one CPU."""


def synchronize(device=None):
    """Accepted; reading a tensor waits for its program."""
