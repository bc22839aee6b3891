"""Spectra of matrices, and what is computed from them: functions, norms and ranks of matrices."""

import math

import jax
import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.factor import adjoint, eye_like, floating, hermitian, only_full, square
from torchish.ops.pointwise import magnitude
from torchish.ops.promote import cast, dtype_of, wrap_dim, wrap_dims
from torchish.ops.reduce import norm_operand, vector_norm
from torchish.ops.table import op

# ---- spectra

def _svd(a, full, vectors=True):
    if a.ndim < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    floating("linalg.svd", a, "linalg_svd_cpu")
    if full and vectors and a.shape[-1] != a.shape[-2]:
        return _full_svd(a)
    return jnp.linalg.svd(a, full_matrices=False, compute_uv=vectors)


@jax.custom_jvp
def _full_svd(a):
    return tuple(jnp.linalg.svd(a, full_matrices=True))


@_full_svd.defjvp
def _full_svd_jvp(primals, tangents):
    return jax.jvp(_thin_and_rest, primals, tangents)


def _thin_and_rest(a):
    """As PyTorch differentiates it: the singular vectors beyond the singular values are constants."""
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    more_u, _, more_vh = jnp.linalg.svd(lax.stop_gradient(a), full_matrices=True)
    k = s.shape[-1]
    return jnp.concatenate([u, more_u[..., k:]], -1), s, jnp.concatenate([vh, more_vh[..., k:, :]], -2)


@op(names="linalg", multi="U S Vh", saves="rij", keeps=True)
def linalg_svd(A, /, full_matrices=True, *, driver=None):
    _no_driver(driver)
    return tuple(_svd(A, full_matrices))


@op(multi="U S V", node="LinalgSvdBackward0", saves="rij", keeps=True)
def svd(input, /, some=True, compute_uv=True):
    if input.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    if not compute_uv:
        m, n = input.shape[-2:]
        return (jnp.zeros(input.shape[:-2] + (m, m), input.dtype), _svd(input, False, False),
                jnp.zeros(input.shape[:-2] + (n, n), input.dtype))
    u, s, vh = _svd(input, not some)
    return u, s, adjoint(vh)


@op(names="linalg", node="LinalgSvdBackward0", saves="r", keeps=True)
def linalg_svdvals(A, /, *, driver=None):
    _no_driver(driver)
    return _svd(A, False, False)


def _no_driver(driver):
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def eigh(name, a, uplo):
    square(name, a)
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    only_full("linalg_eigh_cpu", a)
    vectors, values = lax.linalg.eigh(hermitian(a, uplo.upper() == "U"), symmetrize_input=False)
    return values, vectors


@op(names="linalg", multi="eigenvalues eigenvectors", saves="ri", keeps=True)
def linalg_eigh(A, /, UPLO="L"):
    return eigh("linalg.eigh", A, UPLO)


@op(names="linalg", node="LinalgEighBackward0", saves="r", keeps=True)
def linalg_eigvalsh(A, /, UPLO="L"):
    return eigh("linalg.eigvalsh", A, UPLO)[0]


def _eig(name, a, vectors):
    square(name, a)
    if dtype_of(a).category < 2:
        raise RuntimeError(f"Unknown Complex ScalarType for {dtype_of(a).legacy}")
    only_full("linalg_eig_out_cpu", a)
    if not a.size:
        kind = dtype_of(a).to_complex().np
        return jnp.zeros(a.shape[:-1], kind), jnp.zeros(a.shape, kind)
    return tuple(lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=vectors, enable_eigvec_derivs=True))


@op(names="linalg", multi="eigenvalues eigenvectors", saves="ri", keeps=True)
def linalg_eig(A, /):
    return _eig("linalg.eig", A, True)


@op(names="linalg", node="LinalgEigBackward0", saves="r", keeps=True)
def linalg_eigvals(A, /):
    return _eig("linalg.eigvals", A, False)[0]


# ---- functions of matrices

