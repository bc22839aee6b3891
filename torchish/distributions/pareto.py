"""The Pareto distribution."""

from torchish.distributions import constraints
from torchish.distributions.exponential import Exponential
from torchish.distributions.transformed_distribution import TransformedDistribution, expand_rebuilt
from torchish.distributions.transforms import AffineTransform, ExpTransform
from torchish.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Numbers above `scale` with a power law of index `alpha`."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    expand = expand_rebuilt

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(*self._pieces(validate_args), validate_args=validate_args)

    def _pieces(self, validate_args=None):
        return Exponential(self.alpha, validate_args=validate_args), [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From `scale` up."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)  # infinite up to there
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
