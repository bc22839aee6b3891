"""torch.linalg's functions that look at what a factorisation reports, and the composites of linear algebra.

A singular or indefinite matrix raises at the call, which therefore computes; the *_ex functions do not look.
"""

import functools

import numpy as np

from torchish._C import _LinAlgError as LinAlgError
from torchish.api import bind, viewing
from torchish.api.bind import named, operand, put_out
from torchish.autograd.dispatch import apply
from torchish.autograd.modes import in_float32
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor

ROW = TABLE

common_notes = {
    "experimental_warning": "This function is experimental and may change.",
    "sync_note": "The function waits for the device.",
    "sync_note_ex": "The function waits for the device only when check_errors is True.",
    "sync_note_has_ex": "The function waits for the device; {} does not.",
}

SINGULAR = "The diagonal element {0} is zero, the inversion could not be completed because the input matrix is singular."
INDEFINITE = ("The factorization could not be completed because the input is not positive-definite (the leading minor of order {0} "
              "is not positive-definite).")
UNSOLVABLE = "The solver failed because the input matrix is singular."
ZERO_PIVOT = ("U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
              "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")

# PyTorch fails with an internal error here, which ends with the same number
ZERO_BLOCK = "Unknown error code: {0}. D[{0},{0}] is zero."

_EPS = {4: 2.0 ** -23, 8: 2.0 ** -52}      # of the two precisions, by their size


def check(name, info, text, kind=LinAlgError):
    """Raise what a factorisation reports of its first matrix that failed. Under a user's JAX trace there is nothing to look at."""
    if info._aval.traced:
        return
    codes = info._numpy()
    if codes.any():
        which = int(codes.reshape(-1).nonzero()[0][0])
        batch = f"(Batch element {which}): " if codes.ndim else ""
        raise kind(f"{name}: {batch}" + text.format(int(codes.reshape(-1)[which])))


def _tensors(function, **given):
    for position, (name, x) in enumerate(given.items(), 1):
        if not isinstance(x, Tensor):
            operand(x, function, name, position, False)


def _result(name, fields, values, out):
    """The values under PyTorch's return type, written into `out` where it is given."""
    result = named(name, fields)(*values)
    return result if out is None else put_out(name, result, out)


def _one(name, value, out):
    return value if out is None else put_out(name, value, out)


# ---- inverses and solutions

def inv_ex(A, *, check_errors=False, out=None):
    """The inverse, and in `info` where the elimination met a zero (0: nowhere)."""
    _tensors("linalg_inv_ex", A=A)
    inverse, info = apply(ROW["linalg_inv_ex"], (A,))
    if check_errors:
        check("linalg.inv_ex", info, SINGULAR)
    return _result("linalg_inv_ex", "inverse info", (inverse, info), out)


def inv(A, *, out=None):
    """The inverse of a square matrix."""
    _tensors("linalg_inv", A=A)
    inverse, info = apply(ROW["linalg_inv_ex"], (A,))
    check("linalg.inv", info, SINGULAR)
    return _one("linalg_inv", inverse, out)


def inverse(input, *, out=None):
    """The inverse of a square matrix."""
    return inv(input, out=out)


def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """X of AX = B, and in `info` where the elimination met a zero (0: nowhere)."""
    _tensors("linalg_solve_ex", A=A, B=B)
    x, info = apply(ROW["linalg_solve_ex"], (A, B), (bool(left),))
    if check_errors:
        check("torch.linalg.solve_ex", info, UNSOLVABLE)
    return _result("linalg_solve_ex", "result info", (x, info), out)


@in_float32
def solve(A, B, *, left=True, out=None):
    """X of AX = B, or of XA = B."""
    _tensors("linalg_solve", A=A, B=B)
    x, info = apply(ROW["linalg_solve_ex"], (A, B), (bool(left),))
    check("torch.linalg.solve", info, UNSOLVABLE)
    return _one("linalg_solve", x, out)


