"""Lazy conjugation and negation: views whose bit `is_conj` / `is_neg` tell."""

from torchish.autograd.dispatch import apply, view
from torchish.ops import TABLE

CONJ, NEG, CLONE = TABLE["conj"], TABLE["neg_view"], TABLE["clone"]


def _is_odd(t, row):
    return t._view is not None and sum(step[0] is row for step in t._view.chain) % 2 == 1


def is_conj(input):
    """Whether the tensor is a lazily conjugated view."""
    return _is_odd(input, CONJ)


def is_neg(input):
    """Whether the tensor is a lazily negated view."""
    return _is_odd(input, NEG)


def conj(input):
    """The complex conjugate as a view; a real tensor itself."""
    return view(CONJ, input) if input.dtype.is_complex else input


def neg_view(input):
    """The negative as a view."""
    return view(NEG, input)


def resolve_conj(input):
    """The tensor itself, or a copy where it is a lazy conjugate."""
    return apply(CLONE, (input,)) if is_conj(input) else input


def resolve_neg(input):
    """The tensor itself, or a copy where it is a lazy negative."""
    return apply(CLONE, (input,)) if is_neg(input) else input


BITS = (("conj", "conjugate", is_conj, conj), ("neg", "negative", is_neg, neg_view))
METHODS = {f.__name__: f for f in (is_conj, is_neg, conj, resolve_conj, resolve_neg)} | {"_conj": conj, "_neg_view": neg_view}
TORCH = METHODS
