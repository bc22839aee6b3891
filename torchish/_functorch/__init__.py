"""torch._functorch: the folder in PyTorch's sources from which older code, and the package functorch itself, take the transforms."""

import sys
from types import ModuleType

from torchish import func, functorch
from torchish.func import arguments
from torchish.functorch import experimental

_FUNC = {name: getattr(func, name) for name in func.__all__}
_MODULES = {
    "deprecated": vars(functorch), "make_functional": vars(functorch._models), "python_key": {"make_fx": functorch.make_fx},
    "eager_transforms": {**_FUNC, "_slice_argnums": arguments.sliced}, "functional_call": _FUNC, "batch_norm_replacement": _FUNC,
    "apis": {**_FUNC, "chunk_vmap": experimental.chunk_vmap}, "vmap": {"vmap": func.vmap, "chunk_vmap": experimental.chunk_vmap},
}

for _name, _names in _MODULES.items():
    _module = sys.modules[f"{__name__}.{_name}"] = ModuleType(f"{__name__}.{_name}", "Names of torch.func and functorch.")
    vars(_module).update({k: v for k, v in _names.items() if not k.startswith("__")})
    globals()[_name] = _module
