"""The generalized Pareto distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over `loc` with a tail of index `concentration`; exponential where that is 0, bounded below it."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    expand = expand_parameters

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From `loc` up, for a negative concentration to loc - scale / concentration."""
        bounded = self.concentration < 0
        upper = torch.where(bounded, self.loc - self.scale / torch.where(bounded, self.concentration, 1), math.inf)
        return constraints.interval(self.loc, upper)

    @property
    def _exponential(self):
        """Where the concentration is 0, and the concentration with 1 in those places."""
        zero = torch.isclose(self.concentration, torch.tensor(0.0, dtype=self.concentration.dtype))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._check(value)
        z, (zero, c) = self._z(value), self._exponential
        power = 1 / c + torch.ones_like(z)
        decay = torch.where(power == 0, power, power * torch.log1p(c * z))
        return -self.scale.log() - torch.where(zero, z, decay)

    def log_survival_function(self, value):
        """The logarithm of the probability of what is above `value`."""
        self._check(value)
        z, (zero, c) = self._z(value), self._exponential
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value):
        """The logarithm of `cdf`."""
        self._check(value)
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        self._check(value)
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        (zero, c), log = self._exponential, torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * log, self.loc + self.scale * torch.expm1(-c * log) / c)

    def _where_below(self, bound, moment):
        return torch.where(self.concentration < bound, moment, math.nan)

    @property
    def mean(self):
        return self._where_below(1, self.loc + self.scale / (1 - self.concentration))

    @property
    def variance(self):
        c = self.concentration
        return self._where_below(0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)))

    def entropy(self):
        return torch.log(self.scale) + self.concentration + 1

    @property
    def mode(self):
        return self.loc
