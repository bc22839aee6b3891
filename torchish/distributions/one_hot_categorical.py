"""Categories as one-hot vectors."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions._probs import OfCategories
from torchish.distributions.categorical import Categorical
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategories, Distribution):
    """A one-hot vector with its one in a category's place."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _batched = ("_categorical",)
    expand = expand_parameters

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._vectors(self._categorical.mode)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _vectors(self, categories):
        return one_hot(categories, num_classes=self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        return self._vectors(self._categorical.sample(torch.Size(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        samples = self.sample(sample_shape)
        probs = self._categorical.probs  # kept, so that the gradient reaches the parameter
        return samples + (probs - probs.detach())
