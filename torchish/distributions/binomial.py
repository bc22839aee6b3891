"""The binomial distribution."""

import torchish as torch
from torchish.api.gammas import binomial
from torchish.distributions import constraints
from torchish.distributions._probs import ProbsOrLogits
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits, Distribution):
    """The number of successes, of probability `probs`, in `total_count` trials."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True
    expand = expand_parameters

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        name, value = self._one_of(probs, logits)
        self.total_count, self.__dict__[name] = broadcast_all(total_count, value)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The integers from 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check(value)
        ways = torch.lgamma(self.total_count + 1) - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1)
        normalizer = torch.logaddexp(self.logits, torch.zeros_like(self.logits))
        return value * self.logits + ways - self.total_count * normalizer

    def _one_count(self, method):
        if not self.total_count.min() == self.total_count.max():
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return int(self.total_count.max())

    def entropy(self):
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._first_numbers(1 + self._one_count("enumerate_support"), expand)
