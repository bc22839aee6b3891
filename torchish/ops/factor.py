"""Factorisations of matrices (LU, Cholesky, QR), and the determinants, inverses and solvers that rest on them.

The rows named *_ex give what LAPACK says in `info` (0 or the place of failure); api/linalg.py turns it into errors.
"""

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops.promote import broadcast_shapes, dtype_of, kernel
from torchish.ops.table import op

# ---- what all of them ask of their operands

def square(name, a):
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices")


def floating(name, a, routine=None):
    """Refuse integers, and half precision as PyTorch does: by the routine that lacks it, or by the function."""
    d = dtype_of(a)
    if d.category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {d.legacy}")
    if d.itemsize == 2:
        if routine is None:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {d.legacy}")
        raise NotImplementedError(f'"{routine}" not implemented for \'{d.legacy}\'')


def only_full(routine, a):
    """Refuse all but single and double precision."""
    kernel(routine, a, "fc")
    floating("", a, routine)


def transposed(x):
    return jnp.swapaxes(x, -1, -2)


def adjoint(x):
    return jnp.conj(transposed(x))


def eye_like(a):
    return jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)


def spread(a, *others):
    """Matrices whose batches are broadcast to a common one."""
    xs = (a, *others)
    batch = ()
    for x in xs:
        batch = broadcast_shapes(batch, x.shape[:-2])
    return tuple(jnp.broadcast_to(x, batch + x.shape[-2:]) for x in xs)


# ---- LU

def _zero_pivot(lu):
    """The place of the first zero on the diagonal of U, from 1; 0 where there is none."""
    zero = jnp.diagonal(lu, axis1=-2, axis2=-1) == 0
    if not zero.shape[-1]:
        return jnp.zeros(lu.shape[:-2], "int32")
    return jnp.where(jnp.any(zero, -1), jnp.argmax(zero, -1) + 1, 0).astype("int32")


def _lu(name, a, pivot):
    """(LU, pivots from 0, the order of rows)."""
    if a.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    only_full("lu_cpu", a)
    return lax.linalg.lu(a)


@op(name="linalg_lu_factor_ex", names="", multi="LU pivots info", saves="ri", keeps=True)
def linalg_lu_factor_ex(A, /, pivot=True):
    lu, pivots, _ = _lu("torch.lu_factor", A, pivot)
    return lu, pivots.astype("int32") + 1, _zero_pivot(lu)


def _lower(lu):
    m, n = lu.shape[-2:]
    k = min(m, n)
    return jnp.tril(lu[..., :k], -1) + jnp.eye(m, k, dtype=lu.dtype)


def _upper(lu):
    return jnp.triu(lu[..., :min(lu.shape[-2:]), :])


@op(name="linalg_lu", names="", multi="order L U", saves="rij", keeps=True)
def linalg_lu(A, /, pivot=True):
    """The factors; instead of P the order of the rows, which no gradient reaches."""
    lu, _, order = _lu("linalg.lu", A, pivot)
    return order.astype("int64"), _lower(lu), _upper(lu)


@op(name="lu_unpack", names="", multi="L U", saves="")
def lu_unpack(LU, /):
    return _lower(LU), _upper(LU)


@op(name="lu_order", names="", differentiable=False)
def lu_order(pivots, /, rows):
    return lax.linalg.lu_pivots_to_permutation(pivots.astype("int32") - 1, rows).astype("int64")


@op(name="lu_permutation", names="", differentiable=False)
def lu_permutation(order, /, dtype):
    return transposed((order[..., None] == jnp.arange(order.shape[-1])).astype(dtype.np))


def triangular(a, b, upper, left=True, unit=False, transpose=False):
    a, b = spread(a, b)
    return lax.linalg.triangular_solve(a, b, left_side=left, lower=not upper, unit_diagonal=unit, transpose_a=transpose)


def _lu_solution(lu, order, b, conjugate):
    """X of A X = B, or of A^H X = B, where the rows of A in that order are L U."""
    lu, b = spread(lu, b)
    order = jnp.broadcast_to(order, lu.shape[:-1])[..., None]
    if not conjugate:
        y = triangular(lu, jnp.take_along_axis(b, order, -2), False, unit=True)
        return triangular(lu, y, True)
    y = triangular(adjoint(lu), b, False)
    return jnp.take_along_axis(triangular(adjoint(lu), y, True, unit=True), jnp.argsort(order, axis=-2), -2)


