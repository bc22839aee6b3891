"""torch.distributed.nn."""

from torchish.distributed.nn import functional
from torchish.distributed.nn.functional import *

__all__ = functional.__all__
