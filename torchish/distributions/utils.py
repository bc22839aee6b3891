"""Helpers of the distributions: broadcasting, lazy attributes, and the two ways to write a probability."""

from functools import update_wrapper
from itertools import count
from numbers import Number

import torchish as torch
from torchish.overrides import is_tensor_like

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """The values as tensors of one shape; numbers take the first tensor's dtype, or the default dtype."""
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    if not all(map(is_tensor_like, values)):
        like = next((v for v in values if isinstance(v, torch.Tensor)), None)
        options = {"dtype": torch.get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
        values = [v if is_tensor_like(v) else torch.tensor(v, **options) for v in values]
    return torch.broadcast_tensors(*values)


def _standard_normal(shape, dtype, device):
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device), torch.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """The probabilities of log odds, or of unnormalized log probabilities along the last dimension."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs):
    """The probabilities kept off 0 and 1 by the dtype's eps."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The log odds of probabilities; of several categories, their logarithms."""
    inside = clamp_probs(probs)
    return torch.log(inside) - torch.log1p(-inside) if is_binary else torch.log(inside)


def shown(inner, name, doc=None):
    """A property: what the distribution in the attribute `inner` has under this name."""
    return property(lambda self: getattr(getattr(self, inner), name), doc=doc)


class lazy_property:
    """An attribute computed at its first reading and kept from then on."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a lazy attribute is on its class: documentation tools look for a property."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle of matrices up to the diagonal `diag`, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def _places(n, diag):
    """How many places an n x n matrix has up to the diagonal `diag`."""
    if diag < 0:
        return (n + diag) * (n + diag + 1) // 2
    return n * n - (n - 1 - diag) * (n - diag) // 2


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of `tril_matrix_to_vec`: lower triangular matrices with zeros above."""
    size = vec.shape[-1]
    n = next(n for n in count(max(diag + 1, -diag, 1)) if _places(n, diag) >= size)
    if _places(n, diag) != size:
        raise ValueError(f"The size of last dimension is {size} which cannot be expressed as "
                         "the lower triangular part of a square D x D matrix.")
    matrix = torch.zeros(vec.shape[:-1] + (n, n), dtype=vec.dtype, device=vec.device)
    rows, columns = torch.tril_indices(n, n, diag)
    matrix[..., rows, columns] = vec
    return matrix
