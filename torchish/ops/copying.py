"""Copies and casts: the identities that own their memory."""

import jax
import jax.numpy as jnp
import numpy as np

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


@op(names="", node="FillBackward0", by="isinstance(value, Tensor), written",
    variants={(True, False): "FillBackward1", (False, True): "FillBackward2", (True, True): "FillBackward3"})
def fill(input, value, /):
    if not is_number(value) and value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return jnp.broadcast_to(cast(value, dtypes.of(input)), input.shape)


@op(names="", node="AsStridedScatterBackward0", saves="")
def as_strided_scatter(input, src, /, size, stride, offset, strides, start):
    """`input`, whose elements lie in memory by `strides` from `start`, with `src` at the places of another geometry."""
    if src.shape != size:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(size)}")
    here, there = _places(input.shape, strides, start), _places(size, stride, offset)
    order = np.argsort(here, kind="stable")
    at = np.searchsorted(here, there, sorter=order)
    found = order[np.minimum(at, here.size - 1)] if here.size else at
    # memory that `input` does not show is nowhere in the result
    found = np.where(here[found] == there, found, here.size) if here.size else found
    # PyTorch's gradient reads every place, also where places repeat
    out = input.reshape(-1).at[found].set(cast(src, dtypes.of(input)).reshape(-1), mode="drop", unique_indices=True)
    return out.reshape(input.shape)


def _places(sizes, strides, start):
    """Where in memory each element lies, flat."""
    out = np.asarray(start)
    for n, step in zip(sizes, strides):
        out = out[..., None] + step * np.arange(n)
    return out.reshape(-1)


def _drawn(name, node, **facts):
    @op(names="", name=name, node=node, saves="", **facts)
    def drawn(numbers, /, *parameters):
        """Random numbers as a function of their distribution's parameters, of which PyTorch's derivative is zero."""
        return numbers


for _name, _node in (("bernoulli", "BernoulliBackward0"), ("normal_mean", "NormalBackward1"), ("normal_std", "NormalBackward2"),
                     ("normal_both", "NormalBackward3"), ("poisson", "PoissonBackward0")):
    _drawn(_name, _node)
_drawn("bernoulli_p", "NotImplemented", underivable="bernoulli")
_drawn("binomial", "NotImplemented", underivable="binomial")


@op(names="", node="AddBackward0", saves="")
def accumulate(input, other, /):
    """The sum of two gradients of one tensor."""
    return input + other
