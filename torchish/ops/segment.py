"""Reductions over segments of one dimension."""

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops.index import combine, limit
from torchish.ops.table import op

REDUCTION = {"sum": "sum", "mean": "sum", "max": "amax", "min": "amin", "prod": "prod"}     # as `scatter_reduce` calls them


def _segment_of(offsets, n):
    """The segment of each of n elements; those of no segment have one more than the last."""
    at = jnp.arange(n)
    found = jax.vmap(lambda ends: jnp.searchsorted(ends, at, side="right"))(offsets.reshape(-1, offsets.shape[-1])) - 1
    return jnp.where(found < 0, offsets.shape[-1] - 1, found).reshape(offsets.shape[:-1] + (n,))


@op(name="segment_reduce", names="", saves="0r")
def segment_reduce(data, offsets, /, reduce, initial=None):
    """The last dimension of `offsets` holds where the segments of the dimension of `data` at that place begin, and the end."""
    axis, count = offsets.ndim - 1, offsets.shape[-1] - 1
    segment, kind = _segment_of(offsets, data.shape[axis]), REDUCTION[reduce]
    base = jnp.full((*data.shape[:axis], count + 1, *data.shape[axis + 1:]), limit(data, kind), data.dtype)
    where = (*jnp.indices(segment.shape, sparse=True)[:-1], segment)
    out = lax.slice_in_dim(combine(base, where, data, kind, True), 0, count, axis=axis)
    given = jnp.asarray(limit(data, kind) if initial is None else initial, data.dtype)
    if reduce in ("max", "min"):
        # PyTorch's gradient goes to the elements where they equal the given number
        return jnp.where(out < given if reduce == "max" else out > given, given, out)
    out = out * given if reduce == "prod" else out + given
    if reduce == "mean":
        size = jnp.diff(offsets).reshape(offsets.shape[:-1] + (-1,) + (1,) * (data.ndim - axis - 1))
        out = out / jnp.where(size == 0, 1, size).astype(data.dtype)
        out = jnp.where(size == 0, jnp.nan, out) if initial is None else out
    return out
