"""View ops: what they read (`fn`), what strides they give (`geometry`) and how a write goes back (`put`).

Geometry maps (sizes, strides, offset) to the view's. A row without `put` uses the index form: the view of the element
numbers says where each written element lands.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from torchish.ops.promote import wrap_dim
from torchish.ops.table import TABLE, Derived, op


def view_op(geometry, put=None, node=None, **facts):
    return op(view=True, names="", geometry=geometry, put=put, node=node, **facts)


class PutOp(Derived):
    """The write through one view op: operands (base, new, *numbers); elements are replaced, never added."""

    def __init__(self, row):
        self.row, self.name, self.node, self.attrs = row, row.name + ".put", "CopySlices", row.attrs

    def call(self, args, attrs):
        base, new, *numbers = args
        if not self.row.extra.get("retyped"):      # the view has its base's dtype
            new = jax.lax.convert_element_type(new, base.dtype)
        kw = dict(zip(self.attrs, attrs))
        put = self.row.extra["put"]
        if put is not None:
            return put(base, new, *numbers, **kw)
        index = self.row.fn(jnp.arange(base.size).reshape(base.shape), *numbers, **kw)
        return base.reshape(-1).at[index.reshape(-1)].set(new.reshape(-1)).reshape(base.shape)


_puts = {}


def put_of(row):
    p = _puts.get(row)
    return p if p is not None else _puts.setdefault(row, PutOp(row))


# --- basic indexing --------------------------------------------------------------------------------------------------

def _select_geometry(sizes, strides, offset, index, dim):
    return (sizes[:dim] + sizes[dim + 1:], strides[:dim] + strides[dim + 1:], offset + index * strides[dim])


def _put_select(base, new, index, dim):
    return jax.lax.dynamic_update_index_in_dim(base, jnp.expand_dims(new, dim), index, dim)


@view_op(_select_geometry, _put_select, node="SelectBackward0")
def select(input, index, /, dim):
    if isinstance(index, int):
        return jax.lax.index_in_dim(input, index, dim, keepdims=False)
    return jax.lax.dynamic_index_in_dim(input, index, dim, keepdims=False)


def _slice_geometry(sizes, strides, offset, start, dim, size, step):
    return (sizes[:dim] + (size,) + sizes[dim + 1:], strides[:dim] + (strides[dim] * step,) + strides[dim + 1:],
            offset + (start * strides[dim] if size else 0))


def _put_slice(base, new, start, dim, size, step):
    if size == 0:
        return base
    if step == 1:
        return jax.lax.dynamic_update_slice_in_dim(base, new, start, dim)
    where = (slice(None),) * dim + (start + step * jnp.arange(size),)
    return base.at[where].set(new)


@view_op(_slice_geometry, _put_slice, node="SliceBackward0")
def slice_(input, start, /, dim, size, step):
    if isinstance(start, int):
        return jax.lax.slice_in_dim(input, start, start + max(size - 1, 0) * step + (size > 0), step, dim)
    if step == 1:
        return jax.lax.dynamic_slice_in_dim(input, start, size, dim)
    return jnp.take(input, start + step * jnp.arange(size), axis=dim)


# --- shape -----------------------------------------------------------------------------------------------------------

def contiguous_strides(sizes):
    strides, n = [], 1
    for s in reversed(sizes):
        strides.append(n)
        n *= max(s, 1)
    return tuple(reversed(strides))


def view_strides(sizes, strides, new):
    """Strides that show the same memory as `new`, or None when PyTorch's view() must refuse."""
    if math.prod(sizes) == 0:
        return strides if tuple(sizes) == tuple(new) else contiguous_strides(new)
    out = [0] * len(new)
    view_d = len(new) - 1
    if not sizes:
        return (1,) * len(new)
    base, count, view_count = strides[-1], 1, 1
    for d in range(len(sizes) - 1, -1, -1):
        count *= sizes[d]
        if d == 0 or (sizes[d - 1] != 1 and strides[d - 1] != count * base):
            while view_d >= 0 and (view_count < count or new[view_d] == 1):
                out[view_d] = view_count * base
                view_count *= new[view_d]
                view_d -= 1
            if view_count != count:
                return None
            if d > 0:
                base, count, view_count = strides[d - 1], 1, 1
    return None if view_d != -1 else tuple(out)


