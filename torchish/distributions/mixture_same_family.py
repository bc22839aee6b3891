"""Mixtures of distributions of one family."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.categorical import Categorical
from torchish.distributions.constraints import MixtureSameFamilyConstraint
from torchish.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Samples of a component, along the last batch dimension, that `mixture_distribution` chooses."""

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        weights, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(weights), reversed(components), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                                 f"`component_distribution.batch_shape`({components})")
        chosen, offered = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if chosen is not None and offered is not None and chosen != offered:
            raise ValueError(f"`mixture_distribution component` ({chosen}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({offered})")
        self._num_component, self._event_ndims = offered, len(component_distribution.event_shape)
        super().__init__(components, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        super(MixtureSameFamily, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        """What all components support."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The distribution of the component's number."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _average(self, values):
        """The mean over the components."""
        weights = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return torch.sum(weights * values, dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self.component_distribution.mean)

    @property
    def variance(self):
        within = self._average(self.component_distribution.variance)
        return within + self._average((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x):
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        self._check(x)
        each = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(each + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        with torch.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            offered = self.component_distribution.sample(sample_shape)
            dim = len(torch.Size(sample_shape)) + len(self.batch_shape)
            index = chosen.reshape(chosen.shape + (1,) * (len(self.event_shape) + 1))
            index = index.repeat((1,) * len(chosen.shape) + (1,) + tuple(self.event_shape))
            return torch.gather(offered, dim, index).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        missing = self.batch_shape.numel() and len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * max(missing, 0) + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