@op(names="linalg", saves="0r", keeps=True)
def linalg_pinv(A, /, *, atol=None, rtol=None, hermitian=False):
    d = dtype_of(A)
    if A.ndim < 2 or d.category < 2 or d.itemsize == 2:
        raise RuntimeError(f"linalg.pinv({d.legacy}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
                           "cfloat or cdouble types")
    if rtol is None and atol is None:
        rtol = max(A.shape[-2:]) * float(jnp.finfo(A.dtype).eps)
    if hermitian:
        s, u = eigh("linalg.pinv", A, "L")
        cut = jnp.maximum(atol or 0.0, (rtol or 0.0) * jnp.max(jnp.abs(s), axis=-1, keepdims=True, initial=0))
        inv = jnp.where(jnp.abs(s) > cut, 1 / jnp.where(jnp.abs(s) > cut, s, 1), 0)
        return (u * inv[..., None, :].astype(A.dtype)) @ adjoint(u)
    if not atol:
        return jnp.linalg.pinv(A, rtol=rtol or 0.0)
    u, s, vh = jnp.linalg.svd(A, full_matrices=False)
    cut = jnp.maximum(atol, (rtol or 0.0) * s[..., :1])
    inv = jnp.where(s > cut, 1 / jnp.where(s > cut, s, 1), 0)
    return adjoint(vh) @ (inv[..., None].astype(A.dtype) * adjoint(u))


@op(names="linalg", aliases="torch.matrix_power method.matrix_power")
def linalg_matrix_power(A, /, n):
    if not isinstance(n, int):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    square("linalg.matrix_power", A)
    base = jnp.linalg.inv(A) if n < 0 else A
    out, n = None, abs(n)
    if n == 0:
        return jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    while n:
        if n & 1:
            out = base if out is None else out @ base
        n >>= 1
        base = base @ base if n else base
    return out


# 1-norm up to which the series below is exact to rounding
_SERIES = {8: 1.0902, 4: 3.0101}
_SQUARINGS = 16


