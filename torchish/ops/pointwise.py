"""Element-wise operations: arithmetic, comparison, logic, bits and elementary functions."""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

from torchish.ops import dtypes
from torchish.ops.promote import CTYPES, cast, dtype_of, is_number, kernel, promote, promote_float, result_type
from torchish.ops.table import op


def is_bool(x):
    return dtype_of(x) is dtypes.bool


def is_int(x):
    return dtype_of(x).category <= 1


def like_result(*xs):
    """The operands promoted and broadcast against each other."""
    return jnp.broadcast_arrays(*promote(*xs))


def unary(name, fn, real=False, **facts):
    """A row for a function of one floating-point (or, unless `real`, complex) operand; integers become the default float."""
    def row(input, /):
        (x,) = promote_float(input)
        if real:
            kernel(f"{name}_vml_cpu", x, "f")
        return fn(x)
    op(row, name=name, inplace=facts.pop("inplace", True), **facts)


# ---- arithmetic

def _scaled(other, alpha, input):
    if isinstance(alpha, bool) and not (is_bool(input) and is_bool(other)):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    d = result_type(input, other)
    if d.category < 2 and dtype_of(alpha).category >= 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, (int, float)) and alpha == 1:
        return other
    if d.category < 3 and dtype_of(alpha).category == 3:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return cast(other, d) * cast(alpha, d)


@op(inplace=True, numbers="01")
def add(input, other, alpha=1, /):
    x, y = promote(input, _scaled(other, alpha, input))
    return x + y


def refuse_bool_sub(x, y):
    if is_bool(x) and is_bool(y):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                           "`logical_xor()` operator instead.")
    if is_bool(x) or is_bool(y):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                           "invert a mask, use the `~` or `logical_not()` operator instead.")


@op(inplace=True, aliases="subtract", numbers="01")
def sub(input, other, alpha=1, /):
    refuse_bool_sub(input, other)
    x, y = promote(input, _scaled(other, alpha, input))
    return x - y


@op(names="torch", node="RsubBackward1", numbers="1", by="isinstance(other, Tensor)", variants={True: "RsubBackward0"})
def rsub(input, other, alpha=1, /):
    refuse_bool_sub(input, other)
    x, y = promote(_scaled(input, alpha, other), other)
    return y - x


@op(inplace=True, aliases="multiply", numbers="01")
def mul(input, other, /):
    x, y = promote(input, other)
    return x * y


def _floor_float(x, y):
    # JAX gives nan for x // 0, PyTorch the quotient's infinity
    return jnp.where(y == 0, x / y, jnp.floor_divide(x, jnp.where(y == 0, 1, y)))


def floor_quotient(x, y):
    return jnp.floor_divide(x, y) if is_int(x) else _floor_float(x, y)


@op(inplace=True, aliases="divide true_divide", numbers="01", by="rounding_mode is not None", variants={True: ("DivBackward2", "0:11")})
def div(input, other, /, *, rounding_mode=None):
    if rounding_mode is None:
        x, y = promote_float(input, other)
        return x / y
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")
    x, y = promote(input, other)
    kernel(f"div_{rounding_mode}_cpu", x, "if")
    if rounding_mode == "floor":
        return lax.stop_gradient(floor_quotient(x, y))
    return lax.div(*jnp.broadcast_arrays(x, y)) if is_int(x) else jnp.trunc(x / y)


@op(inplace=True, underivable="aten::floor_divide", numbers="01")
def floor_divide(input, other, /):
    x, y = promote(input, other)
    kernel("div_floor_cpu", x, "if")
    return lax.stop_gradient(floor_quotient(x, y))


@op(inplace=True, numbers="01", by="isinstance(input, Tensor), isinstance(other, Tensor)",
    variants={(True, True): "RemainderBackward1", (False, True): None})
def remainder(input, other, /):
    x, y = promote(input, other)
    kernel("remainder_cpu", x, "if")
    return _remainder(*jnp.broadcast_arrays(x, y))


@op(inplace=True, numbers="1", by="isinstance(other, Tensor)", variants={True: "FmodBackward1"})
def fmod(input, other, /):
    x, y = promote(input, other)
    kernel("fmod_cpu", x, "if")
    return lax.rem(*jnp.broadcast_arrays(x, y))


