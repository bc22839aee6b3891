"""Normalisations, embedding."""

import functools
import math

import jax.numpy as jnp
from jax import lax

from torchish.ops.promote import HALVES, dtype_of, in_single
from torchish.ops.table import op


def _centred(x, axes, eps):
    """(x - mean) / sqrt(var + eps) over axes, with mean and biased variance."""
    mean = jnp.mean(x, axis=axes, keepdims=True)
    gap = x - mean
    var = jnp.mean(gap * gap, axis=axes, keepdims=True)
    return gap * lax.rsqrt(var + jnp.asarray(eps, x.dtype)), mean, var


def _affine(y, weight, bias):
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def check_dtypes(input, *parameters):
    """PyTorch's rule for the dtypes of a normalisation: all alike, or float32 parameters to a half input (then True)."""
    own, *given = (dtype_of(t) for t in (input, *parameters) if t is not None)
    if not given or given[0] is own:
        other = next((d for d in given if d is not own), None)
        if other is not None:
            raise RuntimeError(f"expected scalar type {own.legacy} but found {other.legacy}")
        return False
    if any(d.name != "float32" for d in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if own.name not in HALVES:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return True


def mixed(fn):
    """A normalisation under `check_dtypes`, computed in single precision where the input is half; the first result is the input's dtype."""
    alike = in_single(fn)

    @functools.wraps(fn)
    def run(input, *parameters, **attrs):
        if not check_dtypes(input, *parameters):
            return alike(input, *parameters, **attrs)
        out = fn(input.astype("float32"), *parameters, **attrs)
        first, *rest = out if isinstance(out, tuple) else (out,)
        return (first.astype(input.dtype), *rest) if rest else first.astype(input.dtype)
    return run


def _check_normalized(input, shape, start="*, ", **parameters):
    """Refuse a `normalized_shape` that is not the end of the input's shape, and parameters of another shape."""
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                           f"normalized_shape = {list(shape)}")
    for name, t in parameters.items():
        if t is not None and t.shape != shape:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and "
                               f"normalized_shape = {list(shape)}")
    if input.shape[-len(shape):] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [{start}{', '.join(map(str, shape))}], but got "
                           f"input of size{list(input.shape)}")


@op(names="functional", order="input, normalized_shape, weight=None, bias=None, eps=1e-05", node="NativeLayerNormBackward0",
    saves="012")
@mixed
def layer_norm(input, weight=None, bias=None, /, normalized_shape=(), eps=1e-05):
    _check_normalized(input, tuple(normalized_shape), weight=weight, bias=bias)
    n = len(normalized_shape)
    axes = tuple(range(input.ndim - n, input.ndim))
    return _affine(_centred(input, axes, eps)[0], weight, bias)


@op(names="torch functional", order="input, normalized_shape, weight=None, eps=None", node="MulBackward0")
@in_single
def rms_norm(input, weight=None, /, normalized_shape=(), eps=None):
    _check_normalized(input, tuple(normalized_shape), "*", weight=weight)
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    eps = float(jnp.finfo(input.dtype).eps) if eps is None else eps
    return _affine(input * lax.rsqrt(jnp.mean(input * input, axis=axes, keepdims=True) + jnp.asarray(eps, input.dtype)),
                   weight, None).astype(input.dtype)


def _per_channel(p, ndim):
    return None if p is None else p.reshape((1, -1) + (1,) * (ndim - 2))


@op(names="functional", order="input, num_groups, weight=None, bias=None, eps=1e-05", node="NativeGroupNormBackward0",
    saves="01")
@mixed
def group_norm(input, weight=None, bias=None, /, num_groups=1, eps=1e-05):
    n, c = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    for name, p in ("weight", weight), ("bias", bias):
        if p is not None and p.shape != (c,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                               f"{list(p.shape)} and input of shape {list(input.shape)}")
    if c % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(input.shape)} and num_groups={num_groups}")
    grouped = input.reshape(n, num_groups, c // num_groups * math.prod(input.shape[2:]))
    y = _centred(grouped, 2, eps)[0].reshape(input.shape)
    return _affine(y, _per_channel(weight, input.ndim), _per_channel(bias, input.ndim))


@op(name="native_batch_norm_train", names="", node="NativeBatchNormBackward0", saves="0134")
@mixed
def native_batch_norm_train(input, weight=None, bias=None, running_mean=None, running_var=None, /, eps=1e-05):
    """(normalised by the batch's own statistics, mean, unbiased variance), the latter two for the running averages, which PyTorch
    saves though nothing here depends on them."""
    axes = (0,) + tuple(range(2, input.ndim))
    y, mean, var = _centred(input, axes, eps)
    n = math.prod(input.shape[a] for a in axes)
    y = _affine(y, _per_channel(weight, input.ndim), _per_channel(bias, input.ndim))
    return y, lax.stop_gradient(mean.reshape(-1)), lax.stop_gradient(var.reshape(-1) * (n / max(n - 1, 1)))


@op(name="native_batch_norm_eval", names="", node="NativeBatchNormBackward0", saves="0134")
@mixed
def native_batch_norm_eval(input, weight, bias, running_mean, running_var, /, eps=1e-05):
    mean, var = (_per_channel(p, input.ndim) for p in (running_mean, running_var))
    y = (input - mean) * lax.rsqrt(var + jnp.asarray(eps, var.dtype))
    return _affine(y, _per_channel(weight, input.ndim), _per_channel(bias, input.ndim))


@op(name="native_instance_norm", names="", node="ViewBackward0")
@mixed
def native_instance_norm(input, weight=None, bias=None, /, eps=1e-05):
    y = _centred(input, tuple(range(2, input.ndim)), eps)[0]
    return _affine(y, _per_channel(weight, input.ndim), _per_channel(bias, input.ndim))


@op(names="functional", saves="0")
def embedding(input, weight, /, padding_idx=None):
    if dtype_of(input).name not in ("int64", "int32"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
                           f"but got torch.{dtype_of(input).legacy}Tensor instead (while checking arguments for embedding)")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    y = jnp.take(weight, input, axis=0)
    if padding_idx is None:
        return y
    pad = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
    return jnp.where((input == pad)[..., None], lax.stop_gradient(y), y)
