"""The inverse gamma distribution."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.gamma import Gamma
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import PowerTransform
from torchish.distributions.utils import shown

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma numbers."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    expand = TransformedDistribution.expand

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(exponent=-base.rate.new_ones(())), validate_args=validate_args)

    concentration = shown("base_dist", "concentration", "The shape of the gamma numbers.")
    rate = shown("base_dist", "rate", "The rate of the gamma numbers.")

    @property
    def mean(self):
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), torch.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        return torch.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), torch.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
