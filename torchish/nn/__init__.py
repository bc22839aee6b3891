"""torch.nn: modules, losses and what belongs to them."""

from torchish.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from torchish.nn import functional, init, modules, parameter
from torchish.nn.modules import *
from torchish.nn import parallel, utils
from torchish.nn.parallel import DataParallel

__all__ = [*modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init",
           "modules", "parallel", "parameter", "utils"]
