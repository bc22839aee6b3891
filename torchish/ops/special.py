"""Special functions (torch.special and their torch names)."""

import math

import jax
import jax.numpy as jnp
import jax.scipy.special as js
from jax import lax

from torchish.ops.pointwise import magnitude, unary
from torchish.ops.promote import cast, dtype_of, promote_float
from torchish.ops.table import op


@jax.custom_jvp
def _lgamma(x):
    return lax.lgamma(x)


_lgamma.defjvp(lambda p, t: (_lgamma(*p), t[0] * _digamma(*p)))

unary("erf", lax.erf, real=True, aliases="special.erf")
unary("erfc", lax.erfc, real=True, aliases="special.erfc")
unary("erfinv", lax.erf_inv, real=True, aliases="special.erfinv")
unary("lgamma", _lgamma, real=True, aliases="special.gammaln")
unary("special_i1e", js.i1e, names="special", inplace=False)
unary("special_ndtr", lambda x: 0.5 * lax.erfc(-x * math.sqrt(0.5)), names="special", inplace=False)
unary("special_ndtri", js.ndtri, names="special", inplace=False)
unary("special_log_ndtr", js.log_ndtr, names="special", inplace=False)
unary("special_entr", js.entr, names="special", inplace=False)
unary("special_bessel_j0", lambda x: jnp.where(x == 0, 1, js.bessel_jn(x, v=0)[0]), names="special", inplace=False, differentiable=False)
unary("special_bessel_j1", lambda x: jnp.where(x == 0, 0, js.bessel_jn(x, v=1)[1]), names="special", inplace=False, differentiable=False)


_i0, _i1 = jax.custom_jvp(js.i0), jax.custom_jvp(js.i1)
_i0.defjvp(lambda p, t: (_i0(*p), t[0] * _i1(*p)))
_i1.defjvp(lambda p, t: (_i1(*p), t[0] * (_i0(*p) - jnp.where(p[0] == 0, 0.5, _i1(*p) / jnp.where(p[0] == 0, 1, p[0])))))

unary("i0", _i0, aliases="special.i0")
unary("special_i0e", lambda x: jnp.exp(-magnitude(x)) * _i0(x), names="special", inplace=False)
unary("special_i1", _i1, names="special", inplace=False)


@jax.custom_jvp
def _digamma(x):
    # PyTorch: -inf at 0 (+inf at -0), nan at negative integers
    y = lax.digamma(x)
    return jnp.where(x == 0, jnp.where(jnp.signbit(x), jnp.inf, -jnp.inf), y)


_digamma.defjvp(lambda p, t: (_digamma(*p), t[0] * _polygamma(1, p[0])))

unary("digamma", _digamma, aliases="special.digamma special.psi")


def _polygamma(n, x):
    if n == 0:
        return _digamma(x)
    return _polygamma_positive(n, x)


def _factorial_sign(n):
    return float((-1) ** (n + 1) * math.factorial(n))


def _polygamma_value(n, x):
    # negative arguments by recurrence are left to zeta's own domain, as PyTorch for n >= 2
    y = _factorial_sign(n) * js.zeta(jnp.asarray(n + 1, x.dtype), x)
    if n == 1:
        # reflection keeps trigamma right at negative arguments
        safe = jnp.where(x < 0.5, 1 - x, x)
        mirrored = (math.pi / jnp.sin(math.pi * x)) ** 2 - js.zeta(jnp.asarray(2, x.dtype), safe)
        y = jnp.where(x < 0.5, mirrored, js.zeta(jnp.asarray(2, x.dtype), safe))
    return y


_polygamma_positive = jax.custom_jvp(_polygamma_value, nondiff_argnums=(0,))
_polygamma_positive.defjvp(lambda n, p, t: (_polygamma_positive(n, p[0]), t[0] * _polygamma_positive(n + 1, p[0])))


@op(order="n, input", inplace=True, aliases="special.polygamma")
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


@op(names="special")
def special_xlog1py(input, other, /):
    x, y = jnp.broadcast_arrays(*promote_float(input, other))
    zero = (x == 0) & ~jnp.isnan(y)
    return jnp.where(zero, x * jnp.log1p(jnp.where(y > -1, y, 0)), x * jnp.log1p(jnp.where(zero, 0, y)))


@op(names="special")
def special_zeta(input, other, /):
    return js.zeta(*jnp.broadcast_arrays(*promote_float(input, other)))


@op(names="special", aliases="torch.igamma method.igamma", differentiable=True)
def special_gammainc(input, other, /):
    return lax.igamma(*jnp.broadcast_arrays(*promote_float(input, other)))


@op(names="special", aliases="torch.igammac method.igammac")
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

unary("special_erfcx", _erfcx, names="special", inplace=False)


# ---- orthogonal polynomials by their three-term recurrences (n static)

def _polynomial(name, first, step, shift=None):
    """p0 = 1, p1 = first(x), p_{k+1} = step(k, x, p_k, p_{k-1})."""
    def row(input, /, n):
        (x,) = promote_float(input)
        x = shift(x) if shift else x
        if n < 0:
            return jnp.zeros_like(x)
        a, b = jnp.ones_like(x), first(x)
        for k in range(1, n + 1):
            a, b = b, step(k, x, b, a)
        return a
    op(row, name=name, names="special", differentiable=False)


def _chebyshev(k, x, p, q):
    return 2 * x * p - q


def _shifted(x):
    return 2 * x - 1


for _kind, _first in (("t", lambda x: x), ("u", lambda x: 2 * x), ("v", lambda x: 2 * x - 1), ("w", lambda x: 2 * x + 1)):
    _polynomial(f"special_chebyshev_polynomial_{_kind}", _first, _chebyshev)
    _polynomial(f"special_shifted_chebyshev_polynomial_{_kind}", _first, _chebyshev, _shifted)
_polynomial("special_hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)
_polynomial("special_hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
_polynomial("special_legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
_polynomial("special_laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))


@op(names="special", name="special_spherical_bessel_j0", differentiable=False)
def special_spherical_bessel_j0(x, /):
    (x,) = promote_float(x)
    return jnp.where(x == 0, cast(1, dtype_of(x)), jnp.sin(x) / jnp.where(x == 0, 1, x))