@jax.custom_jvp
def _remainder(x, y):
    return jnp.remainder(x, y)


@_remainder.defjvp
def _remainder_jvp(primals, tangents):
    # PyTorch: x - floor(x / y) * y, slope 1 and -floor(x / y)
    (x, y), (tx, ty) = primals, tangents
    return _remainder(x, y), tx - ty * lax.stop_gradient(floor_quotient(x, y))


@jax.custom_jvp
def _power(x, e):
    return jnp.power(x, e)


def _power_jvp(primals, tangents):
    # PyTorch: the slope in x is 0 where e == 0, the slope in e is 0 where x == 0 <= e. What is constant has no slope: that in e
    # is NaN where x < 0.
    constant = [isinstance(t, SymbolicZero) for t in tangents]
    x, e, tx, te = jnp.broadcast_arrays(*primals, *[jnp.zeros(t.shape, t.dtype) if c else t for t, c in zip(tangents, constant)])
    y, along = _power(x, e), []
    if not constant[0]:
        flat = e == 0
        along.append(tx * jnp.where(flat, 0, e * _power(x, jnp.where(flat, 1, e - 1))))
    if not constant[1]:
        dead = (x == 0) & (e.real >= 0)
        along.append(te * jnp.where(dead, 0, y * jnp.log(jnp.where(dead, 1, x))))
    return y, sum(along[1:], along[0]) if along else jnp.zeros_like(y)


_power.defjvp(_power_jvp, symbolic_zeros=True)


_SMALL_POWERS = range(-4, 17)


def _pow(input, exponent):
    x, e = promote(input, exponent)
    kernel("pow", x, "ifc")
    if is_int(x):
        if isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return jnp.power(*jnp.broadcast_arrays(x, e))
    if isinstance(exponent, (int, float)):
        if exponent in _SMALL_POWERS:
            return lax.integer_pow(x, int(exponent))
        if exponent == 0.5:
            return jnp.sqrt(x)
        if exponent == -0.5:
            return lax.rsqrt(x)
    return _power(*jnp.broadcast_arrays(x, e))


@op(inplace=True, numbers="01", by="isinstance(exponent, Tensor)", variants={True: "PowBackward1"})
def pow(input, exponent, /):
    if is_bool(input) and is_bool(exponent):
        return input | ~cast(exponent, dtypes.bool)
    return _pow(input, exponent)


@op(name="pow_tensor", names="", node="PowBackward1", saves="01r")
def pow_tensor(input, exponent, /):
    return _pow(input, exponent)


op(pow_tensor, name="pow_of_number", names="", node="PowBackward2", saves="01r")


@op(inplace=True, node="PowBackward1", numbers="01", by="isinstance(exponent, Tensor)", variants={False: "PowBackward0"}, saves="01r")
def float_power(input, exponent, /):
    d = dtypes.complex128 if result_type(input, exponent).is_complex else dtypes.float64
    widen = [cast(x, d) if not is_number(x) else x for x in (input, exponent)]
    return _pow(*widen)


@op(inplace=True, aliases="negative")
def neg(input, /):
    if is_bool(input):
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert "
                           "a mask, use the `~` or `logical_not()` operator instead.")
    return -cast(input, dtype_of(input))


@op()
def positive(input, /):
    if is_bool(input):
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@jax.custom_jvp
def magnitude(x):
    """|x| with slope 0 at 0 (JAX: 1)."""
    return jnp.abs(x)


@magnitude.defjvp
def _magnitude_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    slope = jnp.where(jnp.isnan(x), 0, jnp.sign(x))     # PyTorch's sign: 0 at nan
    return magnitude(x), (jnp.conj(slope) * t).real


@op(inplace=True, aliases="absolute", node="AbsBackward0", connects="0")
def abs(input, /):
    kernel("abs_cpu", input, "ifc")
    return magnitude(input)


@op(inplace=True, node="PowBackward0")
def square(input, /):
    return _pow(input, 2)


