"""Copies and casts: the identities that own their memory."""

import jax
import jax.numpy as jnp

from torchish.ops import dtypes
from torchish.ops.promote import cast, is_number
from torchish.ops.table import op


@op(names="")
def clone(input, /):
    return jax.lax.reshape(input, input.shape)


@op(names="", node="ToCopyBackward0")
def to_copy(input, /, dtype):
    return cast(input, dtype)


@op(names="", node="CopyBackwards")
def copy(input, src, /):
    """`src` in the shape and dtype of `input`, as `copy_` writes it."""
    src = jnp.asarray(src) if is_number(src) else src
    shape = src.shape
    while len(shape) > input.ndim and shape[0] == 1:
        shape = shape[1:]
    for i in range(1, len(shape) + 1):
        if i > input.ndim or (shape[-i] != 1 and shape[-i] != input.shape[-i]):
            if i > input.ndim:
                raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
            raise RuntimeError(f"The size of tensor a ({input.shape[-i]}) must match the size of tensor b ({shape[-i]}) at "
                               f"non-singleton dimension {input.ndim - i}")
    return cast(jnp.broadcast_to(src.reshape(shape), input.shape), dtypes.of(input))


@op(names="", node="ZeroBackward0")
def zero(input, /):
    return jnp.zeros_like(input)


@op(names="", node="FillBackward0")
def fill(input, value, /):
    if not is_number(value) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return jnp.broadcast_to(cast(value, dtypes.of(input)), input.shape)


@op(names="", node="AddBackward0", saves="")
def accumulate(input, other, /):
    """The sum of two gradients of one tensor."""
    return input + other