def tensorinv(A, ind=2, *, out=None):
    """The inverse of a tensor as a map between its leading and trailing dimensions."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = A.shape[ind:] + A.shape[:ind]
    rows, columns = A.shape[ind:].numel(), A.shape[:ind].numel()
    if rows != columns:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                           f"{rows} != {columns}")
    flat, info = apply(ROW["linalg_inv_ex"], (viewing.reshape(A, (columns, rows)),))
    check("inv", info, SINGULAR)
    return _one("linalg_tensorinv", viewing.reshape(flat, shape), out)


def tensorsolve(A, B, dims=None, *, out=None):
    """X of tensordot(A, X, X.ndim) = B."""
    if dims:
        A = viewing.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim:]
    n = shape.numel()
    if n != A.shape[:B.ndim].numel():
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
                           f"but got {n} != {A.shape[:B.ndim].numel()}")
    x = solve(viewing.reshape(A, (n, n)), viewing.reshape(B, (-1,)))
    return _one("linalg_tensorsolve", viewing.reshape(x, shape), out)


# ---- Cholesky

def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """The Cholesky factor, and in `info` the order of the first leading minor that is not positive (0: none)."""
    _tensors("linalg_cholesky_ex", A=A)
    factor, info = apply(ROW["linalg_cholesky_ex"], (A,), (bool(upper),))
    if check_errors:
        check("linalg.cholesky_ex", info, INDEFINITE)
    return _result("linalg_cholesky_ex", "L info", (factor, info), out)


def linalg_cholesky(A, *, upper=False, out=None):
    """The Cholesky factor of a Hermitian positive-definite matrix."""
    _tensors("linalg_cholesky", A=A)
    factor, info = apply(ROW["linalg_cholesky_ex"], (A,), (bool(upper),))
    check("linalg.cholesky", info, INDEFINITE)
    return _one("linalg_cholesky", factor, out)


def cholesky(input, upper=False, *, out=None):
    """The Cholesky factor; torch.linalg.cholesky is its successor."""
    _tensors("cholesky", input=input)
    factor, info = apply(ROW["cholesky_ex"], (input,), (bool(upper),))
    check("cholesky", info, INDEFINITE)
    return _one("cholesky", factor, out)


# ---- LU

def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """The compact LU factorisation, and in `info` the first zero on the diagonal of U (0: none)."""
    _tensors("linalg_lu_factor_ex", A=A)
    lu, pivots, info = apply(ROW["linalg_lu_factor_ex"], (A,), (bool(pivot),))
    if check_errors:
        check("torch.linalg.lu_factor_ex", info, ZERO_PIVOT, RuntimeError)
    return _result("linalg_lu_factor_ex", "LU pivots info", (lu, pivots, info), out)


def lu_factor(A, *, pivot=True, out=None):
    """The compact LU factorisation, for lu_solve."""
    _tensors("linalg_lu_factor", A=A)
    lu, pivots, info = apply(ROW["linalg_lu_factor_ex"], (A,), (bool(pivot),))
    check("torch.linalg.lu_factor", info, ZERO_PIVOT, RuntimeError)
    return _result("linalg_lu_factor", "LU pivots", (lu, pivots), out)


@in_float32
def lu(A, pivot=True, get_infos=False, out=None):
    """The compact LU factorisation; torch.linalg.lu_factor is its successor."""
    _tensors("lu", A=A)
    result = apply(ROW["linalg_lu_factor_ex"], (A,), (bool(pivot),))
    result = result if get_infos else result[:2]
    return result if out is None else tuple([put_out("lu", r, o) for r, o in zip(result, out)])


def lu_method(self, pivot=True, get_infos=False):
    """See torch.lu."""
    return lu(self, pivot, get_infos)


def linalg_lu(A, *, pivot=True, out=None):
    """The factors of A = P L U."""
    _tensors("linalg_lu", A=A)
    order, low, up = apply(ROW["linalg_lu"], (A,), (bool(pivot),))
    return _result("linalg_lu", "P L U", (_permutation(order, A.dtype), low, up), out)


def _permutation(order, dtype):
    return apply(ROW["lu_permutation"], (order,), (dtype,))


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """The factors of a compact LU factorisation."""
    _tensors("lu_unpack", LU_data=LU_data, LU_pivots=LU_pivots)
    if LU_pivots.dtype is not dtypes.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function "
                           "is intended to be used with the output produced by torch.linalg.lu_factor")
    p = low = up = LU_data.new_empty((0,))
    if unpack_pivots:
        p = _permutation(apply(ROW["lu_order"], (LU_pivots,), (LU_data.shape[-2],)), LU_data.dtype)
    if unpack_data:
        low, up = apply(ROW["lu_unpack"], (LU_data,))
    return _result("lu_unpack", "P L U", (p, low, up), out)


def lu_solve(input, LU_data, LU_pivots, *, out=None):
    """X of AX = input, by the LU factorisation of A."""
    _tensors("lu_solve", input=input, LU_data=LU_data, LU_pivots=LU_pivots)
    return _one("lu_solve", apply(ROW["linalg_lu_solve"], (LU_data, LU_pivots, input), (True, False)), out)


# ---- LDL

def ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None):
    """The compact LDL factorisation, and in `info` the first zero on the diagonal of D (0: none)."""
    _tensors("linalg_ldl_factor_ex", A=A)
    factor, pivots, info = apply(ROW["linalg_ldl_factor_ex"], (A,), (bool(hermitian),))
    if check_errors:
        check("torch.linalg.ldl_factor_ex", info, ZERO_BLOCK, RuntimeError)
    return _result("linalg_ldl_factor_ex", "LD pivots info", (factor, pivots, info), out)


def ldl_factor(A, *, hermitian=False, out=None):
    """The compact LDL factorisation, for ldl_solve."""
    _tensors("linalg_ldl_factor", A=A)
    factor, pivots, info = apply(ROW["linalg_ldl_factor_ex"], (A,), (bool(hermitian),))
    check("torch.linalg.ldl_factor", info, ZERO_BLOCK, RuntimeError)
    return _result("linalg_ldl_factor", "LD pivots", (factor, pivots), out)


# ---- least squares

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@in_float32
def lstsq(input, b, rcond=None, *, driver=None, out=None):
    """Least squares: the solution, residuals, rank and singular values that PyTorch gives with each driver."""
    _tensors("linalg_lstsq", input=input, b=b)
    A, driver = input, "gelsy" if driver is None else driver
    _lstsq_operands(A, b, driver)
    rcond = max(A.shape[-2:]) * _EPS[A.dtype.to_real().itemsize] if rcond is None else float(rcond)
    solution, residuals = apply(ROW["linalg_lstsq"], (A, b), (rcond, driver))
    rank, values = apply(ROW["lstsq_rank"], (A,), (rcond,))
    if driver == "gels":
        rank = rank.new_empty((0,))
    elif A.shape[-2] > A.shape[-1] and driver != "gelsy" and not rank._aval.traced and (rank._numpy() < A.shape[-1]).any():
        residuals = values.new_empty((0,))
    if driver in ("gels", "gelsy"):
        values = values.new_empty((0,))
    return _result("linalg_lstsq", "solution residuals rank singular_values", (solution, residuals, rank, values), out)


def _lstsq_operands(A, b, driver):
    for name, x, least in (("input", A, 2), ("other", b, 1)):
        if x.ndim < least:
            raise RuntimeError(f"torch.linalg.lstsq: {name} must have at least {least} dimension{'s' if least > 1 else ''}.")
    if not 0 <= A.ndim - b.ndim <= 1:
        raise RuntimeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    rows = b.shape[-1 if A.ndim - b.ndim == 1 else -2]
    if A.shape[-2] != rows:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if A.ndim - b.ndim == 1 else -2})")
    if A.dtype is not b.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                           f"{A.dtype.legacy} and other's dtype {b.dtype.legacy}")
    if A.dtype.category < 2 or A.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if driver not in DRIVERS:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")


# ---- singular values

def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The number of singular values above max(atol, rtol * the largest)."""
    _tensors("linalg_matrix_rank", A=A)
    if tol is not None:
        atol, rtol = tol, 0.0
    if rtol is None:
        rtol = max(A.shape[-2:]) * _EPS.get(A.dtype.to_real().itemsize, 0.0) if A.ndim > 1 else 0.0
        if isinstance(atol, Tensor):
            rtol = bind.torch["mul"](atol <= 0, rtol)
        elif atol:
            rtol = 0.0
    return _one("linalg_matrix_rank", apply(ROW["linalg_matrix_rank"], (A, 0.0 if atol is None else atol, rtol), (bool(hermitian),)), out)


