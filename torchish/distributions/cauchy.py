"""The Cauchy distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The quotient of two centred normal numbers: median `loc`, half width at half maximum `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    expand = expand_parameters

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def _all(self, number):
        return torch.full(self._extended_shape(), number, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self):
        return self._all(math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._all(math.inf)

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value):
        self._check(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        self._check(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
