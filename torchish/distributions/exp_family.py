"""Exponential families."""

import torchish as torch
from torchish.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)): entropies and divergences follow from the log normalizer F."""

    @property
    def _natural_params(self):
        """The tuple theta."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        """F at natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self):
        """The entropy by the Bregman divergence of the log normalizer."""
        theta = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*theta)
        slopes = torch.autograd.grad(normalizer.sum(), theta, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(theta, slopes):
            result = result - (parameter * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
