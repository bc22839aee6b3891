"""The concrete (Gumbel-softmax) relaxation of the Bernoulli distribution."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions._probs import ProbsOrLogits, Relaxed
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import SigmoidTransform
from torchish.distributions.utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The log odds of RelaxedBernoulli."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _unbatched = ("temperature",)
    expand = expand_parameters

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        name, value = self._one_of(probs, logits)
        self.__dict__[name], = broadcast_all(value)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=p.dtype, device=p.device))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(Relaxed, TransformedDistribution):
    """Numbers of (0, 1), the nearer to 0 and 1 the lower the temperature."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    expand = TransformedDistribution.expand

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)
