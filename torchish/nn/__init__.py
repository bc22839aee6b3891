"""torch.nn: modules, losses and what belongs to them."""

from torchish.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from torchish.nn import functional, init, modules, parameter
from torchish.nn.modules import *
from torchish.nn import utils

__all__ = [*modules.__all__, "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init",
           "modules", "parameter", "utils"]
