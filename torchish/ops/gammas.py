"""Draws that depend smoothly on their distribution's parameters: implicit derivatives of gamma and Dirichlet numbers."""

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops.table import op

_TINY = 1e-300
_STEPS = 2000


@op(names="", underivable="_standard_gamma_grad")
def standard_gamma_grad(input, output, /):
    """d output / d input for a gamma number `output` of shape `input`."""
    return lax.random_gamma_grad(*(jnp.asarray(a, jnp.float64) for a in (input, output))).astype(input.dtype)


@jax.custom_jvp
def _gamma_number(number, shape):
    return number


_gamma_number.defjvp(lambda p, t: (p[0], t[0] + t[1] * standard_gamma_grad(p[1], p[0])))


@op(names="", node="StandardGammaBackward0")
def standard_gamma(numbers, input, /):
    """Gamma numbers as a function of their shapes."""
    return _gamma_number(numbers, input)


def _fraction(x, a, b, a_slope, b_slope):
    """The continued fraction h of I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) h by Lentz's method, and its slope along a, b.

    It converges fast for x < (a + 1) / (a + b + 2).
    """
    def factors(m, a, b, c, d, h):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for t in (even, odd):
            d, c = 1 + t * d, 1 + t / c
            d, c = 1 / jnp.where(jnp.abs(d) < _TINY, _TINY, d), jnp.where(jnp.abs(c) < _TINY, _TINY, c)
            h = h * c * d
        return c, d, h

    def first(a, b):
        d = 1 - (a + b) * x / (a + 1)
        d = 1 / jnp.where(jnp.abs(d) < _TINY, _TINY, d)
        return jnp.ones_like(d), d, d

    def step(state):
        m, values, slopes, _ = state
        new, turned = jax.jvp(lambda *s: factors(m, *s), (a, b, *values), (a_slope, b_slope, *slopes))
        moved = [jnp.abs(s - t) > 1e-14 * jnp.abs(s) for s, t in ((new[2], values[2]), (turned[2], slopes[2]))]
        return m + 1, new, turned, jnp.any(moved[0] | moved[1])

    values, slopes = jax.jvp(first, (a, b), (a_slope, b_slope))
    start = jnp.asarray(1.0, x.dtype), values, slopes, jnp.asarray(True)
    _, values, slopes, _ = lax.while_loop(lambda s: s[3] & (s[0] < _STEPS), step, start)
    return values[2], slopes[2]


@op(names="", underivable="_dirichlet_grad")
def dirichlet_grad(x, alpha, total, /):
    """d x / d alpha / (1 - x) of a number x of Beta(alpha, total - alpha) at a fixed value of its distribution function."""
    z, a, total = jnp.broadcast_arrays(*(jnp.asarray(v, jnp.float64) for v in (x, alpha, total)))
    z, b = jnp.clip(z, _TINY, 1 - 1e-16), total - a
    low = z < (a + 1) / (total + 2)
    p, q = jnp.where(low, a, b), jnp.where(low, b, a)
    one = low.astype(z.dtype)
    h, slope = _fraction(jnp.where(low, z, 1 - z), p, q, one, 1 - one)
    logarithm = jnp.log(z) - lax.digamma(a) + lax.digamma(total) - one / a + slope / h
    return ((1 - 2 * one) * z * h / p * logarithm).astype(x.dtype)


@jax.custom_jvp
def _simplex_point(point, alpha):
    return point


def _simplex_slope(p, t):
    x, alpha = p
    each = t[1] * dirichlet_grad(x, alpha, jnp.sum(alpha, -1, keepdims=True))
    return x, t[0] + each - x * jnp.sum(each, -1, keepdims=True)


_simplex_point.defjvp(_simplex_slope)


@op(names="", node="_DirichletBackward")
def sample_dirichlet(numbers, input, /):
    """Points of a simplex as a function of their Dirichlet distribution's concentrations."""
    return _simplex_point(numbers, input)
