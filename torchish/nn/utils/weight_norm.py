"""Weight normalisation by a forward pre-hook (the older form; see `parametrizations.weight_norm`)."""

import warnings

import torchish as torch
from torchish.nn.parameter import Parameter, is_lazy


def norm_except_dim(v, dim):
    """The 2-norm over all dimensions but `dim`, which stays in place; -1 takes the norm of everything."""
    return torch.norm_except_dim(v, 2, dim)


def normalised(v, g, dim):
    """The direction of `v` with the length `g`."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook: before every forward the weight is computed from its length and direction."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        return normalised(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Replace a parameter by its length (name_g, one per index of `dim`) and its direction (name_v)."""
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
                  FutureWarning, stacklevel=2)
    if any(isinstance(h, WeightNorm) and h.name == name for h in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                         "before applying weight normalization")
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Make the weight an ordinary parameter again."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            delattr(module, name)
            del module._parameters[name + "_g"], module._parameters[name + "_v"], module._forward_pre_hooks[key]
            setattr(module, name, Parameter(weight.data))
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
