"""torch._VF: operations by their first names."""

import torchish
from torchish.api.distinct import unique_dim  # noqa: F401 - hidden in torch


def __getattr__(name):
    found = getattr(torchish, name, None)
    if found is None or not callable(found):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return found
