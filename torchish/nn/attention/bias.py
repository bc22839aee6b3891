"""Causal masks for queries and keys of different lengths."""

import enum
import warnings

import torchish as torch

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """In which corner the diagonal begins."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A boolean mask, True where a query may look; made by `causal_upper_left` and `causal_lower_right`."""

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError("variant must be a CausalVariant")
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                          stacklevel=3)
        shift = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        mask = torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool).tril(diagonal=shift)
        made = torch.Tensor._make_subclass(cls, mask)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def _materialize(self, device=None):
        """The mask as an ordinary tensor."""
        return self.detach().as_subclass(torch.Tensor).to(device or "cpu")


def causal_upper_left(*size):
    """The mask whose diagonal begins in the upper left corner, for (queries, keys)."""
    return _of_size(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size):
    """The mask whose diagonal ends in the lower right corner, for (queries, keys)."""
    return _of_size(CausalVariant.LOWER_RIGHT, size)


def _of_size(variant, size):
    if len(size) != 2:
        raise AssertionError("causal bias only supports 2D tensors")
    return CausalBias(variant, *size)
