"""The log-normal distribution."""

from torchish.distributions import constraints
from torchish.distributions.normal import Normal
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import ExpTransform
from torchish.distributions.utils import shown

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """Numbers with normal logarithms."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    expand = TransformedDistribution.expand

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = shown("base_dist", "loc", "The mean of the logarithm.")
    scale = shown("base_dist", "scale", "The standard deviation of the logarithm.")

    @property
    def mean(self):
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc
