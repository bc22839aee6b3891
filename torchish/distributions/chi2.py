"""The chi-squared distribution."""

from torchish.distributions import constraints
from torchish.distributions.distribution import expand_parameters
from torchish.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of `df` squared standard normal numbers."""

    arg_constraints = {"df": constraints.positive}
    _batched = ("concentration", "rate")
    expand = expand_parameters

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self):
        """Degrees of freedom."""
        return self.concentration * 2
