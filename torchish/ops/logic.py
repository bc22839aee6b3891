"""Comparisons, tests, logic and bits: operations whose results are booleans or integers."""

import jax.numpy as jnp

from torchish.ops import dtypes
from torchish.ops.pointwise import is_int
from torchish.ops.promote import cast, dtype_of, kernel, promote
from torchish.ops.table import op

# ---- comparisons and tests

def comparison(name, fn, ordered=True, **facts):
    def row(input, other, /):
        x, y = promote(input, other)
        if ordered:
            kernel(f"{name}_cpu", x, "bif")
        return fn(x, y)
    op(row, name=name, inplace=True, differentiable=False, numbers="1", **facts)


comparison("eq", jnp.equal, ordered=False)
comparison("ne", jnp.not_equal, ordered=False, aliases="not_equal")
comparison("lt", jnp.less, aliases="less")
comparison("le", jnp.less_equal, aliases="less_equal")
comparison("gt", jnp.greater, aliases="greater")
comparison("ge", jnp.greater_equal, aliases="greater_equal")


def test(name, fn, **facts):
    def row(input, /):
        return fn(input)
    op(row, name=name, differentiable=False, **facts)


test("isnan", jnp.isnan)
test("isinf", jnp.isinf)
test("isfinite", jnp.isfinite)
test("isposinf", lambda x: x == jnp.inf if not is_int(x) else jnp.zeros(x.shape, bool), aliases="special.isposinf")
test("isneginf", lambda x: x == -jnp.inf if not is_int(x) else jnp.zeros(x.shape, bool), aliases="special.isneginf")
test("isreal", lambda x: x.imag == 0 if dtype_of(x).is_complex else jnp.ones(x.shape, bool))


@op(differentiable=False)
def isclose(input, other, /, rtol=1e-05, atol=1e-08, equal_nan=False):
    if input.dtype != other.dtype:
        raise RuntimeError(f"{dtype_of(input).legacy} did not match {dtype_of(other).legacy}")
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol:g}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol:g}")
    x, y = promote(input, other)
    close = x == y
    if equal_nan and not is_int(x):
        close |= jnp.isnan(x) & jnp.isnan(y)
    if rtol == 0 and atol == 0:
        return close
    if is_int(x):
        x, y = cast(x, dtypes.float64), cast(y, dtypes.float64)
    error, allowed = jnp.abs(x - y), atol + jnp.abs(rtol * y)
    return close | (jnp.isfinite(error) & (error <= allowed))


@op(differentiable=False)
def allclose(input, other, /, rtol=1e-05, atol=1e-08, equal_nan=False):
    return jnp.all(isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan))


@op(differentiable=False)
def equal(input, other, /):
    return jnp.all(input == other) if input.shape == other.shape else jnp.asarray(False)


# ---- logic and bits

def logical(name, fn):
    def row(input, other, /):
        promote(input, other)
        return fn(cast(input, dtype_of(input)) != 0, cast(other, dtype_of(other)) != 0)
    op(row, name=name, inplace=True, differentiable=False)


logical("logical_and", jnp.logical_and)
logical("logical_or", jnp.logical_or)
logical("logical_xor", jnp.logical_xor)


@op(inplace=True, differentiable=False)
def logical_not(input, /):
    return input == 0


def bitwise(name, fn, kinds="bi", kernel_name=None, **facts):
    def row(input, other, /):
        x, y = promote(input, other)
        kernel(kernel_name or name + "_cpu", x, kinds)
        return fn(x, y)
    op(row, name=name, inplace=True, differentiable=False, **facts)


bitwise("bitwise_and", jnp.bitwise_and, numbers="01")
bitwise("bitwise_or", jnp.bitwise_or, numbers="01")
bitwise("bitwise_xor", jnp.bitwise_xor, numbers="01")
bitwise("bitwise_left_shift", jnp.left_shift, "i", "lshift_cpu", numbers="01")
bitwise("bitwise_right_shift", jnp.right_shift, "i", "rshift_cpu", numbers="01")
bitwise("gcd", jnp.gcd, "i")
bitwise("lcm", jnp.lcm, "i")


@op(inplace=True, differentiable=False)
def bitwise_not(input, /):
    kernel("bitwise_not_cpu", input, "bi")
    return ~input
