"""Sorting and searching."""

import jax.numpy as jnp

from torchish.ops.promote import cast, dtype_of, kernel, result_type
from torchish.ops.reduce import one_dim, pick, scatter_back
from torchish.ops.table import op


def _order(input, dim, descending):
    """Stable order along dim; nan counts as the largest, equal elements keep their order both ways."""
    if dtype_of(input).is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    x, d = one_dim(input, dim)
    if not descending:
        return jnp.argsort(x, axis=d, stable=True)
    back = jnp.argsort(jnp.flip(x, d), axis=d, stable=True)
    return x.shape[d] - 1 - jnp.flip(back, d)


def _ordered_back(y, ct, x, dim):
    return scatter_back(ct[0], x, y[1], dim, True)


@op(multi="values indices", saves="i", positions="input._aval.size", by="stable", variants={True: "SortBackward1"},
    result=lambda y, ct, x, dim=-1, **_: _ordered_back(y, ct, x, dim))
def sort(input, /, dim=-1, descending=False, stable=False):
    return pick(input, _order(input, dim, descending), dim, True)


@op(differentiable=False, positions="input._aval.size")
def argsort(input, /, dim=-1, descending=False, stable=False):
    return _order(input, dim, descending).astype("int64").reshape(input.shape)


@op(node="SortBackward0", saves="")
def msort(input, /):
    return jnp.take_along_axis(input, _order(input, 0, False), 0) if input.ndim else input


@op(multi="values indices", saves="i", positions="input._aval.size", result=lambda y, ct, x, k, dim=-1, **_: _ordered_back(y, ct, x, dim))
def topk(input, /, k, dim=-1, largest=True, sorted=True):
    if dtype_of(input).category in (0, 3):
        raise RuntimeError(" topk does not support complex dtypes on CPU" if dtype_of(input).is_complex else
                           "topk does not support bool dtypes on CPU")
    x, d = one_dim(input, dim)
    if not 0 <= k <= x.shape[d]:
        raise RuntimeError("selected index k out of range")
    order = _order(input, dim, largest)
    return pick(input, jnp.take(order, jnp.arange(k), axis=d), dim, True)


@op(multi="values indices", saves="i", positions="input._aval.size",
    result=lambda y, ct, x, k, dim=-1, keepdim=False: scatter_back(ct[0], x, y[1], dim, keepdim))
def kthvalue(input, /, k, dim=-1, keepdim=False):
    kernel("kthvalue_cpu", input, "if")
    x, d = one_dim(input, dim)
    if not 1 <= k <= x.shape[d]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    return pick(input, jnp.take(_order(input, dim, False), jnp.arange(k - 1, k), axis=d), dim, keepdim)


def _search(sorted_sequence, values, right, out_int32):
    d = result_type(sorted_sequence, values)
    s, v = cast(sorted_sequence, d), cast(values, d)
    side = "right" if right else "left"
    if s.ndim == 1:
        y = jnp.searchsorted(s, v, side=side)
    else:
        if s.shape[:-1] != v.shape[:-1]:
            raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                               "boundaries tensor and input value tensor must match, but we got boundaries tensor "
                               f"{list(s.shape)} and input value tensor {list(v.shape)}")
        y = jnp.vectorize(lambda a, b: jnp.searchsorted(a, b, side=side), signature="(n),(m)->(m)")(s, v)
    return y.astype("int32" if out_int32 else "int64")


@op(names="torch", differentiable=False, numbers="1", order="sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None")
def searchsorted(sorted_sequence, input, sorter=None, /, *, out_int32=False, right=False, side=None):
    if side is not None:
        if side == "left" and right:
            raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right "
                               "was True")
        right = side == "right"
    s = sorted_sequence if sorter is None else jnp.take_along_axis(sorted_sequence, sorter, -1)
    return _search(s, input, right, out_int32)


@op(names="torch", differentiable=False, numbers="0")
def bucketize(input, boundaries, /, *, out_int32=False, right=False):
    if boundaries.ndim != 1:
        raise RuntimeError("bucketize(): boundaries tensor must be 1 dimension, but got dim(" + f"{boundaries.ndim})")
    return _search(boundaries, input, right, out_int32)
