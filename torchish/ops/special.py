"""Special functions (torch.special and their torch names)."""

import math

import jax
import jax.numpy as jnp
import jax.scipy.special as js
import numpy as np
from jax import lax

from torchish.ops.pointwise import magnitude, unary
from torchish.ops.promote import promote_float
from torchish.ops.table import op


@jax.custom_jvp
def _lgamma(x):
    return lax.lgamma(x)


_lgamma.defjvp(lambda p, t: (_lgamma(*p), t[0] * _digamma(*p)))

unary("erf", lax.erf, real=True, aliases="special.erf")
unary("erfc", lax.erfc, real=True, aliases="special.erfc")
unary("erfinv", lax.erf_inv, real=True, aliases="special.erfinv")
unary("lgamma", _lgamma, real=True, saves="0", aliases="special.gammaln")
unary("special_i1e", js.i1e, names="special", inplace=False, node="SpecialI1EBackward0", saves="0r")
unary("special_ndtr", lambda x: 0.5 * lax.erfc(-x * math.sqrt(0.5)), names="special", inplace=False, saves="", node="MulBackward1")
unary("special_ndtri", js.ndtri, names="special", inplace=False, saves="r")
unary("special_log_ndtr", js.log_ndtr, names="special", inplace=False, saves="0r")
unary("special_entr", js.entr, names="special", inplace=False)


_i0, _i1 = jax.custom_jvp(js.i0), jax.custom_jvp(js.i1)
_i0.defjvp(lambda p, t: (_i0(*p), t[0] * _i1(*p)))
_i1.defjvp(lambda p, t: (_i1(*p), t[0] * (_i0(*p) - jnp.where(p[0] == 0, 0.5, _i1(*p) / jnp.where(p[0] == 0, 1, p[0])))))

unary("i0", _i0, aliases="special.i0")
unary("special_i0e", lambda x: jnp.exp(-magnitude(x)) * _i0(x), names="special", inplace=False, node="SpecialI0EBackward0", saves="0r")
unary("special_i1", _i1, names="special", inplace=False, saves="0r")


@jax.custom_jvp
def _digamma(x):
    # PyTorch: -inf at 0 (+inf at -0), nan at negative integers
    y = lax.digamma(x)
    return jnp.where(x == 0, jnp.where(jnp.signbit(x), jnp.inf, -jnp.inf), y)


_digamma.defjvp(lambda p, t: (_digamma(*p), t[0] * _polygamma(1, p[0])))

unary("digamma", _digamma, saves="0", aliases="special.digamma special.psi")


def _polygamma(n, x):
    if n == 0:
        return _digamma(x)
    return _polygamma_positive(n, x)


def _factorial_sign(n):
    return float((-1) ** (n + 1) * math.factorial(n))


def _cot_derivative(n):
    """Coefficients, highest first, of the n-th derivative of cot(pi x) as a polynomial in cot(pi x)."""
    p = np.poly1d([1, 0])
    for _ in range(n):
        p = p.deriv() * np.poly1d([-math.pi, 0, -math.pi])
    return p.coeffs


def _polygamma_value(n, x):
    # zeta's own domain is x > 0: the reflection formula gives the rest
    left = x < 0.5
    y = _factorial_sign(n) * js.zeta(jnp.asarray(n + 1, x.dtype), jnp.where(left, 1 - x, x))
    angle = math.pi * x
    mirrored = (-1) ** n * y - math.pi * jnp.polyval(jnp.asarray(_cot_derivative(n), x.dtype), jnp.cos(angle) / jnp.sin(angle))
    pole = (x <= 0) & (x == jnp.floor(x)) & ((x == 0) | (n > 1))
    return jnp.where(x == jnp.inf, 0, jnp.where(pole, math.copysign(math.inf, _factorial_sign(n)), jnp.where(left, mirrored, y)))


_polygamma_positive = jax.custom_jvp(_polygamma_value, nondiff_argnums=(0,))
_polygamma_positive.defjvp(lambda n, p, t: (_polygamma_positive(n, p[0]), t[0] * _polygamma_positive(n + 1, p[0])))


@op(order="n, input", names="torch special", name="polygamma")
def polygamma(input, /, n):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    (x,) = promote_float(input)
    return _polygamma(n, x)


@op(inplace=True, aliases="special.multigammaln")
def mvlgamma(input, /, p):
    (x,) = promote_float(input)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return p * (p - 1) / 4 * math.log(math.pi) + jnp.sum(
        lax.lgamma(x[..., None] - 0.5 * jnp.arange(p, dtype=x.dtype)), axis=-1)


@op(inplace=True, aliases="special.logit")
def logit(input, /, eps=None):
    (x,) = promote_float(input)
    if eps is None:
        return jnp.log(x / (1 - x))
    inside = (x >= eps) & (x <= 1 - eps)
    z = jnp.clip(x, eps, 1 - eps)
    return jnp.where(inside, jnp.log(x / (1 - x)), lax.stop_gradient(jnp.log(z / (1 - z))))


@op(names="special", node="SpecialXlog1PyBackward0")
def special_xlog1py(input, other, /):
    x, y = jnp.broadcast_arrays(*promote_float(input, other))
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, x * jnp.log1p(jnp.where(y > -1, y, 0)), x * jnp.log1p(jnp.where(zero, 0, y)))


@op(names="special")
def special_zeta(input, other, /):
    s, q = jnp.broadcast_arrays(*promote_float(input, other))
    return jnp.where((s > 1) & (q <= 0) & (q == jnp.floor(q)), jnp.inf, js.zeta(s, q))


@op(names="special", aliases="torch.igamma method.igamma", node="IgammaBackward0")
def special_gammainc(input, other, /):
    return lax.igamma(*jnp.broadcast_arrays(*promote_float(input, other)))


@op(names="special", aliases="torch.igammac method.igammac", node="IgammacBackward0")
def special_gammaincc(input, other, /):
    return lax.igammac(*jnp.broadcast_arrays(*promote_float(input, other)))


@jax.custom_jvp
def _erfcx(x):
    # exp(x^2) erfc(x); a continued fraction where the product would overflow or cancel
    small = jnp.where(x < 5, x, 0)
    direct = jnp.exp(small * small) * lax.erfc(small)
    big = jnp.where(x < 5, 5, x)
    f = jnp.zeros_like(big)
    for k in range(60, 0, -1):
        f = (k / 2) / (big + f)
    return jnp.where(x < 5, direct, 1 / (math.sqrt(math.pi) * (big + f)))


_erfcx.defjvp(lambda p, t: (_erfcx(*p), t[0] * (2 * p[0] * _erfcx(*p) - 2 / math.sqrt(math.pi))))

unary("special_erfcx", _erfcx, names="special", inplace=False, saves="0r")