def _view_geometry(sizes, strides, offset, size):
    s = view_strides(sizes, strides, size)
    if s is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return tuple(size), s, offset


def _put_reshape(base, new, **_):
    return new.reshape(base.shape)


@view_op(_view_geometry, _put_reshape)
def view(input, /, size):
    return input.reshape(size)


@view_op(_view_geometry, _put_reshape, node="ReshapeAliasBackward0")
def reshape_alias(input, /, size):
    return input.reshape(size)


def _same(sizes, strides, offset):
    return sizes, strides, offset


@view_op(_same, lambda base, new: new)
def alias(input, /):
    return jax.lax.reshape(input, input.shape)


def _permute_geometry(sizes, strides, offset, dims):
    return tuple(sizes[d] for d in dims), tuple(strides[d] for d in dims), offset


def _put_permute(base, new, dims):
    return jnp.transpose(new, np.argsort(dims))


@view_op(_permute_geometry, _put_permute)
def permute(input, /, dims):
    return jnp.transpose(input, dims)


def _swap(n, a, b):
    dims = list(range(n))
    dims[a], dims[b] = dims[b], dims[a]
    return tuple(dims)


@view_op(lambda sizes, strides, offset, dim0, dim1: _permute_geometry(sizes, strides, offset, _swap(len(sizes), dim0, dim1)),
         lambda base, new, dim0, dim1: jnp.swapaxes(new, dim0, dim1))
def transpose(input, /, dim0, dim1):
    return jnp.swapaxes(input, dim0, dim1)


@view_op(lambda sizes, strides, offset: (sizes[::-1], strides[::-1], offset), lambda base, new: new.T, node="TBackward0")
def t(input, /):
    return input.T


def _squeeze_geometry(sizes, strides, offset, dims):
    keep = [i for i in range(len(sizes)) if i not in dims]
    return tuple(sizes[i] for i in keep), tuple(strides[i] for i in keep), offset


@view_op(_squeeze_geometry, _put_reshape, node="SqueezeBackward1")
def squeeze_dims(input, /, dims):
    return jnp.squeeze(input, dims)


@view_op(_squeeze_geometry, _put_reshape, node="SqueezeBackward0")
def squeeze_all(input, /, dims):
    return jnp.squeeze(input, dims)


@view_op(_squeeze_geometry, _put_reshape, node="SqueezeBackward2")
def squeeze_many(input, /, dims):
    return jnp.squeeze(input, dims)


def _unsqueeze_geometry(sizes, strides, offset, dim):
    s = sizes[dim] * strides[dim] if dim < len(sizes) else 1
    return sizes[:dim] + (1,) + sizes[dim:], strides[:dim] + (s,) + strides[dim:], offset


@view_op(_unsqueeze_geometry, _put_reshape)
def unsqueeze(input, /, dim):
    return jnp.expand_dims(input, dim)


def _expand_geometry(sizes, strides, offset, size):
    pad = len(size) - len(sizes)
    out = [0 if have == 1 != want else s for have, want, s in zip(sizes, size[pad:], strides)]
    for i in reversed(range(pad)):      # a new dimension of 1 strides over what follows it
        out.insert(0, size[i + 1] * out[0] if size[i] == 1 and sizes else 0)
    return tuple(size), tuple(out), offset


def _put_expand(base, new, size):
    """A write that reached an expanded tensor shows in all rows: the changed copy of each element wins."""
    pad = len(size) - base.ndim
    old = jnp.broadcast_to(base, size)
    for i in range(new.ndim):
        j = i - pad
        if j < 0 or (base.shape[j] == 1 and size[i] != 1):
            changed = (new != old) & ~((new != new) & (old != old))
            pick = jnp.argmax(changed, axis=i, keepdims=True)
            new, old = jnp.take_along_axis(new, pick, i), jnp.take_along_axis(old, pick, i)
    return new.reshape(base.shape)


@view_op(_expand_geometry, _put_expand)
def expand(input, /, size):
    return jnp.broadcast_to(input, size)


def _diagonal_geometry(sizes, strides, offset, offset_, dim1, dim2):
    n = max(min(sizes[dim1], sizes[dim2] - offset_) if offset_ >= 0 else min(sizes[dim1] + offset_, sizes[dim2]), 0)
    keep = [i for i in range(len(sizes)) if i not in (dim1, dim2)]
    shift = (offset_ * strides[dim2] if offset_ >= 0 else -offset_ * strides[dim1]) if n else 0
    return (tuple(sizes[i] for i in keep) + (n,), tuple(strides[i] for i in keep) + (strides[dim1] + strides[dim2],),
            offset + shift)