@op(inplace=True)
def sign(input, /):
    if dtype_of(input).is_complex:
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
                                  "instead.")
    if is_bool(input):
        return input
    # nan has sign 0 in PyTorch, and so has -0
    return jnp.sign(input) if is_int(input) else jnp.where(jnp.isnan(input) | (input == 0), 0, jnp.sign(input))


@op(inplace=True, saves="0r")
def sgn(input, /):
    if dtype_of(input).is_complex:
        size = jnp.abs(jnp.where(input == 0, 1, input))
        return jnp.where(input == 0, 0, input / size)
    return sign(input)


@op(differentiable=False)
def signbit(input, /):
    if dtype_of(input).is_complex:
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return jnp.signbit(input) if not is_int(input) else input < 0


def rounding(name, fn, **facts):
    def row(input, /):
        if dtype_of(input).is_complex:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        kernel(f"{name}_vml_cpu", input, "if")
        return input if is_int(input) else fn(input)
    op(row, name=name, inplace=True, **facts)


rounding("floor", jnp.floor)
rounding("ceil", jnp.ceil)
rounding("trunc", jnp.trunc, aliases="fix")


@op(inplace=True, aliases="special.round", by="decimals != 0", variants={True: "RoundBackward1"})
def round(input, /, *, decimals=0):
    kernel("round_vml_cpu", input, "if")
    if is_int(input):
        return input
    if decimals == 0:
        return jnp.round(input)
    scale = 10.0 ** decimals if decimals > 0 else 1 / 10.0 ** -decimals
    return jnp.round(input * scale) / scale


@op(inplace=True)
def frac(input, /):
    kernel("frac_cpu", input, "f")
    return input - jnp.trunc(input)


# ---- exponentials, logarithms, roots (`result=` rules take and give cotangents as PyTorch does: conjugated)


unary("exp", jnp.exp, result=lambda y, ct, x: ct * jnp.conj(y))
unary("exp2", jnp.exp2, aliases="special.exp2", result=lambda y, ct, x: ct * (jnp.conj(y) * math.log(2)))
unary("expm1", jnp.expm1, aliases="special.expm1", result=lambda y, ct, x: ct * (jnp.conj(y) + 1))
unary("log", jnp.log)
unary("log2", jnp.log2)
unary("log10", jnp.log10)
unary("log1p", jnp.log1p, aliases="special.log1p", node="Log1PBackward0")
unary("sqrt", jnp.sqrt, result=lambda y, ct, x: ct / (2 * jnp.conj(y)))
unary("rsqrt", lax.rsqrt, result=lambda y, ct, x: ct * (-0.5 * jnp.conj(y * y * y)))
unary("reciprocal", lambda x: 1 / x, result=lambda y, ct, x: -ct * jnp.conj(y * y))


# ---- trigonometry

unary("sin", jnp.sin)
unary("cos", jnp.cos)
unary("tan", jnp.tan, result=lambda y, ct, x: ct * jnp.conj(1 + y * y))
unary("asin", jnp.arcsin, aliases="arcsin")
unary("acos", jnp.arccos, aliases="arccos")
unary("atan", jnp.arctan, aliases="arctan")
unary("sinh", jnp.sinh)
unary("cosh", jnp.cosh)
unary("tanh", jnp.tanh, names="torch method", result=lambda y, ct, x: ct * jnp.conj(1 - y * y))
unary("asinh", jnp.arcsinh, aliases="arcsinh", inplace_node="AsinhBackward1",
      inplace_underivable="'inplace version of asinh'")
unary("acosh", jnp.arccosh, aliases="arccosh", inplace_node="AcoshBackward1",
      inplace_underivable="'inplace version of acosh'")
unary("atanh", jnp.arctanh, aliases="arctanh", inplace_node="AtanhBackward1",
      inplace_underivable="'inplace version of atanh'")
unary("deg2rad", lambda x: x * (math.pi / 180), node="Deg2RadBackward0")
unary("rad2deg", lambda x: x * (180 / math.pi), node="Rad2DegBackward0")


@jax.custom_jvp
def _sinc(x):
    p = math.pi * x
    return jnp.where(p == 0, 1, jnp.sin(p) / jnp.where(p == 0, 1, p))


