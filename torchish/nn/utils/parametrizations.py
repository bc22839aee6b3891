"""Ready-made parametrizations: weight and spectral normalisation."""

import torchish as torch
from torchish.nn import functional as F
from torchish.nn.modules.module import Module
from torchish.nn.utils.parametrize import register_parametrization
from torchish.nn.utils.spectral_norm import as_matrix, output_dim
from torchish.nn.utils.weight_norm import norm_except_dim, normalised

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return normalised(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Parametrize a weight by its length (one per index of `dim`) and its direction."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older_names(state_dict, prefix, *_):
        if f"{prefix}{name}_g" in state_dict and f"{prefix}{name}_v" in state_dict:
            for i, part in enumerate("gv"):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(f"{prefix}{name}_{part}")
    module._register_load_state_dict_pre_hook(from_older_names)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:  # a vector is its own singular value
            self.n_power_iterations = n_power_iterations
            with torch.no_grad():
                matrix = as_matrix(weight, self.dim)
                u, v = (weight.new_empty(n).normal_(0, 1) for n in matrix.size())
                self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
                self._power_method(matrix, 15)

    @torch.no_grad()
    def _power_method(self, matrix, n_power_iterations):
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(torch.mv(matrix.H, self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # the buffers change at the next forward, the graph keeps these
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Parametrize a weight by dividing it by its largest singular value, estimated by power iteration while training."""
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    register_parametrization(module, name, made)
    return module
