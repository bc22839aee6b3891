"""The base of all distributions."""

import warnings

import torchish as torch
from torchish.autograd.batching import whole
from torchish.distributions import constraints
from torchish.distributions.utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A distribution over events of shape `event_shape`, one for each place of `batch_shape`."""

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _batched = ()  # beside the parameters: attributes that expand with the batch, often distributions
    _unbatched = ()  # and those that do not

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments unless they are told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):  # noqa: B008
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                          "the distribution with `validate_args=False` to turn off validation.", stacklevel=3)
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue  # checked by the class itself
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # another form of a parameter that is checked
            value = getattr(self, name)
            if not whole(constraint.check(value)).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                                 f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same distributions with their batch dimensions expanded to `batch_shape`."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of a single sample."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """Parameter names and the constraints that they satisfy."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        """Samples without gradients, of shape sample_shape + batch_shape + event_shape."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):  # noqa: B008
        """Samples that are differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """n samples; `sample((n,))` is its new name."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or mass at `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of what is at most `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):  # noqa: B008
        """The shape of samples of shape `sample_shape`."""
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _check(self, value):
        """Raise unless a value is valid; nothing where checks are off."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        split = len(value.size()) - len(self._event_shape)
        if value.size()[split:] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{value.size()} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(value.size()), reversed(expected), strict=False):
            if given != 1 and wanted != 1 and given != wanted:
                raise ValueError("Value is not broadcastable with batch_shape+event_shape: "
                                 f"{value.size()} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                          "with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if not whole(support.check(value)).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                             f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _get_checked_instance(self, cls, _instance=None):
        """A bare instance for `expand`; a subclass with an __init__ of its own must have its own `expand`."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                                      "must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        names = [n for n in self.arg_constraints if n in self.__dict__]
        values = [self.__dict__[n] for n in names]
        return (type(self).__name__ + "("
                + ", ".join(f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in zip(names, values)) + ")")


def owner_of(instance, method):
    """The class that `instance` has a method from."""
    return next(c for c in type(instance).__mro__ if method in vars(c))


def expand_parameters(self, batch_shape, _instance=None):
    """The same distributions with their batch dimensions expanded to `batch_shape`.

    For classes whose state is their parameters: `arg_constraints` names them, and the event dimensions of the
    constraints are the part of the parameters that stays.
    """
    new = self._get_checked_instance(owner_of(self, "expand"), _instance)
    batch_shape = torch.Size(batch_shape)
    for name, constraint in self.arg_constraints.items():
        if name in self.__dict__:
            value = self.__dict__[name]
            new.__dict__[name] = value.expand(batch_shape + value.shape[value.dim() - constraint.event_dim:])
    for name in self._batched:
        new.__dict__[name] = self.__dict__[name].expand(batch_shape)
    for name in self._unbatched:
        new.__dict__[name] = self.__dict__[name]
    Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
    new._validate_args = self._validate_args
    return new
