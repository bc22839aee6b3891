"""A parameter that is given as probabilities or as logits."""

import torchish as torch
from torchish.distributions.utils import lazy_property, logits_to_probs, probs_to_logits, shown


class ProbsOrLogits:
    """Has `probs` and `logits`; the one that was not given is computed when it is asked for."""

    _is_binary = True

    @staticmethod
    def _one_of(probs, logits):
        """The name and the value of the one that is given."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return ("logits", logits) if probs is None else ("probs", probs)

    @lazy_property
    def logits(self):
        """Log odds; over categories, normalized log probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self):
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()

    def _first_numbers(self, n, expand):
        """0 … n - 1 along a new first dimension, for enumerate_support."""
        values = torch.arange(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values


class OfCategories:
    """A distribution over what `self._categorical` draws, whose parameter it shows."""

    probs = shown("_categorical", "probs", "Probabilities.")
    logits = shown("_categorical", "logits", "Normalized log probabilities.")
    param_shape = shown("_categorical", "param_shape", "The shape of the parameter.")
    _param = shown("_categorical", "_param")

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)


class Relaxed:
    """Shows the parameters of a relaxation, which its base distribution holds."""

    temperature = shown("base_dist", "temperature", "How far it is from the distribution that it relaxes.")
    logits = shown("base_dist", "logits", "Log odds, or normalized log probabilities.")
    probs = shown("base_dist", "probs", "Probabilities.")
