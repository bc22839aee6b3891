"""The multivariate normal distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrices, vectors):
    """Products of matrices and vectors with broadcast batches."""
    return torch.matmul(matrices, vectors.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factors, vectors):
    """|L^-1 x|^2 for Cholesky factors L; samples in front of the factors' batch become columns of one right-hand side."""
    front = max(vectors.dim() - factors.dim() + 1, 0)
    samples = vectors.shape[:front]
    columns = vectors.reshape((math.prod(samples),) + vectors.shape[front:]).movedim(0, -1)
    squares = torch.linalg.solve_triangular(factors, columns, upper=False).square().sum(-2).movedim(-1, 0)
    return squares.reshape(samples + squares.shape[1:])


def _precision_to_scale_tril(precision):
    """The Cholesky factor of a precision's inverse: that of the matrix turned round, turned back, and inverted."""
    factor = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.flip(factor, (-2, -1)).mT
    eye = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(inverse, eye, upper=False)


def half_log_det(factor):
    """log det L."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors of mean `loc` with one of: covariance, its inverse, its Cholesky factor."""

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _unbatched = ("_unbroadcasted_scale_tril",)
    expand = expand_parameters

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        forms = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = given
        if matrix.dim() < 2:
            raise ValueError(f"{name}{' matrix' * (name == 'scale_tril')} must be at least two-dimensional, "
                             "with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        factor = {"scale_tril": lambda m: m, "covariance_matrix": torch.linalg.cholesky, "precision_matrix": _precision_to_scale_tril}
        self._unbroadcasted_scale_tril = factor[name](matrix)

    def _matrix(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._matrix(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        return self._matrix(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        noise = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        value = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)
        return value.expand(self._batch_shape)
