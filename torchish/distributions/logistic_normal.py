"""The logistic normal distribution."""

from torchish.distributions import constraints
from torchish.distributions.normal import Normal
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Points of the simplex made from normal numbers by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    expand = TransformedDistribution.expand

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self):
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self):
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale
