"""Bessel and Airy functions.

They are sums over the nodes of a trapezoidal rule, which converges geometrically for integrands that are periodic or decay
fast, and asymptotic series beyond. So there are no tables of coefficients, and XLA fuses each sum into one loop.
"""

import math

import jax.numpy as jnp
import jax.scipy.special as js
import numpy as np

from torchish.ops.pointwise import unary
from torchish.ops.promote import kernel

FAR = 25.0      # from here on the asymptotic series of J and Y are exact to the last bit
NODES = 128     # of the period; J of order NODES / 2 at FAR is below the rounding error

_angles = (np.arange(NODES // 4) + 0.5) * (2 * np.pi / NODES)
_sines = np.sin(_angles)
# sum over k of (-1)^k cos(2 k angle) / k: the logarithm in Neumann's series of Y, as weights of the rule
_logs = sum((-1) ** k * np.cos(2 * k * _angles) / k for k in range(1, NODES // 4)) / (NODES // 4)


def _total(x, weights, fn, nodes):
    """sum of weights * fn(x * nodes) over the nodes, one more axis inside."""
    return jnp.sum(jnp.asarray(weights, x.dtype) * fn(x[..., None] * jnp.asarray(nodes, x.dtype)), -1)


def _hankel(order, x, terms=16):
    """Amplitude, P, Q and phase of the asymptotic series J + iY = sqrt(2/(pi x)) (P + iQ) exp(i phase)."""
    p, q, term = jnp.ones_like(x), jnp.zeros_like(x), jnp.ones_like(x)
    for k in range(1, terms):
        term = term * ((4 * order * order - (2 * k - 1) ** 2) / (8 * k)) / x
        if k % 2:
            q = q + (-1) ** (k // 2) * term
        else:
            p = p + (-1) ** (k // 2) * term
    return jnp.sqrt(2 / (math.pi * x)), p, q, x - (order / 2 + 0.25) * math.pi


def _split(near, far, x):
    """near(x) up to FAR and far(x) beyond; each sees only arguments of its own."""
    return jnp.where(x <= FAR, near(jnp.where(x <= FAR, x, 1)), far(jnp.where(x <= FAR, FAR, x)))


def _j(order, x):
    """J of order 0 or 1 for x >= 0."""
    def near(x):
        return _total(x, 1 / len(_sines), jnp.cos, _sines) if order == 0 else _total(x, _sines / len(_sines), jnp.sin, _sines)

    def far(x):
        size, p, q, phase = _hankel(order, x)
        return size * (p * jnp.cos(phase) - q * jnp.sin(phase))
    return _split(near, far, x)


def _y(order, x):
    """Y of order 0 or 1; -inf at 0, nan below."""
    def near(x):
        log = 2 / math.pi * (jnp.log(x / 2) + np.euler_gamma)
        if order == 0:
            return log * _j(0, x) - 4 / math.pi * _total(x, _logs, jnp.cos, _sines)
        return log * _j(1, x) - 2 / math.pi * _j(0, x) / x - 4 / math.pi * _total(x, _logs * _sines, jnp.sin, _sines)

    def far(x):
        size, p, q, phase = _hankel(order, x)
        return size * (p * jnp.sin(phase) + q * jnp.cos(phase))
    return jnp.where(x > 0, _split(near, far, jnp.where(x > 0, x, 1)), jnp.where(x == 0, -jnp.inf, jnp.nan))


def _scaled_k(order, x, nodes=40):
    """exp(x) K(x) for x > 0, not tiny: the integral of exp(-x (cosh t - 1)) cosh(order t), cut where it has died out."""
    end = jnp.arccosh(1 + 40 / x)
    t = end[..., None] * jnp.asarray((np.arange(nodes) + 0.5) / nodes, x.dtype)
    return end / nodes * jnp.sum(jnp.exp(-2 * x[..., None] * jnp.sinh(t / 2) ** 2) * jnp.cosh(order * t), -1)


def _k_series(order, x):
    """K of order 0 or 1 for x <= 2 by the ascending series."""
    z = x * x / 4
    log = jnp.log(x / 2) + np.euler_gamma
    total, term, harmonic = jnp.zeros_like(x), jnp.ones_like(x), 0.0
    for k in range(18):
        following = harmonic + 1 / (k + 1)
        total = total + term * (harmonic - log if order == 0 else log - (harmonic + following) / 2)
        term = term * z / ((k + 1) * (k + 1 + order))
        harmonic = following
    return total if order == 0 else 1 / x + x / 2 * total


def _k(order, x, scaled):
    low, high = jnp.where((x > 0) & (x <= 2), x, 1), jnp.where((x > 2) & (x < jnp.inf), x, 2)
    y = jnp.where(x <= 2, _k_series(order, low) * (jnp.exp(low) if scaled else 1),
                  _scaled_k(order, high) * (1 if scaled else jnp.exp(-high)))
    return jnp.where(x == jnp.inf, 0, jnp.where(x > 0, y, jnp.where(x == 0, jnp.inf, jnp.nan)))


def _airy(x):
    """Ai: a K of order 1/3 above 1, the Airy integral along a shifted line in the middle, the asymptotic series below -10."""
    high = jnp.where(x > 1, x, 1)
    zeta = high * jnp.sqrt(high) * (2 / 3)
    above = jnp.sqrt(high / 3) / math.pi * jnp.exp(-zeta) * _scaled_k(1 / 3, zeta)

    middle = jnp.where((x <= 1) & (x >= -10), x, 0)
    step, shift = 2 * math.pi / 72, 0.5     # the rule's error is Ai(x - 72) exp(-72 shift)
    u = (np.arange(100) + 0.5) * step
    phase = jnp.asarray(u ** 3 / 3 - u * shift ** 2, x.dtype) + middle[..., None] * jnp.asarray(u, x.dtype)
    decay = jnp.asarray(np.exp(shift ** 3 / 3 - shift * u * u) * step / math.pi, x.dtype)
    between = jnp.exp(-shift * middle) * jnp.sum(decay * jnp.cos(phase), -1)

    low = jnp.where(x < -10, -x, 10)
    far = low * jnp.sqrt(low) * (2 / 3)
    _, p, q, _ = _hankel(1 / 3, far)
    below = (p * jnp.cos(far - math.pi / 4) - q * jnp.sin(far - math.pi / 4)) / (math.sqrt(math.pi) * low ** 0.25)
    y = jnp.where(x > 1, above, jnp.where(x < -10, below, between))
    return jnp.where(jnp.isfinite(x), y, jnp.nan)


def _row(name, fn):
    def checked(x):
        kernel(f"{name}_cpu", x, "f")
        if jnp.finfo(x.dtype).bits < 32:
            kernel(f"{name}_cpu", x, "")
        return fn(x)
    unary("special_" + name, checked, names="special", inplace=False, differentiable=False)


def _finite(y, x):
    """PyTorch's rational approximations give nan at the infinities."""
    return jnp.where(jnp.isinf(x), jnp.nan, y)


_row("airy_ai", _airy)
_row("bessel_j0", lambda x: _j(0, jnp.abs(x)))
_row("bessel_j1", lambda x: jnp.where(jnp.signbit(x), -_j(1, jnp.abs(x)), _j(1, jnp.abs(x))))
_row("bessel_y0", lambda x: _y(0, x))
_row("bessel_y1", lambda x: _y(1, x))
_row("modified_bessel_i0", lambda x: _finite(js.i0(x), x))
_row("modified_bessel_i1", lambda x: _finite(js.i1(x), x))
for _order in (0, 1):
    _row(f"modified_bessel_k{_order}", lambda x, n=_order: _k(n, x, False))
    _row(f"scaled_modified_bessel_k{_order}", lambda x, n=_order: _k(n, x, True))
_row("spherical_bessel_j0", lambda x: jnp.where(x == 0, 1, jnp.where(jnp.isinf(x), 0, jnp.sin(x) / jnp.where(x == 0, 1, x))))
