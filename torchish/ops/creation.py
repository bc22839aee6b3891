"""Tensors made from numbers and sizes alone."""

import math

import jax.numpy as jnp
import numpy as np

from torchish.ops import dtypes
from torchish.ops.promote import cast, dtype_of
from torchish.ops.table import op


def _default(dtype):
    return dtypes.get_default() if dtype is None else dtype


def _number_dtype(dtype, *numbers):
    """int64 when all numbers are integers, else the default float."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if all(dtype_of(n).category < 2 for n in numbers) else dtypes.get_default()


@op(names="torch", differentiable=False)
def arange(*, start=0, end, step=1, dtype=None):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (step > 0) != (end >= start) and start != end:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    d = _number_dtype(dtype, start, end, step)
    if d.category < 2:
        # PyTorch counts in integers
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError("step must be nonzero")
        return cast(start + step * jnp.arange(max(-((start - end) // step), 0), dtype="int64"), d)
    n = math.ceil((end - start) / step)
    # PyTorch counts in double precision
    return (start + step * jnp.arange(n, dtype="float64")).astype(d.np)


@op(names="torch", differentiable=False)
def linspace(*, start, end, steps, dtype=None):
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    d = _default(dtype)
    if steps == 1:
        return cast(jnp.full((1,), start), d)
    i = np.arange(steps)
    # both halves count from their own end, in the result's precision, as PyTorch
    work = np.float32 if d.np.itemsize < 4 and d.category >= 2 else np.float64 if d.category < 2 else d.np.type
    h = (work(end) - work(start)) / work(max(steps - 1, 1))
    y = np.where(i < steps // 2, work(start) + h * i.astype(work), work(end) - h * (steps - 1 - i).astype(work))
    return cast(jnp.asarray(np.trunc(y.real) if d.category < 2 else y), d)


@op(names="torch", differentiable=False)
def logspace(*, start, end, steps, base=10.0, dtype=None):
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    d = _default(dtype)
    e = linspace(start=start, end=end, steps=steps, dtype=dtypes.float64 if d.category < 3 else d)
    return cast(jnp.power(jnp.asarray(base, e.dtype), e), d)


@op(names="torch", differentiable=False)
def eye(*, n, m=None, dtype=None):
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"{'n' if n < 0 else 'm'} must be greater or equal to 0, got {n if n < 0 else m}")
    return jnp.eye(n, m, dtype=_default(dtype).np)


@op(names="torch", differentiable=False)
def full(fill_value, /, *, size, dtype=None):
    d = dtype if dtype is not None else dtype_of(fill_value)
    return jnp.broadcast_to(cast(fill_value, d), size)


@op(names="torch", differentiable=False)
def tril_indices(*, row, col, offset=0, dtype=None):
    return cast(jnp.asarray(np.stack(np.tril_indices(row, offset, col))), dtype or dtypes.int64)


@op(names="torch", differentiable=False)
def triu_indices(*, row, col, offset=0, dtype=None):
    return cast(jnp.asarray(np.stack(np.triu_indices(row, offset, col))), dtype or dtypes.int64)


# ---- windows

def _window(fn, n, periodic, dtype):
    if n == 1:
        return jnp.ones(1, _default(dtype).np)
    last = n if periodic else n - 1
    return cast(jnp.asarray(fn(np.arange(n) * (2 * math.pi / last), last)), _default(dtype))


@op(names="torch", differentiable=False)
def hann_window(*, window_length, periodic=True, dtype=None):
    return _window(lambda a, _: 0.5 - 0.5 * np.cos(a), window_length, periodic, dtype)


@op(names="torch", differentiable=False)
def hamming_window(*, window_length, periodic=True, alpha=0.54, beta=0.46, dtype=None):
    return _window(lambda a, _: alpha - beta * np.cos(a), window_length, periodic, dtype)


@op(names="torch", differentiable=False)
def blackman_window(*, window_length, periodic=True, dtype=None):
    return _window(lambda a, _: 0.42 - 0.5 * np.cos(a) + 0.08 * np.cos(2 * a), window_length, periodic, dtype)


@op(names="torch", differentiable=False)
def bartlett_window(*, window_length, periodic=True, dtype=None):
    return _window(lambda a, last: 1 - np.abs(a / math.pi - 1), window_length, periodic, dtype)


@op(names="torch", differentiable=False)
def kaiser_window(*, window_length, periodic=True, beta=12.0, dtype=None):
    def window(a, last):
        t = a / math.pi - 1
        return np.i0(beta * np.sqrt(np.maximum(1 - t * t, 0))) / np.i0(beta)
    return _window(window, window_length, periodic, dtype)