@_sinc.defjvp
def _sinc_jvp(primals, tangents):
    # PyTorch's slope: 0 at 0
    (x,), (t,) = primals, tangents
    p = math.pi * jnp.where(x == 0, 1, x)
    return _sinc(x), t * jnp.where(x == 0, 0, (p * jnp.cos(p) - jnp.sin(p)) / (p * p / math.pi))


unary("sinc", _sinc, aliases="special.sinc", saves="0")


@jax.custom_jvp
def _atan2(y, x):
    return lax.atan2(y, x)


@_atan2.defjvp
def _atan2_jvp(primals, tangents):
    # at (0, 0) the slopes are 0, not nan
    (y, x), (ty, tx) = primals, tangents
    den = y * y + x * x
    inv = jnp.where(den == 0, 0, 1 / jnp.where(den == 0, 1, den))
    return _atan2(y, x), ty * (x * inv) + tx * (-y * inv)


@op(inplace=True, aliases="arctan2")
def atan2(input, other, /):
    y, x = promote_float(input, other)
    kernel("atan2_cpu", y, "f")
    return _atan2(*jnp.broadcast_arrays(y, x))


@op(inplace=True, saves="0:01:1r")
def hypot(input, other, /):
    x, y = promote(input, other)
    kernel("hypot_cpu", x, "f")
    big = jnp.maximum(jnp.abs(x), jnp.abs(y))
    scale = lax.stop_gradient(jnp.where((big == 0) | jnp.isinf(big), 1, big))
    return scale * jnp.sqrt((x / scale) ** 2 + (y / scale) ** 2)


def _log_sum(fn, power):
    """log(b^x + b^y) with PyTorch's slopes 1 / (1 + b^(y - x)), nan where both are the same infinity."""
    value = jax.custom_jvp(fn)

    @value.defjvp
    def jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return value(x, y), tx / (1 + power(y - x)) + ty / (1 + power(x - y))
    return value


_logaddexp, _logaddexp2 = _log_sum(jnp.logaddexp, jnp.exp), _log_sum(jnp.logaddexp2, jnp.exp2)


@op()
def logaddexp(input, other, /):
    x, y = like_result(input, other)
    kernel("logaddexp_cpu", x, "fc")
    return _logaddexp(x, y)


@op()
def logaddexp2(input, other, /):
    x, y = like_result(input, other)
    kernel("logaddexp2_cpu", x, "f")
    return _logaddexp2(x, y)


@op(inplace=True, aliases="special.xlogy", numbers="01", by="(isinstance(input, Tensor), isinstance(other, Tensor))",
    variants={(False, True): "XlogyBackward1", (True, False): "XlogyBackward2"})
def xlogy(input, other, /):
    x, y = promote_float(input, other)
    kernel("xlogy_cpu", x, "f")
    x, y = jnp.broadcast_arrays(x, y)
    zero = (x == 0) & ~jnp.isnan(y)
    # d/dx at x == 0 is 0 for y <= 0 and log(y) otherwise, as PyTorch's masked_fill
    return jnp.where(zero, x * jnp.log(jnp.where(y > 0, y, 1)), x * jnp.log(jnp.where(zero, 1, y)))


# ---- extremes and interpolation

@op(node="MaximumBackward0")
def maximum(input, other, /):
    return _extreme("maximum", _maximum, input, other)


@op(node="MinimumBackward0")
def minimum(input, other, /):
    return _extreme("minimum", _minimum, input, other)


def _refuse_complex(name, x):
    if dtype_of(x).is_complex:
        raise RuntimeError(f"{name} not implemented for complex tensors.")


def _extreme(name, fn, input, other):
    x, y = promote(input, other)
    _refuse_complex(name, x)
    return fn(*jnp.broadcast_arrays(x, y))


def _pairwise(fn, loses):
    """A binary extreme: half the slope to each at a tie, all of it to both where one is nan."""
    value = jax.custom_jvp(fn)

    @value.defjvp
    def jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        tie = (tx + ty) / 2
        return value(x, y), jnp.where(x == y, tie, jnp.where(loses(x, y), 0, tx) + jnp.where(loses(y, x), 0, ty))
    return value


