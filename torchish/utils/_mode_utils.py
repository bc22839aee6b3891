"""What code around dispatch modes uses."""

from torchish.autograd.modes import dispatched as no_dispatch  # noqa: F401


def all_same_mode(modes):
    """Whether all entries equal the first."""
    return all(mode == modes[0] for mode in modes)
