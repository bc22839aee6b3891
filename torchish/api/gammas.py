"""Random numbers made by rejection, from PyTorch's CPU streams: gamma, Dirichlet, Poisson and binomial.

How many draws a number takes depends on the draws, so these are loops over the stream's doubles.
"""

import math

import numpy as np

from torchish.api.creation import from_array
from torchish.api.drawing import of_parameters
from torchish.api.random import default_generator
from torchish.autograd.dispatch import apply
from torchish.ops import TABLE

_BLOCK = 1 << 12
_THIRD = np.float32(1) / np.float32(3)
_TIGHT = float(np.float32(0.0331))


class _Draws:
    """A stream's doubles one by one: read in blocks, and what was not used is given back at the end."""

    def __init__(self, generator):
        self._stream = (default_generator if generator is None else generator)._stream

    def __enter__(self):
        self._start, self._block, self._taken = self._stream._bits.state, [], 0
        return self

    def __exit__(self, *error):
        self._stream._bits.state = self._start
        self._stream._draw32(2 * (self._taken - len(self._block)))

    def uniform(self):
        """A number in [0, 1)."""
        if not self._block:
            self._block = self._stream._unit64(_BLOCK).tolist()[::-1]
            self._taken += _BLOCK
        return self._block.pop()

    def normal(self):
        """A standard normal number; its twin is kept for the next one."""
        kept, self._stream._cached = self._stream._cached, None
        if kept is not None:
            return kept
        angle = 2 * math.pi * self.uniform()
        radius = math.sqrt(-2 * math.log1p(-self.uniform()))
        self._stream._cached = radius * math.sin(angle)
        return radius * math.cos(angle)


def _gamma(scale, d, c, draws):
    """`scale` times Marsaglia and Tsang's gamma number of shape d + 1/3, c = 1 / sqrt(9 d)."""
    while True:
        x = draws.normal()
        v = 1 + c * x
        if v <= 0:
            continue
        v = v * v * v
        u, square = 1 - draws.uniform(), x * x
        if u < 1 - _TIGHT * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def _gammas(shapes, generator):
    """A gamma number for each shape; shapes below 1 are those of shape + 1 times a power of a uniform number."""
    small = shapes < 1
    with np.errstate(divide="ignore"):
        powers = np.where(small, np.float32(1) / shapes, 0).astype(np.float64)
    ds = (np.where(small, shapes + np.float32(1), shapes) - _THIRD).astype(np.float64)
    out = []
    with _Draws(generator) as draws:
        for boost, power, d, c in zip(*map(np.ndarray.tolist, (small, powers, ds, 1 / np.sqrt(9 * ds)))):
            if math.isinf(power):
                out.append(0.0)
                continue
            if not d > 0:
                out.append(math.nan)
                continue
            scale = (1 - draws.uniform()) ** power if boost else 1.0
            out.append(_gamma(scale, d, c, draws))
    return np.array(out)


@of_parameters
def _standard_gamma(self, generator=None):
    """Gamma numbers with the shapes `self` and rate 1."""
    shapes = self._numpy()
    made = np.maximum(_gammas(shapes.reshape(-1), generator).astype(shapes.dtype), np.finfo(shapes.dtype).tiny)
    return apply(TABLE["standard_gamma"], (from_array(made.reshape(shapes.shape)), self))


@of_parameters
def _sample_dirichlet(self, generator=None):
    """Points of the simplex with the concentrations `self` along the last dimension."""
    alpha = self._numpy()
    made = _gammas(alpha.reshape(-1).astype(np.float64), generator).reshape(alpha.shape)
    with np.errstate(invalid="ignore"):
        made = (made / made.sum(-1, keepdims=True)).astype(alpha.dtype)
    # where all gamma numbers are 0 PyTorch has the smallest number too
    made = np.clip(np.where(np.isnan(made), 0, made), np.finfo(alpha.dtype).tiny, np.nextafter(alpha.dtype.type(1), alpha.dtype.type(0)))
    return apply(TABLE["sample_dirichlet"], (from_array(made), self))


