"""The geometric distribution."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions._probs import ProbsOrLogits
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import broadcast_all
from torchish.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits, Distribution):
    """The number of failures before the first success, of probability `probs`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    expand = expand_parameters

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._one_of(probs, logits)
        self.__dict__[name], = broadcast_all(value)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and name == "probs" and not (self.probs > 0).all():
            raise ValueError(f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                             f"distribution {self!r} to be positive but found invalid values:\n"
                             f"{self.probs.data[~(self.probs > 0)]}")

    @property
    def mean(self):
        return 1 / self.probs - 1

    @property
    def mode(self):
        return torch.zeros_like(self.probs)

    @property
    def variance(self):
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        with torch.no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        failure = torch.where((probs == 1) & (value == 0), 0, probs)  # 0 * log(0) is 0 here
        return value * (-failure).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
