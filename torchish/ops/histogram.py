"""Counting and hashing."""

import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.promote import cast, dtype_of, kernel, wrap_dims
from torchish.ops.table import op


@op(names="", differentiable=False)
def histogramdd(input, weight, /, *edges):
    """Weights of the points (rows of `input`) in the boxes between edges; the last edge belongs to the last box."""
    kernel("histogramdd", input, "f")
    shape = tuple(e.shape[0] - 1 for e in edges)
    points = input.reshape(-1, input.shape[-1])
    inside, place = jnp.ones(points.shape[0], bool), 0
    for d, (e, n) in enumerate(zip(edges, shape)):
        x = points[:, d]
        inside &= (x >= e[0]) & (x <= e[-1])
        place = place * n + jnp.clip(jnp.searchsorted(e, x, side="right") - 1, 0, n - 1)
    w = jnp.ones(points.shape[0], input.dtype) if weight is None else weight.reshape(-1)
    size = 1
    for n in shape:
        size *= n
    return jnp.zeros(size, input.dtype).at[place].add(jnp.where(inside, w, 0)).reshape(shape)


@op(names="torch method", differentiable=False)
def hash_tensor(input, /, dim=(), *, keepdim=False, mode=0):
    """The exclusive or of the bits of all elements, widened to 64 bits."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    kernel("xor_sum_cpu", input, "bif")
    if not input.size and dim == ():
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                           "with the 'dim' argument.")
    dims = wrap_dims(dim, input.ndim)
    for d in dims:
        if not input.shape[d]:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    wide = cast(input, dtypes.int64 if dtype_of(input).category < 2 else dtypes.float64)
    bits = lax.bitcast_convert_type(wide, "uint64")
    y = lax.reduce(bits, jnp.zeros((), "uint64"), lax.bitwise_xor, dims)
    return jnp.expand_dims(y, dims) if keepdim else y