def _looking(fn):
    """`fn` that refuses the nan which infinities and nan of the input become."""
    @functools.wraps(fn)
    def looking(*args, **kw):
        result = fn(*args, **kw)
        values = result if isinstance(result, Tensor) else result[1]
        if not values._aval.traced and not np.isfinite(values._numpy()).all():
            raise LinAlgError("linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.")
        return result
    return looking


svd = _looking(bind.torch["svd"])


# ---- views, products, statistics

def addbmm_(self, batch1, batch2, *, beta=1, alpha=1):
    """addbmm in place; as in PyTorch a tensor that has to be broadcast grows."""
    if self.ndim == 2 and self.shape == (batch1.shape[-2], batch2.shape[-1]):
        return _addbmm_(self, batch1, batch2, beta=beta, alpha=alpha)
    return put_out("addbmm_", bind.torch["addbmm"](self, batch1, batch2, beta=beta, alpha=alpha), self)


_addbmm_ = bind.method["addbmm_"]

def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of the matrices in the last two dimensions: a view."""
    _tensors("linalg_diagonal", A=A)
    return viewing.diagonal(A, offset, dim1, dim2)


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of the rows; negative weights are refused, so weights are looked at."""
    result = _cov(input, correction=correction, fweights=fweights, aweights=aweights)
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None and not w._aval.traced and (w._numpy() < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
    return result


_cov = bind.torch["cov"]

LINALG = {f.__name__: f for f in (
    inv_ex, inv, solve_ex, solve, tensorinv, tensorsolve, cholesky_ex, lu_factor_ex, lu_factor, ldl_factor_ex, ldl_factor, lstsq,
    matrix_rank, diagonal)}
LINALG |= {"cholesky": linalg_cholesky, "lu": linalg_lu} | {name: _looking(bind.linalg[name]) for name in ("svd", "svdvals")}
TORCH = {f.__name__: f for f in (inverse, cholesky, lu, lu_unpack, lu_solve, svd, cov)}
METHODS = {f.__name__: f for f in (inverse, cholesky, lu_solve, svd, addbmm_, cov)} | {"lu": lu_method}
bind.linalg.update(LINALG, LinAlgError=LinAlgError, common_notes=common_notes)
