"""The categorical distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions._probs import ProbsOrLogits
from torchish.distributions.distribution import Distribution, expand_parameters

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits, Distribution):
    """Numbers of categories, with the weights `probs` or log weights `logits` along the last dimension."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _unbatched = ("_num_events",)
    expand = expand_parameters

    def __init__(self, probs=None, logits=None, validate_args=None):
        name, value = self._one_of(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = value / value.sum(-1, keepdim=True)
        else:
            self.logits = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The numbers of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        return self.mean

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, math.prod(sample_shape), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._check(value)
        index, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self):
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = torch.arange(self._num_events, dtype=torch.long, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