def _standard_gamma_grad(self, output):
    """The derivative of a gamma number by its shape."""
    return apply(TABLE["standard_gamma_grad"], (self, output))


def _dirichlet_grad(x, alpha, total):
    """The derivative of a Dirichlet point's coordinate by its concentration, over 1 - x."""
    return apply(TABLE["dirichlet_grad"], (x, alpha, total))


def _poisson_small(rate, draws):
    """The number of uniform factors until their product falls to exp(-rate)."""
    limit, product, n = math.exp(-rate), draws.uniform(), 0
    while product > limit:
        product, n = product * draws.uniform(), n + 1
    return n


def _poisson_large(rate, draws):
    """Hörmann's transformed rejection (PTRS)."""
    root, log = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    scale = math.log(1.1239 + 1.1328 / (b - 3.4))
    tight = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draws.uniform() - 0.5, draws.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= tight:
            return k
        if k < 0 or us < 0.013 and v > us or v == 0:
            continue
        if math.log(v) + scale - math.log(a / (us * us) + b) <= -rate + k * log - math.lgamma(k + 1.0):
            return k


@of_parameters
def poisson(input, generator=None):
    """Poisson numbers with the rates `input`."""
    rates = input._numpy()
    if rates.size and not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with _Draws(generator) as draws:
        made = [_poisson_large(r, draws) if r >= 10 else _poisson_small(r, draws) if r else 0
                for r in rates.reshape(-1).astype(np.float64).tolist()]
    return apply(TABLE["poisson"], (from_array(np.array(made).astype(rates.dtype).reshape(rates.shape)), input))


def _stirling_rest(k):
    """What Stirling's formula leaves out of log(k!)."""
    k += 1
    if k <= 10:
        return math.lgamma(k) - (k - 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi)
    square = k * k
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / k


def _binomial_small(n, p, draws):
    """The number of geometric waits that fit into n trials."""
    log, waited, k = math.log1p(-p), 0, -1
    while waited <= n:
        u = draws.uniform()
        waited, k = waited + (math.ceil(math.log(u) / log) if u else math.inf), k + 1
    return k


def _binomial_large(n, p, draws):
    """Hörmann's transformed rejection (BTRS)."""
    spread = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, tight, odds = n * p + 0.5, 0.92 - 4.2 / b, p / (1 - p)
    alpha, m = (2.83 + 5.1 / b) * spread, math.floor((n + 1) * p)
    while True:
        u, v = draws.uniform() - 0.5, draws.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + centre)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= tight:
            return k
        bound = ((m + 0.5) * math.log((m + 1) / (odds * (n - m + 1))) + (n + 1) * math.log((n - m + 1) / (n - k + 1))
                 + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
                 + _stirling_rest(m) + _stirling_rest(n - m) - _stirling_rest(k) - _stirling_rest(n - k))
        if v == 0 or math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _binomial(n, p, draws):
    if n <= 0 or p <= 0:
        return 0
    if p >= 1:
        return n
    if p > 0.5:
        return n - _binomial(n, 1 - p, draws)
    return (_binomial_large if n * p >= 10 else _binomial_small)(n, p, draws)


@of_parameters
def binomial(count, prob, generator=None):
    """Numbers of successes in `count` trials with the probabilities `prob`."""
    if not count.dtype.is_floating_point:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {count.dtype.legacy}")
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.legacy} but expected {count.dtype.legacy}")
    n, p = np.broadcast_arrays(count._numpy(), prob._numpy())
    with _Draws(generator) as draws:
        made = [math.nan if q != q else _binomial(m, q, draws)
                for m, q in zip(*(a.reshape(-1).astype(np.float64).tolist() for a in (n, p)))]
    return apply(TABLE["binomial"], (from_array(np.array(made, np.float64).astype(n.dtype).reshape(n.shape)), count, prob))


TORCH = {f.__name__: f for f in (_standard_gamma, _standard_gamma_grad, _sample_dirichlet, _dirichlet_grad, poisson, binomial)}
