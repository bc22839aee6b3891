"""The half-normal distribution, and what it shares with the half-Cauchy one."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.normal import Normal
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import AbsTransform
from torchish.distributions.utils import shown

__all__ = ["HalfNormal"]


class Folded(TransformedDistribution):
    """The absolute values of a distribution that is symmetric about 0, with the density of both sides."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, symmetric, validate_args):
        super().__init__(symmetric, AbsTransform(), validate_args=validate_args)

    scale = shown("base_dist", "scale", "The scale of the distribution that is folded.")

    @property
    def mode(self):
        return torch.zeros_like(self.scale)

    def log_prob(self, value):
        self._check(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value):
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Folded):
    """Absolute values of normal numbers of mean 0."""

    expand = TransformedDistribution.expand

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)
