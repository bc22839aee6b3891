"""torch.distributed.nn."""

from torchish.distributed.nn import functional
from torchish.distributed.nn.functional import *  # noqa: F403

__all__ = functional.__all__
