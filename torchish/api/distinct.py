"""Distinct elements. How many there are depends on the data, so the tensor is read."""

import numpy as np

from torchish.api.bounds import one_shape
from torchish.api.creation import tensor
from torchish.autograd.dispatch import underived
from torchish.autograd.graph import UnderivedNode, node_class


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, sorted; with flags also where each element went and how many there were."""
    one_shape(input, "_unique2" if dim is None else "unique_dim")
    u, inverse, counts = np.unique(input._numpy(), return_inverse=True, return_counts=True, axis=dim)
    out = [underived(tensor(u), input, "Unique2Backward0" if dim is None else "UniqueDimBackward0",
                     "_unique2" if dim is None else "unique_dim")]
    if return_inverse:
        shape = input._aval.shape if dim is None else (input._aval.shape[dim],)
        out.append(tensor(inverse.reshape(shape).astype("int64")))
    if return_counts:
        out.append(tensor(counts.astype("int64")))
    return out[0] if len(out) == 1 else tuple(out)


def _nothing():
    return tensor(np.zeros(0, "int64"))


def _unique(input, sorted=True, return_inverse=False):
    """(distinct elements, inverse or nothing): `unique` under its first name."""
    found = unique(input, sorted, True)
    if found[0]._fn is not None:
        found[0]._fn.__class__ = node_class("UniqueBackward0", UnderivedNode)
    return found[0], found[1] if return_inverse else _nothing()


def _unique2(input, sorted=True, return_inverse=False, return_counts=False):
    """(distinct elements, inverse or nothing, counts or nothing)."""
    found, inverse, counts = unique(input, sorted, True, True)
    return found, inverse if return_inverse else _nothing(), counts if return_counts else _nothing()


def unique_dim(input, dim, sorted=True, return_inverse=False, return_counts=False):
    """(distinct slices, inverse, counts)."""
    return unique(input, sorted, True, True, dim)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without immediate repeats."""
    one_shape(input, "unique_consecutive")
    a = input._numpy()
    rows = a.reshape(-1) if dim is None else np.moveaxis(a, dim, 0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).reshape(len(rows) - 1, -1).any(1) if len(rows) > 1 else False
    kept = rows[new] if dim is None else np.moveaxis(rows[new], 0, dim)
    out = [underived(tensor(kept), input, "UniqueConsecutiveBackward0", "unique_consecutive")]
    if return_inverse:
        inverse = np.cumsum(new) - 1
        out.append(tensor(inverse.reshape(a.shape) if dim is None else inverse))
    if return_counts:
        out.append(tensor(np.diff(np.append(np.flatnonzero(new), len(rows)))))
    return out[0] if len(out) == 1 else tuple(out)


TORCH = {f.__name__: f for f in (unique, unique_consecutive, _unique, _unique2)}
METHODS = {f.__name__: f for f in (unique, unique_consecutive)}
