"""The Weibull distribution."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.exponential import Exponential
from torchish.distributions.transformed_distribution import TransformedDistribution, expand_rebuilt
from torchish.distributions.transforms import AffineTransform, PowerTransform
from torchish.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Powers 1 / `concentration` of exponential numbers, times `scale`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    expand = expand_rebuilt

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(*self._pieces(validate_args), validate_args=validate_args)

    def _pieces(self, validate_args=None):
        return Exponential(torch.ones_like(self.scale), validate_args=validate_args), [
            PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]

    @property
    def concentration_reciprocal(self):
        """1 / concentration."""
        return self.concentration.reciprocal()

    @property
    def mean(self):
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self):
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self):
        power = self.concentration_reciprocal
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * power)) - torch.exp(2 * torch.lgamma(1 + power)))

    def entropy(self):
        power = self.concentration_reciprocal
        return euler_constant * (1 - power) + torch.log(self.scale * power) + 1
