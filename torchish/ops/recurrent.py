"""A layer of a recurrent network in one direction, as one scan over its steps."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchish.ops.table import op


def _gru(x, h, state):
    (rx, zx, nx), (rh, zh, nh) = jnp.split(x, 3, -1), jnp.split(h, 3, -1)
    reset, keep = jax.nn.sigmoid(rh + rx), jax.nn.sigmoid(zh + zx)
    new = jnp.tanh(nx + reset * nh)
    return ((state[0] - new) * keep + new,)


def _lstm(x, h, state):
    i, f, g, o = jnp.split(x + h, 4, -1)
    cell = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


# projections of the input and of the hidden state, and the state: the new state
_STEPS = {"rnn_tanh": lambda x, h, state: (jnp.tanh(x + h),), "rnn_relu": lambda x, h, state: (jax.nn.relu(x + h),), "gru": _gru,
          "lstm": _lstm}


def _places(sizes):
    """Which rows of the packed data each step's batch has, and which of them are there: both (steps, batch)."""
    there = np.arange(sizes[0]) < np.array(sizes)[:, None]
    return np.where(there, np.cumsum(there).reshape(there.shape) - 1, 0), there


@op(names="", keeps=True)
def recurrent(x, h, c, w_hh, b_hh, w_hr, /, mode, sizes, reverse=False):
    """`x` holds the projected input of all steps one after another, `sizes` their batches, which may shrink: a sequence that has
    ended keeps its state. (the hidden states like `x`, the last state); `c` is LSTM's cell and `w_hr` its projection."""
    even = sizes[-1] == sizes[0]
    places, there = _places(sizes)
    steps = x.reshape(*there.shape, x.shape[-1]) if even else x[places]

    def matmul(a, b):
        return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)

    def advance(state, at):
        given, live = at
        hidden = matmul(state[0], w_hh.T)
        new = _STEPS[mode](given, hidden if b_hh is None else hidden + b_hh, state)
        new = new if w_hr is None else (matmul(new[0], w_hr.T), new[1])
        new = new if live is None else tuple(jnp.where(live[:, None], n, s) for n, s in zip(new, state))
        return new, new[0]

    last, outs = lax.scan(advance, (h,) if c is None else (h, c), (steps, None if even else jnp.asarray(there)), reverse=reverse)
    return outs.reshape(-1, outs.shape[-1]) if even else outs[np.nonzero(there)], *last
