"""Activation functions."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.pointwise import is_int, magnitude, unary
from torchish.ops.promote import cast, dtype_of, in_single, kernel, promote_float, wrap_dim
from torchish.ops.table import op


def where_jvp(slope):
    """custom_jvp of an element-wise function whose slope at kinks differs from JAX's choice: slope(x, *attrs)."""
    def wrap(fn):
        n = fn.__code__.co_argcount
        out = partial(jax.custom_jvp, nondiff_argnums=tuple(range(1, n)))(fn)

        @out.defjvp
        def jvp(*args):
            attrs, ((x,), (t,)) = args[:-2], args[-2:]
            return out(x, *attrs), t * slope(x, *attrs)
        return out
    return wrap


unary("sigmoid", in_single(jax.nn.sigmoid), names="torch method functional", aliases="special.expit",
      result=lambda y, ct, x: ct * jnp.conj(y * (1 - y)))


@op(names="torch method functional", inplace=True, result=lambda y, ct, x: jnp.where(y <= 0, 0, ct), connects="r")
def relu(input, /):
    if dtype_of(input) is dtypes.bool:
        raise RuntimeError("Boolean inputs not supported for relu")
    if dtype_of(input).is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    return _relu(input)


@where_jvp(lambda x: (x > 0).astype(x.dtype))
def _relu(x):
    return jnp.maximum(x, 0)


@op(names="functional", node="HardtanhBackward0")
def relu6(input, /):
    return _hardtanh(input, 0.0, 6.0)


@where_jvp(lambda x, lo, hi: (~((x <= lo) | (x >= hi))).astype(x.dtype))  # 0 at the bounds, 1 at nan
def _hardtanh(x, lo, hi):
    return jnp.clip(x, jnp.asarray(lo, x.dtype), jnp.asarray(hi, x.dtype))


@op(names="functional")
def hardtanh(input, /, min_val=-1.0, max_val=1.0):
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _hardtanh(input, min_val, max_val)


@op(names="functional", connects="0", inplace_node="LeakyReluBackward1")
@in_single
def leaky_relu(input, /, negative_slope=0.01):
    kernel("leaky_relu_cpu", input, "f")
    return jnp.where(input > 0, input, input * jnp.asarray(negative_slope, input.dtype))


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _elu(x, alpha, scale, rate):
    c = x.dtype.type
    down = jnp.where(x > 0, 0, x)  # keeps the unused branch finite
    return jnp.where(x > 0, x * c(scale), jnp.expm1(down * c(rate)) * c(alpha * scale))


@_elu.defjvp
def _elu_jvp(alpha, scale, rate, primals, tangents):
    # the slope at nan is that of the upper branch, the second slope at 0 is 0
    (x,), (t,) = primals, tangents
    c = x.dtype.type
    rising = jnp.exp(jnp.where(x < 0, x, 0) * c(rate)) * c(alpha * scale * rate)
    slope = jnp.where(x < 0, rising, jnp.where(x == 0, c(alpha * scale * rate), c(scale)))
    return _elu(x, alpha, scale, rate), t * slope


def _checked_elu(x, alpha, scale, rate):
    kernel("elu_cpu", x, "f")
    return _elu(x, alpha, scale, rate)


@op(names="functional", inplace_node="EluBackward1")
@in_single
def elu(input, /, alpha=1.0):
    return _checked_elu(input, alpha, 1.0, 1.0)


@op(names="torch functional", node="EluBackward0")
@in_single
def selu(input, /):
    return _checked_elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


@op(names="torch functional", node="CeluBackward0", inplace_node="CeluBackward1")
@in_single
def celu(input, /, alpha=1.0):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _checked_elu(input, alpha, 1.0, 1.0 / alpha)


@op(names="functional")
@in_single
def gelu(input, /, *, approximate="none"):
    kernel("GeluKernelImpl", input, "f")
    x, c = input, input.dtype.type
    if approximate == "none":
        return x * (c(0.5) * (1 + lax.erf(x * c(math.sqrt(0.5)))))
    if approximate == "tanh":
        return c(0.5) * x * (1 + jnp.tanh(c(math.sqrt(2 / math.pi)) * (x + c(0.044715) * x * x * x)))
    raise RuntimeError("approximate argument must be either none or tanh.")


@op(names="functional")
@in_single
def silu(input, /):
    kernel("silu_cpu", input, "fc")
    return input * jax.nn.sigmoid(input)


@op(names="functional")
@in_single
def mish(input, /):
    kernel("mish_cpu", input, "f")
    return input * jnp.tanh(jnp.logaddexp(input, 0))


@op(names="functional", name="softplus", saves="0")
@in_single
def softplus(input, /, beta=1.0, threshold=20.0):
    kernel("softplus_cpu", input, "f")
    z = input * jnp.asarray(beta, input.dtype)
    return jnp.where(z > threshold, input, jnp.log1p(jnp.exp(jnp.where(z > threshold, 0, z))) / jnp.asarray(beta, z.dtype))


@op(names="functional", aliases="log_sigmoid", node="LogSigmoidBackward0")
@in_single
def logsigmoid(input, /):
    kernel("log_sigmoid_cpu", input, "f")
    # min(0, x) - log1p(exp(-|x|)) with slope 0.5 at 0
    return jnp.where(input > 0, 0, input) - jnp.log1p(jnp.exp(jnp.where(input > 0, -input, input)))


@where_jvp(lambda x: jnp.where((x > -3) & (x < 3), x.dtype.type(1 / 6), 0))     # 0 at nan
def _hardsigmoid(x):
    return jnp.clip(x + 3, 0, 6) / 6