@op(name="linalg_lu_solve", names="linalg", saves="01r")
def linalg_lu_solve(LU, pivots, B, /, *, left=True, adjoint=False):
    floating("linalg.lu_solve", LU, "lu_cpu")
    if pivots.dtype != "int32":
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    _same("linalg.lu_solve", LU, B, "LU")
    square("torch.linalg.lu_solve", LU)
    if pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    _solvable("linalg.lu_solve", LU, B, left)
    order = lax.linalg.lu_pivots_to_permutation(pivots - 1, LU.shape[-1])
    b = B if left else _adjoint(B)
    y = _lu_solution(LU, order, b, adjoint if left else not adjoint)
    return y if left else _adjoint(y)


_adjoint = adjoint


def _same(name, a, b, first="A"):
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name}: Expected {first} and B to have the same dtype, but found {first} of type "
                           f"{dtype_of(a).legacy} and B of type {dtype_of(b).legacy} instead")


def _solvable(name, a, b, left):
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                           f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")


# ---- determinants, inverses, solutions

@op(name="linalg_det", names="linalg", aliases="torch.det method.det", saves="0r", keeps=True)
def linalg_det(A, /):
    square("linalg.det", A)
    floating("linalg.det", A, "lu_cpu")
    return jnp.linalg.det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)


@op(name="linalg_slogdet", names="linalg", aliases="torch.slogdet method.slogdet", multi="sign logabsdet", saves="0r", keeps=True)
def linalg_slogdet(A, /):
    square("linalg.slogdet", A)
    floating("linalg.slogdet", A)
    return tuple(jnp.linalg.slogdet(A))


@op(node="WhereBackward0", keeps=True)
def logdet(input, /):
    square("logdet", input)
    floating("logdet", input)
    sign, log = jnp.linalg.slogdet(input)
    return jnp.where(sign == 1, log, jnp.where(sign == 0, -jnp.inf, jnp.nan)) if dtype_of(input).category < 3 else (
        log + jnp.log(sign))


@jax.custom_jvp
def _inverse(lu, order, a):
    return _lu_solution(lu, order, eye_like(a), False)


@_inverse.defjvp
def _inverse_jvp(primals, tangents):
    y = _inverse(*primals)
    return y, -y @ tangents[2] @ y


def _inv_back(y, ct, a):
    return -adjoint(y[0]) @ ct[0] @ adjoint(y[0])


@op(name="linalg_inv_ex", names="", multi="inverse info", result=_inv_back, saves="r")
def linalg_inv_ex(A, /):
    square("linalg.inv", A)
    floating("linalg.inv", A)
    lu, _, order = lax.linalg.lu(lax.stop_gradient(A))
    return _inverse(lu, order, A), _zero_pivot(lu)


@op(name="linalg_solve_ex", names="", multi="result info", saves="0r", keeps=True)
def linalg_solve_ex(A, B, /, left=True):
    square("linalg.solve", A)
    floating("linalg.solve", A, "lu_cpu")
    _same("linalg.solve", A, B)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    b = B[..., None] if vector else B if left else transposed(B)
    a = A if left or vector else transposed(A)
    _solvable("linalg.solve", A, b if vector else B, left or vector)
    a, b = spread(a, b)
    lu, _, order = lax.linalg.lu(lax.stop_gradient(a))
    y = lax.custom_linear_solve(lambda x: jnp.matmul(a, x, precision=lax.Precision.HIGHEST), b,
                                lambda _, r: _lu_solution(lu, order, r, False),
                                lambda _, r: jnp.conj(_lu_solution(lu, order, jnp.conj(r), True)))
    return (y[..., 0] if vector else y if left else transposed(y)), _zero_pivot(lu)


@op(names="linalg", node="LinalgSolveTriangularBackward0", saves="0r")
def linalg_solve_triangular(A, B, /, *, upper, left=True, unitriangular=False):
    square("linalg.solve_triangular", A)
    if B.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _solvable("linalg.solve_triangular", A, B, left)
    return triangular(A, B, upper, left, unitriangular)


