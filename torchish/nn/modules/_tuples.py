"""Sizes given as one number or one per dimension."""

from collections.abc import Iterable


def ntuple(x, n):
    """`x` per dimension, as a tuple."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n