_maximum, _minimum = _pairwise(jnp.maximum, jnp.less), _pairwise(jnp.minimum, jnp.greater)


@op()
def fmax(input, other, /):
    x, y = like_result(input, other)
    _refuse_complex("fmax", x)
    return jnp.where((x >= y) | jnp.isnan(y), x, y)


@op()
def fmin(input, other, /):
    x, y = like_result(input, other)
    _refuse_complex("fmin", x)
    return jnp.where((x <= y) | jnp.isnan(y), x, y)


@jax.custom_jvp
def _clamp(x, lo, hi):
    return jnp.minimum(jnp.maximum(x, lo), hi)


@_clamp.defjvp
def _clamp_jvp(primals, tangents):
    # slope 1 at a bound; with lo > hi everything flows to hi
    (x, lo, hi), (tx, tlo, thi) = primals, tangents
    inside = (x >= lo) & (x <= hi)
    t = (jnp.where(inside, tx, 0) + jnp.where((x < lo) & (lo < hi), tlo, 0)
         + jnp.where((x > hi) | (hi < lo), thi, 0))
    return _clamp(x, lo, hi), t


def _clip(name, input, lo, hi):
    if lo is None and hi is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = promote(input, *(b for b in (lo, hi) if b is not None))
    x, bounds = given[0], list(given[1:])
    if dtype_of(x).is_complex:
        raise NotImplementedError(f"{name} is not supported for complex types")
    top = jnp.asarray(True if is_bool(x) else jnp.inf if not is_int(x) else jnp.iinfo(x.dtype).max, x.dtype)
    low = jnp.asarray(False if is_bool(x) else -jnp.inf if not is_int(x) else jnp.iinfo(x.dtype).min, x.dtype)
    lo, hi = bounds.pop(0) if lo is not None else low, bounds.pop(0) if hi is not None else top
    return _clamp(*jnp.broadcast_arrays(x, lo, hi))


@op(inplace=True, aliases="clip", node="ClampBackward1", numbers="12",
    by="isinstance(min, Tensor) or isinstance(max, Tensor)", variants={True: "ClampBackward0"})
def clamp(input, min=None, max=None, /):
    return _clip("clamp", input, min, max)


@op(inplace=True, numbers="1", by="isinstance(min, Tensor)", variants={True: "ClampMinBackward1"})
def clamp_min(input, min, /):
    return _clip("clamp", input, min, None)


@op(inplace=True, numbers="1", by="isinstance(max, Tensor)", variants={True: "ClampMaxBackward1"})
def clamp_max(input, max, /):
    return _clip("clamp", input, None, max)


def same_dtype(first, other, what):
    if not is_number(other) and first.dtype != other.dtype:
        raise RuntimeError(f"expected dtype {ctype(first)} for `{what}` but got dtype {ctype(other)}")


def ctype(x):
    """The C++ name PyTorch prints for a dtype in some messages."""
    return CTYPES[dtype_of(x).legacy]


@op(inplace=True, numbers="2", by="isinstance(weight, Tensor)", variants={True: "LerpBackward1"})
def lerp(input, end, weight, /):
    same_dtype(input, end, "end")
    same_dtype(input, weight, "weight")
    x, y = promote(input, end)
    w = cast(weight, dtype_of(x))
    gap = y - x
    # two forms, so that weight 1 gives `end` exactly
    return jnp.where(jnp.abs(w) < 0.5, x + w * gap, y - gap * (1 - w))


@op(inplace=True, keyword="value")
def addcmul(input, tensor1, tensor2, value=1, /):
    d = result_type(input, tensor1, tensor2)
    promote(input, tensor1, tensor2)
    v = cast(value, d)
    return cast(input, d) + v * cast(tensor1, d) * cast(tensor2, d)


@op(inplace=True, keyword="value", saves="1:22")
def addcdiv(input, tensor1, tensor2, value=1, /):
    d = result_type(input, tensor1, tensor2)
    if result_type(tensor1, tensor2).category < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
            "tensor1 / tensor2), for all dtypes.")
    promote(input, tensor1, tensor2)
    return cast(input, d) + cast(value, d) * (cast(tensor1, d) / cast(tensor2, d))


