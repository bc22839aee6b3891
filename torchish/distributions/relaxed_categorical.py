"""The concrete (Gumbel-softmax) relaxation of the one-hot categorical distribution."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions._probs import OfCategories, Relaxed
from torchish.distributions.categorical import Categorical
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import ExpTransform
from torchish.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategories, Distribution):
    """The logarithms of RelaxedOneHotCategorical."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _batched, _unbatched = ("_categorical",), ("temperature",)
    expand = expand_parameters

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        u = clamp_probs(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        self._check(value)
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        scale = torch.full_like(self.temperature, float(n)).lgamma() - self.temperature.log().mul(-(n - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(Relaxed, TransformedDistribution):
    """Points of the simplex, the nearer to its corners the lower the temperature."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    expand = TransformedDistribution.expand

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
