"""Ready-made parametrizations: orthogonal matrices, weight and spectral normalisation."""

import torchish as torch
from torchish.nn import functional as F
from torchish.nn.modules.module import Module
from torchish.nn.utils.parametrize import register_parametrization
from torchish.nn.utils.spectral_norm import as_matrix, output_dim
from torchish.nn.utils.weight_norm import norm_except_dim, normalised

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = "matrix_exp", "cayley", "householder"


def _is_orthogonal(Q, eps=None):
    n, k = Q.size(-2), Q.size(-1)
    eps = 10.0 * n * torch.finfo(Q.dtype).eps if eps is None else eps
    return torch.allclose(Q.mH @ Q, torch.eye(k, dtype=Q.dtype, device=Q.device), atol=eps)


def _make_orthogonal(A):
    """The orthogonal factor of A, with the signs that make the triangular one's diagonal positive."""
    X, tau = torch.geqrf(A)
    return torch.linalg.householder_product(X, tau) * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A tall (or, transposed, wide) matrix with orthonormal columns, made of an unconstrained one."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = self._reflections(X) if self.orthogonal_map == "householder" else self._of_skew(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _of_skew(self, X):
        """The exponential or the Cayley map of the skew matrix below the diagonal of X."""
        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = torch.matrix_exp(A)
        else:
            one = torch.eye(n, dtype=A.dtype, device=A.device)
            Q = torch.linalg.solve(torch.add(one, A, alpha=-0.5), torch.add(one, A, alpha=0.5))
        return Q if n == k else Q[..., :k]

    @staticmethod
    def _reflections(X):
        """A product of Householder reflections; the diagonal of X holds signs."""
        A = X.tril(diagonal=-1)
        Q = torch.linalg.householder_product(A, 2.0 / (1.0 + (A * A).sum(dim=-2)))
        return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @torch.no_grad()
    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        given, wide = Q, Q.size(-2) < Q.size(-1)
        Q = Q.mT if wide else Q
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                                          "use_trivialization=False.")
            A, tau = torch.geqrf(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return A.mT if wide else A
        if n == k:
            self.base = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:  # completed to a square one by chance
            rest = torch.randn(*Q.size()[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            self.base = _make_orthogonal(torch.cat([Q, rest], dim=-1))
        # the map sends every diagonal matrix to the identity
        start = torch.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _named_tensor(module, name):
    tensor = getattr(module, name, None)
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Parametrize a matrix (or a batch of them) so that it stays orthogonal (or unitary)."""
    weight = _named_tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module


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
    weight = _named_tensor(module, name)
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    register_parametrization(module, name, made)
    return module
