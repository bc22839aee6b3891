"""The Gumbel distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.transformed_distribution import TransformedDistribution, expand_rebuilt
from torchish.distributions.transforms import AffineTransform, ExpTransform
from torchish.distributions.uniform import Uniform
from torchish.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The law of the largest of many numbers."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    expand = expand_rebuilt

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(*self._pieces(validate_args), validate_args=validate_args)

    def _pieces(self, validate_args=None):
        limits = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps), validate_args)
        return base, [ExpTransform().inv, AffineTransform(loc=0, scale=-torch.ones_like(self.scale)), ExpTransform().inv,
                      AffineTransform(loc=self.loc, scale=-self.scale)]

    def log_prob(self, value):
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
