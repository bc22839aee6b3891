"""The LDL factorisation of symmetric and Hermitian matrices, with the pivoting of Bunch and Kaufman as LAPACK's sytrf.

Pivots count from 1; a pair of equal negative ones marks a block of two on the diagonal of D.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops.factor import floating, spread, square
from torchish.ops.table import op

_ALPHA = (1 + 17 ** 0.5) / 8


def _batched(fn, *operands):
    """`fn` of single matrices over the common batch."""
    for _ in range(operands[0].ndim - 2):
        fn = jax.vmap(fn)
    return fn(*operands)


def _size(x):
    return jnp.abs(x.real) + jnp.abs(x.imag) if jnp.iscomplexobj(x) else jnp.abs(x)


def _flip(x, hermitian):
    return jnp.conj(x) if hermitian else x


def _choose(w, k, hermitian):
    """(whether the next pivot is a block of two, the row that comes to its last place, whether the column is zero)."""
    n = w.shape[0]
    rows = jnp.arange(n)
    diagonal = jnp.abs(jnp.diagonal(w).real) if hermitian else _size(jnp.diagonal(w))
    column = jnp.where(rows > k, _size(w[:, k]), -1)
    far = jnp.argmax(column).astype(k.dtype)
    most = jnp.maximum(column[far], 0)
    row = jnp.max(jnp.where((rows >= k) & (rows != far), _size(w[:, far]), 0))
    here = diagonal[k]
    empty = jnp.maximum(here, most) == 0
    stay = empty | (here >= _ALPHA * most) | (here * row >= _ALPHA * most * most)
    two = ~stay & (diagonal[far] < _ALPHA * row)
    return two, jnp.where(stay, k, far), empty


def _swap(x, i, j):
    """Rows i and j exchanged."""
    a, b = x[i], x[j]
    return x.at[i].set(b).at[j].set(a)


def _column_pair(w, k, two):
    """Columns k and k + 1 of a matrix, the second zero where the pivot is single, and their rows as an invertible block."""
    n = w.shape[0]
    pair = jnp.stack([k, jnp.minimum(k + 1, n - 1)])
    columns = w[:, pair].at[:, 1].multiply(jnp.where(two, 1, 0).astype(w.dtype))
    block = columns[pair]
    block = jnp.where(two, block, jnp.diag(jnp.stack([block[0, 0], jnp.ones((), w.dtype)])))
    return pair, columns, block


def _invert(block):
    (a, b), (c, d) = block
    det = a * d - b * c
    return jnp.stack([jnp.stack([d, -b]), jnp.stack([-c, a])]) / det


def _factor(a, hermitian):
    n = a.shape[0]
    rows = jnp.arange(n)
    low = jnp.tril(a, -1)
    whole = low + _flip(low.T, hermitian) + jnp.diag(jnp.diagonal(a).real.astype(a.dtype) if hermitian else jnp.diagonal(a))

    def step(state):
        k, w, ld, pivots, info = state
        two, far, empty = _choose(w, k, hermitian)
        last = k + two.astype(k.dtype)
        w = _swap(_swap(w, last, far).T, last, far).T
        pair, columns, block = _column_pair(w, k, two)
        safe = jnp.where(empty, jnp.eye(2, dtype=w.dtype), block)
        factors = jnp.where((rows > last)[:, None], columns @ _invert(safe), 0)
        w = w - factors @ _flip(columns.T, hermitian)
        ld = ld.at[:, k].set(jnp.where(rows == k, block[0, 0], factors[:, 0]))
        second = jnp.where(rows == k + 1, block[1, 1], factors[:, 1])
        ld = jnp.where(two & (rows == k + 1)[None, :], second[:, None], ld)
        ld = jnp.where(two & (rows == k + 1)[:, None] & (rows == k)[None, :], block[1, 0], ld)
        code = jnp.where(two, -(far + 1), far + 1)
        pivots = jnp.where((rows == k) | (rows == last), code, pivots)
        return last + 1, w, ld, pivots, jnp.where(empty & (info == 0), k + 1, info)

    start = (jnp.int32(0), whole, jnp.zeros_like(a), jnp.zeros(n, "int32"), jnp.int32(0))
    _, _, ld, pivots, info = lax.while_loop(lambda state: state[0] < n, step, start)
    return jnp.tril(ld), pivots.astype("int32"), info.astype("int32")


@op(name="linalg_ldl_factor_ex", names="", multi="LD pivots info", underivable="aten::linalg_ldl_factor_ex")
def linalg_ldl_factor_ex(A, /, hermitian=False):
    square("torch.linalg.ldl_factor_ex", A)
    floating("torch.linalg.ldl_factor_ex", A, "ldl_factor_kernel_cpu")
    if not A.size:
        return A, jnp.zeros(A.shape[:-1], "int32"), jnp.zeros(A.shape[:-2], "int32")
    return _batched(partial(_factor, hermitian=hermitian), A)


def _blocks(pivots):
    """Where each place of D is the second of a block of two."""
    def step(inside, pivot):
        second = (pivot < 0) & inside
        return (pivot < 0) & ~inside, second
    return lax.scan(step, jnp.asarray(False), pivots)[1]


def _solve(ld, pivots, b, hermitian):
    n = ld.shape[0]
    rows = jnp.arange(n)
    second = _blocks(pivots)
    low = jnp.tril(ld, -1)

    def parts(i):
        """What the column that ends at i holds: single or first of its pair, and the multipliers below its block."""
        two = second[i]
        start = i - two.astype(i.dtype)
        pair, columns, block = _column_pair(ld, start, two)
        multipliers = jnp.where((rows > i)[:, None], low[:, pair] * jnp.stack([jnp.ones((), ld.dtype), jnp.where(two, 1, 0)]), 0)
        upper = jnp.where(two, _flip(block[1, 0], hermitian), 0)
        return pair, multipliers, block.at[0, 1].set(upper), jnp.abs(pivots[i]) - 1

    def ends(i):
        return second[i] | (pivots[i] > 0)

    def down(i, b):
        pair, multipliers, block, far = parts(i)
        moved = _swap(b, i, far)
        moved = moved - multipliers @ moved[pair]
        solved = _invert(block) @ moved[pair]
        two = second[i]
        moved = moved.at[pair[0]].set(solved[0])
        moved = jnp.where(two & (rows == pair[1])[:, None], solved[1], moved)
        return jnp.where(ends(i), moved, b)

    def up(j, b):
        i = n - 1 - j
        pair, multipliers, _, far = parts(i)
        change = _flip(multipliers.T, hermitian) @ b
        moved = b.at[pair[0]].add(-change[0])
        moved = jnp.where(second[i] & (rows == pair[1])[:, None], b - change[1], moved)
        return jnp.where(ends(i), _swap(moved, i, far), b)

    return lax.fori_loop(0, n, up, lax.fori_loop(0, n, down, b))


@op(names="linalg", differentiable=False)
def linalg_ldl_solve(LD, pivots, B, /, *, hermitian=False):
    square("torch.linalg.ldl_solve", LD)
    floating("torch.linalg.ldl_solve", LD, "ldl_solve_kernel_cpu")
    if B.ndim < 2:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    if LD.dtype != B.dtype:
        raise RuntimeError("torch.linalg.ldl_solve: Expected LD and B to have the same dtype")
    ld, b = spread(LD, B)
    if not b.size:
        return b
    return _batched(lambda l, r, p: _solve(l, p[:, 0], r, hermitian), ld, b,
                    jnp.broadcast_to(pivots[..., None], ld.shape[:-1] + (1,)))