@op(multi="solution cloned_coefficient", saves="01r")
def triangular_solve(b, A, /, upper=True, transpose=False, unitriangular=False):
    return triangular(A, b, upper, True, unitriangular, transpose), A


# ---- Cholesky

def hermitian(a, upper):
    """The Hermitian matrix of one triangle; the derivative is shared by both, as in PyTorch."""
    half = (jnp.triu if upper else jnp.tril)(a, 1 if upper else -1)
    whole = half + adjoint(half) + jnp.eye(a.shape[-1], dtype=a.dtype) * a.real
    shared = (a + adjoint(a)) / 2
    return shared + lax.stop_gradient(whole - shared)


def _cholesky(name, a, upper):
    square(name, a)
    only_full("cholesky_cpu", a) if name == "cholesky" else floating(name, a, "cholesky_cpu")
    whole = hermitian(a, upper)
    low = jnp.linalg.cholesky(whole, symmetrize_input=False)
    return (adjoint(low) if upper else low), _bad_minor(lax.stop_gradient(whole), lax.stop_gradient(low))


def _bad_minor(a, low):
    """The order of the first leading minor that is not positive, found by elimination where the factor is no number."""
    n = a.shape[-1]
    none = jnp.zeros(a.shape[:-2], "int32")
    if not a.size:
        return none

    def eliminate(a):
        def step(k, state):
            a, info = state
            pivot = a[..., k, k].real
            bad = (info == 0) & ~(pivot > 0)
            column = jnp.where(jnp.arange(n) > k, a[..., :, k], 0)
            a = a - column[..., :, None] * jnp.conj(column)[..., None, :] / jnp.where(pivot == 0, 1, pivot)[..., None, None]
            return a, jnp.where(bad, jnp.int32(k + 1), info)
        return lax.fori_loop(0, n, step, (a, none))[1]
    return lax.cond(jnp.any(jnp.isnan(low)), eliminate, lambda a: none, a)


@op(name="linalg_cholesky_ex", names="", multi="L info", saves="r", keeps=True)
def linalg_cholesky_ex(A, /, upper=False):
    return _cholesky("linalg.cholesky", A, upper)


@op(name="cholesky_ex", names="", multi="L info", saves="r", node="CholeskyBackward0", keeps=True)
def cholesky_ex(A, /, upper=False):
    return _cholesky("cholesky", A, upper)


@jax.custom_jvp
def _cholesky_solve(b, low):
    half = triangular(low, b, False)
    return triangular(adjoint(low), half, True)


@_cholesky_solve.defjvp
def _cholesky_solve_jvp(primals, tangents):
    # PyTorch differentiates the product of the whole factor, not of its triangle
    (b, low), (tb, tl) = primals, tangents
    x = _cholesky_solve(b, low)
    change = tl @ jnp.conj(transposed(low)) + low @ jnp.conj(transposed(tl))
    return x, _cholesky_solve(tb - change @ x, low)


@op(saves="01r")
def cholesky_solve(input, input2, /, upper=False):
    if input2.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} "
                           f"but each b matrix is {input.shape[-2]} by {input.shape[-1]}")
    if input.dtype != input2.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {dtype_of(input).legacy} and A of type "
                           f"{dtype_of(input2).legacy} instead.")
    return _cholesky_solve(input, adjoint(input2) if upper else input2)


@op(saves="0r")
def cholesky_inverse(input, /, upper=False):
    square("cholesky_inverse", input)
    only_full("cholesky_inverse_out_cpu", input)
    return _cholesky_solve(eye_like(input), adjoint(input) if upper else input)


# ---- QR and products of reflections

