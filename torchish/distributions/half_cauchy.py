"""The half-Cauchy distribution."""

import math

import torchish as torch
from torchish.distributions.cauchy import Cauchy
from torchish.distributions.half_normal import Folded
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.utils import shown

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """Absolute values of Cauchy numbers of median 0."""

    expand = TransformedDistribution.expand

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    variance = shown("base_dist", "variance")
