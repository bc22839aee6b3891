"""Multivariate normal distributions of low rank."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_det
from torchish.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _eye_like(matrix):
    return torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(W, D):
    """The Cholesky factor of the capacitance I + W' D^-1 W."""
    capacitance = torch.matmul(W.mT / D.unsqueeze(-2), W)
    return torch.linalg.cholesky(capacitance + _eye_like(capacitance))


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """log det(W W' + D), by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """x' (W W' + D)^-1 x, by Woodbury's identity."""
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(W.mT / D.unsqueeze(-2), x))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance cov_factor cov_factor' + diag(cov_diag)."""

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _unbatched = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")
    expand = expand_parameters

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                             f"cov_diag {cov_diag.shape}") from error
        self.loc, self.cov_diag = loc.expand(batch_shape + event_shape), cov_diag.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @property
    def _parts(self):
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The variances."""
        W, D = self._parts
        return (W.pow(2).sum(-1) + D).expand(self._batch_shape + self._event_shape)

    def _matrix(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        W, D = self._parts  # W W' + D is D^1/2 (V V' + I) D^1/2 with V = D^-1/2 W
        root = D.sqrt().unsqueeze(-1)
        inner = torch.matmul(W / root, (W / root).mT)
        return self._matrix(root * torch.linalg.cholesky(inner + _eye_like(inner)))

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        W, D = self._parts
        return self._matrix(torch.matmul(W, W.mT) + torch.diag_embed(D))

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        W, D = self._parts
        solved = torch.linalg.solve_triangular(self._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
        return self._matrix(torch.diag_embed(D.reciprocal()) - torch.matmul(solved.mT, solved))

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        shape, like = self._extended_shape(sample_shape), {"dtype": self.loc.dtype, "device": self.loc.device}
        factors = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **like)
        rest = _standard_normal(shape, **like)
        W, D = self._parts
        return self.loc + _batch_mv(W, factors) + D.sqrt() * rest

    def log_prob(self, value):
        self._check(value)
        distance = _batch_lowrank_mahalanobis(*self._parts, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)