@view_op(_diagonal_geometry)
def diagonal(input, /, offset_, dim1, dim2):
    return jnp.diagonal(input, offset_, dim1, dim2)


def _unfold_geometry(sizes, strides, offset, dim, size, step):
    n = (sizes[dim] - size) // step + 1
    return (sizes[:dim] + (n,) + sizes[dim + 1:] + (size,),
            strides[:dim] + (strides[dim] * step,) + strides[dim + 1:] + (strides[dim],), offset)


@view_op(_unfold_geometry, node="UnfoldBackward0")
def unfold_view(input, /, dim, size, step):
    n = (input.shape[dim] - size) // step + 1
    index = step * np.arange(n)[:, None] + np.arange(size)[None, :]
    return jnp.moveaxis(jnp.take(input, index, axis=dim), dim + 1, -1)


@view_op(lambda sizes, strides, offset, size, stride, start: (tuple(size), tuple(stride), start or 0))
def as_strided(input, /, size, stride, start):
    index = np.full((), start or 0)
    for n, s in zip(size, stride):
        index = index[..., None] + s * np.arange(n)
    return input.reshape(-1)[index.reshape(size)]


@view_op(_same, lambda base, new: jnp.conj(new), strided=False)
def conj(input, /):
    """A view with the conjugate bit: `is_conj` counts these rows."""
    return jnp.conj(input)


@view_op(_same, lambda base, new: -new, strided=False)
def neg_view(input, /):
    """A view with the negative bit, as `imag` of a conjugate has it."""
    return -input


@view_op(lambda sizes, strides, offset: (sizes + (2,), tuple(2 * s for s in strides) + (1,), 2 * offset),
         lambda base, new: jax.lax.complex(new[..., 0], new[..., 1]), retyped=True, strided=False)
def view_as_real(input, /):
    return jnp.stack([input.real, input.imag], -1)


@view_op(lambda sizes, strides, offset: (sizes[:-1], tuple(s // 2 for s in strides[:-1]), offset // 2),
         lambda base, new: jnp.stack([new.real, new.imag], -1), retyped=True, strided=False)
def view_as_complex(input, /):
    return jax.lax.complex(input[..., 0], input[..., 1])


# --- the same bytes as another dtype ---------------------------------------------------------------------------------

def _bytes(x):
    """The memory of an array as uint8, with the elements' bytes in a dimension of their own."""
    if x.dtype.kind == "c":
        return _bytes(jnp.stack([x.real, x.imag], -1)).reshape(*x.shape, x.dtype.itemsize)
    if x.dtype == bool:
        return x.astype("uint8")[..., None]
    return jax.lax.bitcast_convert_type(x, "uint8").reshape(*x.shape, x.dtype.itemsize)


def _from_bytes(b, d):
    """Undoes `_bytes`."""
    if d.kind == "c":
        return jax.lax.complex(*(_from_bytes(half, np.dtype(f"f{d.itemsize // 2}")) for half in jnp.split(b, 2, -1)))
    if d.kind == "b":
        return b[..., 0] != 0
    return jax.lax.bitcast_convert_type(b if d.itemsize > 1 else b[..., 0], d)


def _bits_geometry(sizes, strides, offset, dtype, item):
    n = dtype.itemsize
    if n == item:
        return sizes, strides, offset
    return (sizes[:-1] + (sizes[-1] * item // n,), tuple(s * item // n for s in strides[:-1]) + (1,), offset * item // n)


@view_op(_bits_geometry, lambda base, new, dtype, item: _reinterpreted(new, np.dtype(base.dtype)), retyped=True)
def view_dtype(input, /, dtype, item):
    """`item` is the width of the input's elements, which the geometry needs."""
    return _reinterpreted(input, dtype.np)


def _reinterpreted(x, d):
    b = _bytes(x)
    return _from_bytes(b if x.dtype.itemsize == d.itemsize else b.reshape(*b.shape[:-2], b.shape[-2] * b.shape[-1] // d.itemsize, d.itemsize), d)


__all__ = ["TABLE", "contiguous_strides", "put_of", "view_strides", "wrap_dim"]
