"""Spectral normalisation by a forward pre-hook (the older form; see `parametrizations.spectral_norm`)."""

import torchish as torch
from torchish.nn import functional as F
from torchish.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from torchish.nn.parameter import Parameter, is_lazy


def output_dim(module):
    """The dimension of a module's weight that counts outputs."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def as_matrix(weight, dim):
    """The weight with `dim` as rows and everything else as columns."""
    return weight.movedim(dim, 0).flatten(1) if weight.dim() > 1 else weight.reshape(-1, 1)


class SpectralNorm:
    """The hook: before every forward the weight is divided by an estimate of its largest singular value."""

    _version = 1

    def __init__(self, name, n_power_iterations, dim, eps):
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module, do_power_iteration):
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                # the buffers change at the next forward, the graph keeps these
                u, v = u.clone(), v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a parameter by its largest singular value, estimated by power iteration while training."""
    if any(isinstance(h, SpectralNorm) and h.name == name for h in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                         "before applying spectral normalization")
    with torch.no_grad():
        rows, columns = as_matrix(weight, hook.dim).size()
        u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    # an ordinary attribute, so that the module works before its first forward too
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(SpectralNormStateDictHook(hook))
    module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
    return module


class SpectralNormStateDictHook:
    """After saving: the version of what was saved goes into the metadata."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions, key = local_metadata.setdefault("spectral_norm", {}), self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Before loading: a state dict of the version without metadata holds the weight instead of the vector `v`."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version") is not None:
            return
        key = prefix + self.fn.name
        needed = [key + "_orig", key, key + "_u"]
        if key not in state_dict and all(key + end in state_dict for end in ("_orig", "_u", "_v")):
            return      # a new one that has lost its metadata
        missing = [name for name in needed if name not in state_dict]
        if strict:
            missing_keys.extend(missing)
        if missing:
            return
        with torch.no_grad():
            original, weight, u = (state_dict[name] for name in needed)
            scale = (original / weight).mean()
            del state_dict[key]
            state_dict[key + "_v"] = _right_vector(as_matrix(original, self.fn.dim), u, scale)


def _right_vector(matrix, u, scale):
    """The v with u = normalize(matrix @ v) and dot(u, matrix @ v) = scale, as near as can be."""
    v = torch.linalg.pinv(matrix) @ u
    return v * (scale / torch.dot(u, matrix @ v))


def remove_spectral_norm(module, name="weight"):
    """Make the weight an ordinary parameter again."""
    for key, hook in module._forward_pre_hooks.items():  # noqa: B007  (used after the loop)
        if isinstance(hook, SpectralNorm) and hook.name == name:
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    with torch.no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    delattr(module, name)
    del module._buffers[name + "_u"], module._buffers[name + "_v"], module._parameters[name + "_orig"]
    del module._forward_pre_hooks[key]
    module.register_parameter(name, Parameter(weight.detach()))
    for hooks in module._state_dict_hooks, module._load_state_dict_pre_hooks:
        for key, registered in [*hooks.items()]:
            if getattr(getattr(registered, "hook", registered), "fn", None) is hook:     # the latter are wrapped
                del hooks[key]
    return module
