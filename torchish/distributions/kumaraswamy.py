"""The Kumaraswamy distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.transformed_distribution import TransformedDistribution, expand_rebuilt
from torchish.distributions.transforms import AffineTransform, PowerTransform
from torchish.distributions.uniform import Uniform
from torchish.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers of (0, 1) with the distribution function 1 - (1 - x^concentration1)^concentration0."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    expand = expand_rebuilt

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(*self._pieces(validate_args), validate_args=validate_args)

    def _pieces(self, validate_args=None):
        zeros = torch.zeros_like(self.concentration0)
        return Uniform(zeros, zeros + 1, validate_args), [
            PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal())]

    def _moment(self, n):
        b, shift = self.concentration0, 1 + n / self.concentration1
        return b * torch.exp(torch.lgamma(shift) + torch.lgamma(b) - torch.lgamma(shift + b))

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        # PyTorch takes logarithms of negative numbers here, and gives nan for all parameters
        return torch.full_like(self.concentration0, math.nan)

    @property
    def variance(self):
        return self._moment(2) - torch.pow(self.mean, 2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)
