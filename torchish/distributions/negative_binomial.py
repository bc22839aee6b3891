"""The negative binomial distribution."""

import torchish as torch
from torchish.api.gammas import poisson
from torchish.distributions import constraints
from torchish.distributions._probs import ProbsOrLogits
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.gamma import Gamma
from torchish.distributions.utils import broadcast_all, lazy_property
from torchish.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """The number of successes, of probability `probs`, before `total_count` failures."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    expand = expand_parameters

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        name, value = self._one_of(probs, logits)
        self.total_count, self.__dict__[name] = broadcast_all(total_count, value)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        """The distribution of the rate of the Poisson number that this is."""
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        with torch.no_grad():
            return poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        self._check(value)
        powers = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = torch.lgamma(self.total_count + value) - torch.lgamma(1.0 + value) - torch.lgamma(self.total_count)
        return powers + ways.masked_fill(self.total_count + value == 0.0, 0.0)
