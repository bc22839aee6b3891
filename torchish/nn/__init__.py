"""torch.nn: modules, losses and what belongs to them."""

from torchish.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from torchish.nn import functional, init, modules, parameter
from torchish.nn.modules import *
from torchish.nn import attention, grad, parallel, utils
from torchish.nn.parallel import DataParallel


def factory_kwargs(kwargs):
    """What of `kwargs` goes to a factory like torch.empty: device, dtype and memory_format, also from its entry `factory_kwargs`."""
    names = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - names - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    made = dict(kwargs.get("factory_kwargs", {}))
    unexpected = made.keys() - names
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    for name in sorted(names & kwargs.keys()):
        if name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        made[name] = kwargs[name]
    return made


__all__ = [*modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention",
           "factory_kwargs", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"]
