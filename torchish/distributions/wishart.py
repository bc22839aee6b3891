"""The Wishart distribution."""

import math
import warnings

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.chi2 import Chi2
from torchish.distributions.distribution import expand_parameters
from torchish.distributions.exp_family import ExponentialFamily
from torchish.distributions.multivariate_normal import _precision_to_scale_tril, half_log_det
from torchish.distributions.utils import lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x, p):
    """The derivative of the logarithm of the multivariate gamma function of dimension p."""
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device).div(2)).sum(-1)


class Wishart(ExponentialFamily):
    """Scatter matrices of `df` normal vectors with one of: covariance, its inverse, its Cholesky factor."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _unbatched = ("_unbroadcasted_scale_tril",)
    expand = expand_parameters

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        forms = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
        assert len(given) == 1, "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        (name, matrix), = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = df if isinstance(df, torch.Tensor) else torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape, event_shape = torch.broadcast_shapes(df.shape, matrix.shape[:-2]), matrix.shape[-2:]
        n = event_shape[-1]
        if (df <= n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
        self.df = df.expand(batch_shape)
        if (self.df < n).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        self._batch_shape, self._event_shape = batch_shape, event_shape  # arg_constraints asks for them
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        factor = {"scale_tril": lambda m: m, "covariance_matrix": torch.linalg.cholesky, "precision_matrix": _precision_to_scale_tril}
        self._unbroadcasted_scale_tril = factor[name](matrix)

    @property
    def arg_constraints(self):
        """The degrees of freedom are bounded by the dimension."""
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def _matrix(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance of the vectors."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        return self._matrix(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _times(self, numbers, matrices):
        return numbers[..., None, None] * matrices

    @property
    def mean(self):
        return self._times(self.df, self.covariance_matrix)

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._times(factor.masked_fill(factor <= 0, math.nan), self.covariance_matrix)

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self._times(self.df, V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    @lazy_property
    def _dist_chi2(self):
        """The squares of the diagonal in Bartlett's decomposition."""
        less = torch.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - less, validate_args=False)

    def _bartlett_sampling(self, sample_shape=torch.Size()):  # noqa: B008
        p = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(p, p, offset=-1)
        noise[..., rows, columns] = torch.randn(torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,),
                                                dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):  # noqa: B008
        """Samples; those that rounding made singular are drawn anew, up to `max_try_correction` times (10).

        PyTorch's first check is the wrong way round: it draws the good ones anew, with a warning. So does this, for its numbers.
        """
        tries = 10 if max_try_correction is None else max_try_correction
        sample_shape = torch.Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = self._anywhere(self.support.check(sample))
        if not singular.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(tries):
            new = self._bartlett_sampling(singular[singular].shape)
            sample[singular] = new
            again = self._anywhere(~self.support.check(new))
            singular[singular.clone()] = again
            if not again.any():
                break
        return sample

    def _anywhere(self, flags):
        """Whether a flag is set somewhere in the batch."""
        return flags.amax(tuple(range(-len(self._batch_shape), 0))) if self._batch_shape else flags

    def log_prob(self, value):
        self._check(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (p * math.log(2) / 2 + half_log_det(factor)) - torch.mvlgamma(nu / 2, p=p)
                + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        return ((p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)) + torch.mvlgamma(nu / 2, p=p)
                - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p) + nu * p / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + torch.mvlgamma(half, p=p)
