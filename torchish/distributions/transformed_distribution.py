"""Distributions of transformed numbers."""

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.distribution import Distribution, owner_of
from torchish.distributions.independent import Independent
from torchish.distributions.transforms import ComposeTransform, Transform
from torchish.distributions.utils import _sum_rightmost, shown

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What `transforms` make, one after the other, of the samples of `base_distribution`."""

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        base, made = self._fit(base_distribution, whole)
        self.base_dist = base
        # event dimensions that the base has beyond those the transform takes stay event dimensions
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(made) - max(whole.codomain.event_dim, len(base.event_shape) + change)
        super().__init__(made[:cut], made[cut:], validate_args=validate_args)

    @staticmethod
    def _fit(base, transform):
        """The base distribution with the shape and the event dimensions that a transform takes, and the shape that it makes."""
        shape, needed = base.batch_shape + base.event_shape, transform.domain.event_dim
        if len(shape) < needed:
            raise ValueError(f"base_distribution needs to have shape with size at least {needed}, but got {shape}.")
        made = transform.forward_shape(shape)
        wide = transform.inverse_shape(made)
        if shape != wide:
            base = base.expand(wide[:len(wide) - len(base.event_shape)])
        more = needed - len(base.event_shape)
        return (Independent(base, more) if more > 0 else base), made

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(owner_of(self, "expand"), _instance)
        batch_shape = torch.Size(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = shown("base_dist", "has_rsample")

    def _forward(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        event_dim, log_prob, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_prob = log_prob - _sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """A probability from below as one from above where the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


def expand_rebuilt(self, batch_shape, _instance=None):
    """The same distributions with their batch dimensions expanded to `batch_shape`.

    For families that make their base and their transforms from their parameters: `_pieces()` gives both.
    """
    new = self._get_checked_instance(owner_of(self, "expand"), _instance)
    for name in self.arg_constraints:
        new.__dict__[name] = self.__dict__[name].expand(torch.Size(batch_shape))
    TransformedDistribution.__init__(new, *new._pieces(), validate_args=False)
    new._validate_args = self._validate_args
    return new
