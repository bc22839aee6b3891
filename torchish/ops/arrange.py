"""Joining tensors, and moving their elements to other places."""

import itertools

import jax.numpy as jnp
import numpy as np

from torchish.ops.promote import cast, result_type, wrap_dim, wrap_dims
from torchish.ops.table import op

# ---- joining

@op(names="torch", aliases="concat concatenate")
def cat(*tensors, dim=0):
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    d = result_type(*tensors)
    # a one-dimensional empty tensor is skipped, whatever the others' rank
    parts = [t for t in tensors if t.shape != (0,)] or [tensors[0]]
    axis = wrap_dim(dim, parts[0].ndim)
    for i, t in enumerate(parts):
        if t.ndim != parts[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {parts[0].ndim} and {t.ndim}")
        for k in range(t.ndim):
            if k != axis and t.shape[k] != parts[0].shape[k]:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Expected size "
                                   f"{parts[0].shape[k]} but got size {t.shape[k]} for tensor number {i} in the list.")
    return jnp.concatenate([cast(t, d) for t in parts], axis=axis)


def _stack(tensors, dim, name="stack"):
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    axis = wrap_dim(dim, tensors[0].ndim + 1)
    for i, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 "
                               f"and {list(t.shape)} at entry {i}")
    d = result_type(*tensors)
    return jnp.stack([cast(t, d) for t in tensors], axis=axis)


@op(names="torch")
def stack(*tensors, dim=0):
    return _stack(tensors, dim)


def _some(name, tensors):
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


@op(names="torch", node="CatBackward0")
def hstack(*tensors):
    _some("hstack", tensors)
    parts = [jnp.atleast_1d(t) for t in tensors]
    return cat(*parts, dim=0 if parts and parts[0].ndim == 1 else 1)


@op(names="torch", node="CatBackward0", aliases="row_stack")
def vstack(*tensors):
    _some("vstack", tensors)
    return cat(*map(jnp.atleast_2d, tensors), dim=0)


@op(names="torch", node="CatBackward0")
def dstack(*tensors):
    _some("dstack", tensors)
    return cat(*map(jnp.atleast_3d, tensors), dim=2)


@op(names="torch", node="CatBackward0")
def column_stack(*tensors):
    return cat(*(t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors), dim=1)


@op(names="torch")
def block_diag(*tensors):
    d = result_type(*tensors)
    parts = [cast(jnp.atleast_2d(t), d) for t in tensors]
    out = jnp.zeros((sum(p.shape[0] for p in parts), sum(p.shape[1] for p in parts)), d.np)
    r = c = 0
    for p in parts:
        out = out.at[r:r + p.shape[0], c:c + p.shape[1]].set(p)
        r, c = r + p.shape[0], c + p.shape[1]
    return out


@op(names="torch", node="StackBackward0")
def cartesian_prod(*tensors):
    if len(tensors) == 1:
        return tensors[0]
    return jnp.stack([g.reshape(-1) for g in jnp.meshgrid(*tensors, indexing="ij")], axis=1)


@op(names="torch", node="StackBackward0")
def combinations(input, /, r=2, with_replacement=False):
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(pick(range(input.shape[0]), r)), int).reshape(-1, r)
    return input[rows]


# ---- triangles and diagonals

@op(inplace=True)
def tril(input, /, diagonal=0):
    return _triangle("tril", jnp.tril, input, diagonal)


@op(inplace=True)
def triu(input, /, diagonal=0):
    return _triangle("triu", jnp.triu, input, diagonal)


def _triangle(name, fn, input, k):
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return fn(input, k)


@op(node="DiagonalBackward0_copy", saves="", by="input._aval.ndim == 1", variants={True: "DiagEmbedBackward0"})
def diag(input, /, diagonal=0):
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return jnp.diagonal(input, diagonal) if input.ndim == 2 else jnp.diag(input, diagonal)


@op(node="DiagEmbedBackward0")
def diag_embed(input, /, offset=0, dim1=-2, dim2=-1):
    d1, d2 = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    rows = np.arange(input.shape[-1])
    out = jnp.zeros(input.shape[:-1] + (n, n), input.dtype)
    out = out.at[..., rows + max(-offset, 0), rows + max(offset, 0)].set(input)
    return jnp.moveaxis(out, (-2, -1), (d1, d2))


@op(node="DiagEmbedBackward0")
def diagflat(input, /, offset=0):
    return jnp.diag(input.reshape(-1), offset)


# ---- rearranging

@op()
def flip(input, /, dims):
    dims = wrap_dims(dims, input.ndim) if dims != () else ()
    return jnp.flip(input, dims)


@op(node="FlipBackward0")
def fliplr(input, /):
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return jnp.flip(input, 1)


@op(node="FlipBackward0")
def flipud(input, /):
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return jnp.flip(input, 0)


@op()
def roll(input, /, shifts, dims=()):
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return jnp.roll(input, shifts, tuple(wrap_dim(d, input.ndim) for d in dims))


@op()
def rot90(input, /, k=1, dims=(0, 1)):
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return jnp.rot90(input, k, dims)


@op(names="method")
def repeat(input, /, repeats):
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return jnp.tile(input, repeats)


@op(node="RepeatBackward0")
def tile(input, /, dims):
    return jnp.tile(input, dims)


@op(node="ViewBackward0")
def repeat_interleave(input, /, repeats, dim=None, *, output_size=None):
    """`repeats` is static: an int or a tuple (the binding reads a tensor of repeats first)."""
    x, axis = (input.reshape(-1), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        return jnp.repeat(x, repeats, axis=axis)
    if len(repeats) not in (1, x.shape[axis]):
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{len(repeats)} and input.size({axis}) = {x.shape[axis]}")
    return jnp.take(x, np.repeat(np.arange(x.shape[axis]), repeats), axis=axis)
