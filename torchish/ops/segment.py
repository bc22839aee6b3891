"""Reductions over segments of one dimension."""

import jax.numpy as jnp

from torchish.ops.table import op

REDUCE = {"sum": (0.0, jnp.sum), "mean": (0.0, jnp.sum), "max": (-jnp.inf, jnp.max), "min": (jnp.inf, jnp.min), "prod": (1.0, jnp.prod)}


@op(name="segment_reduce", names="", saves="0r")
def segment_reduce(data, offsets, /, reduce, initial=None):
    """The last dimension of `offsets` holds where the segments of the dimension of `data` at that place begin, and the end."""
    axis = offsets.ndim - 1
    start, fn = REDUCE[reduce]
    at = jnp.arange(data.shape[axis])
    tail = (1,) * (data.ndim - axis - 1)
    member = ((at >= offsets[..., :-1, None]) & (at < offsets[..., 1:, None]))      # (..., segments, elements)
    member = member.reshape(member.shape + tail)
    size = jnp.diff(offsets).reshape(offsets.shape[:-1] + (-1,) + tail)
    seen = jnp.where(member, jnp.expand_dims(data, axis), jnp.asarray(start, data.dtype))
    out = fn(seen, axis=axis + 1)
    given = jnp.asarray(start if initial is None else initial, data.dtype)
    if reduce in ("max", "min"):
        # PyTorch's gradient goes to the elements where they equal the given number
        return jnp.where(out < given if reduce == "max" else out > given, given, out)
    out = out * given if reduce == "prod" else out + given
    if reduce == "mean":
        out = out / jnp.where(size == 0, 1, size).astype(data.dtype)
        out = jnp.where(size == 0, jnp.nan, out) if initial is None else out
    return out
