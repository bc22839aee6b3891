"""Orthogonal polynomials by their three-term recurrences; the degree is a number or a tensor."""

import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.promote import cast, kernel, promote_float
from torchish.ops.table import op


def _polynomial(name, first, step, shift=None):
    """p0 = 1, p1 = first(x), p_{k+1} = step(k, x, p_k, p_{k-1}); 0 for negative degrees."""
    def row(x, n, /):
        x, n = jnp.broadcast_arrays(*promote_float(x, n))
        kernel(f"{name}_cpu", x, "f")
        if jnp.finfo(x.dtype).bits < 32:
            kernel(f"{name}_cpu", x, "")
        x = 2 * x - 1 if shift else x
        degree = cast(n, dtypes.int64)
        last = jnp.max(degree, initial=1)

        def body(state):
            k, p, q = state
            new = step(k.astype(x.dtype), x, p, q)
            return k + 1, jnp.where(k < degree, new, p), jnp.where(k < degree, p, q)
        # a nan stays: no need to go on when all are
        y = lax.while_loop(lambda s: (s[0] < last) & ~jnp.all(jnp.isnan(s[1])), body,
                           (jnp.ones((), "int64"), first(x), jnp.ones_like(x)))[1]
        return jnp.where(degree < 0, 0, jnp.where(degree == 0, 1, y))
    op(row, name="special_" + name, names="special", differentiable=False, numbers="01")


def _chebyshev(k, x, p, q):
    return 2 * x * p - q


for _kind, _first in (("t", lambda x: x), ("u", lambda x: 2 * x), ("v", lambda x: 2 * x - 1), ("w", lambda x: 2 * x + 1)):
    _polynomial(f"chebyshev_polynomial_{_kind}", _first, _chebyshev)
    _polynomial(f"shifted_chebyshev_polynomial_{_kind}", _first, _chebyshev, shift=True)
_polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)
_polynomial("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
_polynomial("legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
_polynomial("laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))