@op(names="functional", saves="0")
@in_single
def hardsigmoid(input, /):
    kernel("hardsigmoid_cpu", input, "f")
    return _hardsigmoid(input)


@where_jvp(lambda x: jnp.where(x <= -3, 0, jnp.where(x < 3, x / 3 + x.dtype.type(0.5), 1)))
def _hardswish(x):
    return x * jnp.clip(x + 3, 0, 6) / 6


@op(names="functional")
@in_single
def hardswish(input, /):
    kernel("hardswish_cpu", input, "f")
    return _hardswish(input)


@op(names="torch functional")
def hardshrink(input, /, lambd=0.5):
    kernel("hardshrink_cpu", input, "f")
    return jnp.where((input >= -lambd) & (input <= lambd), 0, input)


@op(names="functional")
def softshrink(input, /, lambd=0.5):
    kernel("softshrink_check", input, "f")
    most = float(jnp.finfo(input.dtype).max)
    if not 0 <= lambd <= most:
        raise RuntimeError(f"lambda must be in range [0, {most:g}] for input dtype {dtype_of(input).legacy}, but found {lambd:g}")
    # nan stays nan
    return jnp.where(input > lambd, input - lambd, jnp.where(input < -lambd, input + lambd, jnp.where(jnp.isnan(input), input, 0)))


@op(names="functional", node="SubBackward0", saves="")
def tanhshrink(input, /):
    (input,) = promote_float(input)
    return input - jnp.tanh(input)


@op(names="functional", node="DivBackward0", saves="0")
def softsign(input, /):
    (input,) = promote_float(input)
    return input / (1 + magnitude(input))


@op(names="torch functional", inplace=True, inplace_node="ThresholdBackward1")
def threshold(input, /, threshold, value):
    return jnp.where(input <= threshold, jnp.asarray(value, input.dtype), input)


@op(names="torch functional method", node="PreluKernelBackward0", saves="01")
def prelu(input, weight, /):
    if input.dtype != weight.dtype:
        raise RuntimeError("prelu: Type promoting not supported. Got " + f"{dtype_of(input).legacy} and "
                           f"{dtype_of(weight).legacy}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.size != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.size} and channel size = {channels}.")
        weight = weight.reshape((1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    elif weight.ndim:
        weight = weight.reshape((1,) * input.ndim)
    return jnp.where(input > 0, input, weight * input)


@op(names="functional")
@in_single
def glu(input, /, dim=-1):
    kernel("glu_cpu", input, "f")
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {n}")
    a, b = lax.slice_in_dim(input, 0, n // 2, axis=d), lax.slice_in_dim(input, n // 2, n, axis=d)
    return a * jax.nn.sigmoid(b)


# ---- softmax family (PyTorch saves the result)

def _soft(fn, input, dim, dtype):
    x = cast(input, dtype) if dtype is not None else input
    if is_int(x):
        raise NotImplementedError(f'"{"softmax" if fn is _softmax else "log_softmax"}_lastdim_kernel_impl" not implemented '
                                  f"for '{dtype_of(x).legacy}'")
    fn = in_single(fn)
    return fn(x, dim=wrap_dim(dim, x.ndim)) if x.ndim else fn(x.reshape(1), dim=0).reshape(())


def _shifted(x, dim):
    return x - lax.stop_gradient(jnp.max(x, axis=dim, keepdims=True, initial=-jnp.inf))


def _softmax(x, dim):
    e = jnp.exp(_shifted(x, dim))
    return e / jnp.sum(e, axis=dim, keepdims=True)


def _log_softmax(x, dim):
    s = _shifted(x, dim)
    return s - jnp.log(jnp.sum(jnp.exp(s), axis=dim, keepdims=True))


def _softmax_back(y, ct, x, dim=None, **_):
    if not y.ndim:
        return jnp.zeros_like(x)
    g = y * ct
    return cast(g - y * jnp.sum(g, axis=dim, keepdims=True), dtype_of(x))


def _log_softmax_back(y, ct, x, dim=None, **_):
    if not y.ndim:
        return jnp.zeros_like(x)
    return cast(ct - jnp.exp(y) * jnp.sum(ct, axis=dim, keepdims=True), dtype_of(x))


@op(names="torch method", aliases="special.softmax", result=_softmax_back)
def softmax(input, /, dim, dtype=None):
    return _soft(_softmax, input, dim, dtype)


@op(names="torch method", aliases="special.log_softmax", result=_log_softmax_back)
def log_softmax(input, /, dim, dtype=None):
    return _soft(_log_softmax, input, dim, dtype)


@op(names="functional", name="scaled_dot_product_attention", node="ScaledDotProductFlashAttentionForCpuBackward0")
def scaled_dot_product_attention(query, key, value, attn_mask=None, /, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """Attention without dropout: the caller draws the dropout mask itself."""
    if dropout_p:
        raise NotImplementedError("scaled_dot_product_attention with dropout: multiply the weights by a mask instead")
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = jnp.repeat(key, times, axis=-3), jnp.repeat(value, times, axis=-3)
    s = query @ jnp.swapaxes(key, -1, -2) * jnp.asarray(scale or 1 / math.sqrt(query.shape[-1]), query.dtype)
    if is_causal:
        s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
    if attn_mask is not None:
        s = jnp.where(attn_mask, s, -jnp.inf) if attn_mask.dtype == bool else s + attn_mask
    top = lax.stop_gradient(jnp.max(s, axis=-1, keepdims=True, initial=-jnp.inf))
    e = jnp.exp(s - jnp.where(jnp.isfinite(top), top, 0))
    total = jnp.sum(e, axis=-1, keepdims=True)
    return (e / jnp.where(total == 0, 1, total)) @ value  # a wholly masked row gives zeros
