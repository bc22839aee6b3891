"""Rows of integer-array indexing; basic indexing is views."""

import jax.numpy as jnp

from torchish.ops.index import added
from torchish.ops.table import op


@op(names="", name="index", node="IndexBackward0")
def _index(input, /, *indices, present):
    """Integer-array indexing: `present[i]` says whether dimension i has an index array."""
    return input[_where(indices, present, input.shape)]


@op(names="", name="masked_select", saves="01")
def _masked_select(input, /, *indices):
    """The elements at the indices of a mask's true places."""
    return input[indices]


@op(names="", name="index_put", node="IndexPutBackward0", saves="23456789")
def _index_put(input, value, /, *indices, present, accumulate):
    at = input.at[_where(indices, present, input.shape)]
    value = jnp.asarray(value).astype(input.dtype)
    shape = input[_where(indices, present, input.shape)].shape
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    try:
        value = jnp.broadcast_to(value, shape)
    except ValueError:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of "
                           f"shape {list(shape)}") from None
    return added(at, value) if accumulate else at.set(value)


def _where(indices, present, shape):
    it = iter(indices)
    out = []
    for d, p in enumerate(present):
        if p:
            i = next(it).astype("int64")
            out.append(jnp.where(i < 0, i + shape[d], i))
        else:
            out.append(slice(None))
    return tuple(out)