@op(inplace=True, numbers="1", connects="0", by="isinstance(other, Tensor)", variants={False: "CopysignBackward1"}, saves="0:0r")
def copysign(input, other, /):
    x, y = jnp.broadcast_arrays(*promote_float(input, other))
    return jnp.where(x == 0, lax.stop_gradient(jnp.copysign(x, y)), jnp.copysign(x, y))


@op(inplace=True, saves="1:0r")
def ldexp(input, other, /):
    x, y = promote_float(input, other)
    return x * jnp.exp2(y)


@op(inplace=True)
def nextafter(input, other, /):
    x, y = like_result(input, other)
    kernel("nextafter_cpu", x, "f")
    a, b = lax.stop_gradient(x), lax.stop_gradient(y)
    # PyTorch's slope: that of the operand the result is next to
    step = jnp.where(a == b, y - b, x - a)
    return jnp.nextafter(a, b) + jnp.where(jnp.isfinite(step), step, 0)


@op(inplace=True, underivable="aten::heaviside")
def heaviside(input, values, /):
    if dtype_of(input).is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    x, v = like_result(input, values)
    return jnp.where(x == 0, v, (x > 0).astype(x.dtype))


@op(inplace=True, saves="0")
def nan_to_num(input, /, nan=0.0, posinf=None, neginf=None):
    if is_int(input):
        return input
    d = dtype_of(input).to_real()
    limit = float(jnp.finfo(d.np).max)

    def fix(x):
        bad = jnp.isnan(x) | jnp.isinf(x)
        new = jnp.where(jnp.isnan(x), 0.0 if nan is None else nan,
                        jnp.where(x > 0, limit if posinf is None else posinf, -limit if neginf is None else neginf))
        return jnp.where(bad, new.astype(x.dtype), x)
    return lax.complex(fix(input.real), fix(input.imag)) if dtype_of(input).is_complex else fix(input)


# ---- complex numbers

def _two_parts(real, imag):
    """The two real operands that make a complex number."""
    d, e = dtype_of(real), dtype_of(imag)
    if not {d, e} <= {dtypes.float16, dtypes.float32, dtypes.float64}:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {d.legacy} and {e.legacy}")
    if d is not e:
        raise RuntimeError(f"Expected object of scalar type {d.legacy} but got scalar type {e.legacy} for second argument")
    return like_result(real, imag)


@op(names="torch", node="ComplexBackward0", saves="0:01:1")
def complex(real, imag, /):
    x, y = _two_parts(real, imag)
    if dtype_of(x) is dtypes.float16:
        raise NotImplementedError("PyTorch gives torch.complex32 here, which torchish does not have; convert to float32 first")
    return lax.complex(x, y)


@op(names="torch", saves="r")
def polar(abs, angle, /):
    r, a = _two_parts(abs, angle)
    if dtype_of(r) is dtypes.float16:
        kernel("polar_cpu", r, "")
    return lax.complex(r * jnp.cos(a), r * jnp.sin(a))


@op(inplace=True, name="conj_physical", inplace_node="ConjPhysicalBackward1")
def conj_physical(input, /):
    return jnp.conj(input)


@op(saves="0")
def angle(input, /):
    if dtype_of(input).is_complex:
        return _atan2(input.imag, input.real)
    (x,) = promote_float(input)
    x = lax.stop_gradient(x)
    return jnp.where(x < 0, math.pi, jnp.where(jnp.isnan(x), x, 0) * 1.0).astype(x.dtype)


# ---- selection

@op(names="torch")
def where(condition, input, other, /):
    if dtype_of(condition) not in (dtypes.bool, dtypes.uint8):
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{dtype_of(condition).legacy}")
    x, y = promote(input, other)
    promote(condition, input, other)
    return jnp.where(condition.astype(bool), x, y)


@op(multi="mantissa exponent", saves="i")
def frexp(input, /):
    x = lax.stop_gradient(input)
    m, e = jnp.frexp(x)
    # the mantissa's slope is the power of two that it was scaled by
    return m + jnp.where(jnp.isfinite(x), input - x, 0) * jnp.exp2(-e.astype(x.dtype)), e.astype("int32")