@op(names="linalg", aliases="torch.matrix_exp method.matrix_exp", keeps=True)
def linalg_matrix_exp(A, /):
    square("linalg.matrix_exp", A)
    d = dtype_of(A)
    if d.category < 2:
        raise RuntimeError(f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {d.legacy}")
    return cast(_exponential(cast(A, dtypes.float32) if d.itemsize == 2 else A), d) if A.size else A


def _exponential(a):
    """The Taylor series of a / 2^k, squared k times."""
    size = jnp.max(jnp.sum(magnitude(lax.stop_gradient(a)), axis=-2), axis=-1)
    limit = _SERIES[a.real.dtype.itemsize]
    k = jnp.clip(jnp.ceil(jnp.log2(jnp.maximum(size, limit) / limit)), 0, _SQUARINGS)[..., None, None]
    y = _series(a / (2 ** k).astype(a.dtype))

    def square_once(y, i):
        return lax.cond(jnp.any(i < k), lambda y: jnp.where(i < k, y @ y, y), lambda y: y, y), None
    return lax.scan(square_once, y, jnp.arange(_SQUARINGS))[0]


def _series(a):
    """The first 20 terms of the exponential series, in blocks of four."""
    powers = [eye_like(a), a, a @ a]
    powers.append(a @ powers[2])
    fourth = powers[2] @ powers[2]
    y = jnp.zeros_like(a)
    for block in reversed(range(0, 20, 4)):
        y = y @ fourth + sum(p / math.factorial(block + i) for i, p in enumerate(powers))
    return y


@op(names="", differentiable=False)
def linalg_matrix_rank(A, atol, rtol, /, hermitian=False):
    """How many singular values lie above both tolerances, which may be tensors of the batch's shape."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if dtype_of(A).category < 2 or dtype_of(A).itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    s = jnp.abs(jnp.linalg.eigvalsh(A)) if hermitian else jnp.linalg.svd(A, compute_uv=False)
    atol, rtol = (jnp.asarray(t)[..., None] for t in (atol, rtol))
    return jnp.sum(s > jnp.maximum(atol, rtol * jnp.max(s, axis=-1, keepdims=True, initial=0)), axis=-1).astype("int64")


def _extreme(x, ord, dim):
    """The largest (or for a negative order the smallest) along a dimension; of nothing, 0 is the largest."""
    if x.shape[dim]:
        return (jnp.max if ord > 0 else jnp.min)(x, axis=dim)
    if ord < 0:
        raise IndexError(f"amin(): Expected reduction dim {dim} to have non-zero size.")
    return jnp.sum(x, axis=dim)


def _matrix_norm(x, ord, dims, keepdim):
    row, col = dims
    if ord == "fro":
        return vector_norm(x, 2, (row, col), keepdim)
    if ord in ("nuc", 2, -2):
        s = jnp.linalg.svd(jnp.moveaxis(x, (row, col), (-2, -1)), compute_uv=False)
        y = jnp.sum(s, -1) if ord == "nuc" else _extreme(s, ord, -1)
        return jnp.expand_dims(y, sorted((row, col))) if keepdim else y
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    inner, outer = (row, col) if abs(ord) == 1 else (col, row)
    total = jnp.sum(magnitude(x), axis=inner, keepdims=True)
    y = jnp.expand_dims(_extreme(total, ord, outer), outer)
    return y if keepdim else jnp.squeeze(y, (row, col))


def _of_spectrum(ord, *rest):
    """Whether a norm of this order looks at the singular values."""
    return ord in ("nuc", 2, -2)


# the last step of a matrix norm, by (ord, keepdim); norms of singular values save nothing that a user holds
_LAST_STEP = {(ord, keep): ("PermuteBackward0" if keep and ord in (2, -2, "nuc") else node, "" if ord in (2, -2, "nuc") else "0")
              for keep in (False, True)
              for node, orders in (("SumBackward1", ("nuc",)), ("AmaxBackward0", (2, 1, math.inf)), ("AminBackward0", (-2, -1, -math.inf)))
              for ord in orders}


@op(names="linalg", saves="0r", node="LinalgVectorNormBackward0", keeps=_of_spectrum, by="(ord, keepdim)", variants=_LAST_STEP)
def linalg_matrix_norm(A, /, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    x = norm_operand("linalg.matrix_norm", A, dtype)
    if x.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    return _matrix_norm(x, ord, tuple(wrap_dim(d, x.ndim) for d in dim), keepdim)


@op(names="linalg", saves="0r", node="LinalgVectorNormBackward0", keeps=_of_spectrum, variants=_LAST_STEP,
    by="(ord, keepdim) if (A._aval.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2) else None")
def linalg_norm(A, /, ord=None, dim=None, keepdim=False, *, dtype=None):
    x = norm_operand("linalg.vector_norm" if ord is None else "linalg.norm", A, dtype)
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is not None and (dims is not None and len(dims) == 2 or dims is None and x.ndim == 2):
        dims = (0, 1) if dims is None else tuple(wrap_dim(d, x.ndim) for d in dims)
        return _matrix_norm(x, ord, dims, keepdim)
    if ord is not None and dims is None and x.ndim > 2:
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{x.ndim}D.")
    return vector_norm(x, 2 if ord is None else ord, wrap_dims(dims, x.ndim), keepdim)


@op(names="linalg", saves="", keeps=True, node="SqueezeBackward1", by="p",
    variants={"nuc": "MulBackward0"} | dict.fromkeys(("fro", 1, -1, math.inf, -math.inf), "NanToNumBackward0"))
def linalg_cond(A, /, p=None):
    if p in (None, 2, -2):
        s = jnp.linalg.svd(A, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    square(f"linalg.cond(ord={p})", A)
    dims = (A.ndim - 2, A.ndim - 1)
    y = _matrix_norm(A, p, dims, False) * _matrix_norm(jnp.linalg.inv(A), p, dims, False)
    return jnp.where(jnp.isnan(y), jnp.inf, y)      # a singular matrix


@op(names="linalg", saves="0", node="CatBackward0")
def linalg_vander(x, /, *, N=None):
    x = jnp.atleast_1d(x)
    if dtype_of(x).category < 2:
        x = cast(x, dtypes.int64)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x[..., None]
    ones = jnp.ones(x.shape[:-1] + (1,), x.dtype)
    return jnp.concatenate([ones, jnp.cumprod(jnp.broadcast_to(x, x.shape[:-1] + (n - 1,)), axis=-1)], -1)


@op(names="torch", node="DivBackward0")
def vander(x, /, N=None, increasing=False):
    n = x.shape[0] if N is None else N
    p = jnp.stack([x ** i for i in range(n)], axis=-1) if n else jnp.zeros(x.shape + (0,), x.dtype)
    return p if increasing else p[..., ::-1]