@op(names="linalg", multi="Q R", saves="ri", keeps=True, by="(mode, A._aval.ndim > 1 and A._aval.shape[-2] > A._aval.shape[-1])", variants={
    ("r", tall): ("LinalgQrBackward0", "", "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                  "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.") for tall in (False, True)}
    | {("complete", True): ("LinalgQrBackward0", "", "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")})
def linalg_qr(A, /, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    if A.ndim < 2:
        raise RuntimeError("linalg.qr: The input tensor A must have at least 2 dimensions.")
    floating("linalg.qr", A, "geqrf_cpu")
    if mode == "r":
        return jnp.zeros((0,), A.dtype), jnp.linalg.qr(A, mode="r")
    return tuple(jnp.linalg.qr(A, mode=mode))


@op(multi="a tau", underivable="'geqrf'")
def geqrf(input, /):
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    only_full("geqrf_cpu", input)
    if not input.size:
        return input, jnp.zeros(input.shape[:-2] + (min(input.shape[-2:]),), input.dtype)
    a, tau = jnp.linalg.qr(input, mode="raw")
    return transposed(a), tau


def _reflect(vectors, tau, x, adjoint):
    """H1 H2 … Hk x, or the adjoint of that product times x, one reflection 1 - tau v v^H after the other."""
    m, k = vectors.shape[-2], tau.shape[-1]
    low = jnp.tril(vectors[..., :k], -1) + jnp.eye(m, k, dtype=x.dtype)
    if adjoint:
        tau = jnp.conj(tau)

    def step(x, reflection):
        v, t = reflection
        return x - t[..., None, None] * v[..., None] * (jnp.conj(v)[..., None, :] @ x), None
    return lax.scan(step, x, (jnp.moveaxis(low, -1, 0), jnp.moveaxis(tau, -1, 0)), reverse=not adjoint)[0]


def _reflections(name, a, tau):
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1] and name != "torch.ormqr":
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if a.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if a.ndim - tau.ndim != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
                           f"input.ndim is equal to {a.ndim}")
    if a.dtype != tau.dtype:
        raise RuntimeError(f"{name}: Expected input and tau to have the same dtype, but input has dtype{dtype_of(a).legacy} and tau "
                           f"has dtype {dtype_of(tau).legacy}")


@op(names="linalg", aliases="torch.orgqr method.orgqr", saves="01r")
def linalg_householder_product(input, tau, /):
    _reflections("torch.linalg.householder_product", input, tau)
    m, n = input.shape[-2:]
    return _reflect(input, tau, jnp.broadcast_to(jnp.eye(m, n, dtype=input.dtype), input.shape), False)


@op(saves="012r")
def ormqr(input, tau, other, /, left=True, transpose=False):
    _ormqr_shapes(input, tau, other, left)
    _reflections("torch.ormqr", input, tau)
    if input.dtype != other.dtype:
        raise RuntimeError(f"torch.ormqr: Expected input and other to have the same dtype, but input has dtype{dtype_of(input).legacy} "
                           f"and other has dtype {dtype_of(other).legacy}")
    if left:
        return _reflect(input, tau, other, transpose)
    return adjoint(_reflect(input, tau, adjoint(other), not transpose))


def _ormqr_shapes(a, tau, other, left):
    if a.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side, axis = (other.shape[-2], "-2") if left else (other.shape[-1], "-1")
    if side < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{axis}] must be greater than or equal to tau.shape[-1]")
    if tau.shape[-1] != min(side, a.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{axis}], input.shape[-1])")
    if side != a.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{axis}] must be equal to input.shape[-2]")
    if a.ndim != other.ndim:
        raise RuntimeError("torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
                           f"{other.ndim} and input.ndim is equal to {a.ndim}")


# ---- least squares

@op(name="linalg_lstsq", names="", multi="solution residuals", saves="01r", keeps=True)
def linalg_lstsq(A, B, /, rcond, driver):
    """The shortest solution; by QR for the driver that takes the rank for granted."""
    vector = A.ndim - 1 == B.ndim
    b = B[..., None] if vector else B
    m, n = A.shape[-2:]
    if driver != "gels":
        x = jnp.linalg.pinv(A, rtol=rcond) @ b
    elif m >= n:
        q, r = jnp.linalg.qr(A)
        x = triangular(r, adjoint(q) @ b, True)
    else:
        q, r = jnp.linalg.qr(adjoint(A))
        x = q @ triangular(adjoint(r), b, False)
    res = jnp.sum(jnp.abs(A @ x - b) ** 2, axis=-2) if m > n and driver != "gelsy" else jnp.zeros((0,), A.real.dtype)
    return (x[..., 0] if vector else x), res


@op(name="lstsq_rank", names="", multi="rank singular_values", differentiable=False)
def lstsq_rank(A, /, rcond):
    s = jnp.linalg.svd(A, compute_uv=False)
    top = jnp.max(s, axis=-1, keepdims=True, initial=0)
    return jnp.sum(s > rcond * top, axis=-1).astype("int64"), s
