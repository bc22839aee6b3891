"""Low-rank approximations and extreme eigenpairs: composites over torch.linalg."""

from torchish.api import bind, linalg
from torchish.api.overloads import matmul
from torchish.api.random import randn
from torchish.autograd.dispatch import apply
from torchish.autograd.modes import in_float32
from torchish.ops import TABLE


def _range(A, q, niter):
    """Orthonormal columns that nearly span A's leading columns: a random sketch, sharpened by power iterations."""
    qr = bind.linalg["qr"]
    q = qr(matmul(A, randn(A.shape[-1], q, dtype=A.dtype, device=A.device)))[0]
    for _ in range(niter):
        q = qr(matmul(A, qr(matmul(A.mH, q))[0]))[0]
    return q


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S, V of a rank-q approximation of A - M, by Halko, Martinsson and Tropp's randomized method."""
    A = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    A = A.mH if wide else A
    basis = _range(A, 6 if q is None else q, niter)
    u, s, vh = bind.linalg["svd"](matmul(basis.mH, A), full_matrices=False)
    u, v = matmul(basis, u), vh.mH
    return (v, s, u) if wide else (u, s, v)


def pca_lowrank(A, q=None, center=True, niter=2):
    """U, S, V of the leading principal components of the rows of A."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter=niter)


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):
    """The k largest (or smallest) eigenpairs of A x = e B x.

    Every torchish tensor is dense, so the pairs come from a full decomposition, exact whatever `tol`, `niter` and the other
    settings of the iteration say.
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if tracker is not None:
        raise NotImplementedError("torchish's lobpcg does not iterate, so there is nothing for a tracker to see; use tracker=None")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    m = A.shape[-1]
    if m < 3 * k:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
                         f"requested eigenpairs (={k})")
    if B is not None:
        half = linalg.linalg_cholesky(B)
        reduce = bind.linalg["solve_triangular"]
        A = reduce(half.mH, reduce(half, A, upper=False), upper=True, left=False)
    values, vectors = bind.linalg["eigh"](A)
    if largest is None or largest:
        values, vectors = (bind.torch["flip"](x[..., m - k:], (-1,)) for x in (values, vectors))
    else:
        values, vectors = values[..., :k], vectors[..., :k]
    return values, vectors if B is None else reduce(half.mH, vectors, upper=True)


# ---- older names

def qr(input, some=True, *, out=None):
    """The QR decomposition; torch.linalg.qr is its successor."""
    linalg._tensors("qr", input=input)
    mode = "reduced" if some else "complete"
    return linalg._result("qr", "Q R", apply(bind.variant(TABLE["linalg_qr"], A=input, mode=mode), (input,), (mode,)), out)


@in_float32
def pinverse(input, rcond=1e-15):
    """The pseudo-inverse; torch.linalg.pinv is its successor."""
    return bind.linalg["pinv"](input, rtol=rcond)


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The 2-norm over some dimensions; torch.linalg.vector_norm is its successor."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return bind.linalg["vector_norm"](input, 2, dims or None, keepdim, out=out)


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of the singular values; torch.linalg.matrix_norm is its successor."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return bind.linalg["matrix_norm"](input, "nuc", tuple(dim), keepdim, out=out)


def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one."""
    if dim == -1:
        return bind.linalg["vector_norm"](v, pow)
    others = tuple(d for d in range(v.ndim) if d != dim % v.ndim)
    return bind.linalg["vector_norm"](v, pow, others, True)


def spmm(input, mat2):
    """The product of two matrices."""
    return bind.torch["mm"](input, mat2)


def saddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """A sum of sparse products, which no torchish tensor has."""
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


GONE = "This function was deprecated since version 1.9 and is now removed."


def eig(self, eigenvectors=False, *, e=None, v=None):
    """Removed from PyTorch; see torch.linalg.eig."""
    raise RuntimeError(f"{GONE} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors "
                       "mimicking complex tensors.")


def solve(input, A, *, out=None):
    """Removed from PyTorch; see torch.linalg.solve."""
    raise RuntimeError(f"{GONE} `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments "
                       "reversed and does not return the LU factorization.")


def lstsq(input, A, *, out=None):
    """Removed from PyTorch; see torch.linalg.lstsq."""
    raise RuntimeError(f"{GONE} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.")


def matrix_rank(input, tol=None, symmetric=False, *, out=None):
    """Removed from PyTorch; see torch.linalg.matrix_rank."""
    raise RuntimeError(f"{GONE}\nPlease use the `torch.linalg.matrix_rank` function instead.")


def symeig(input, eigenvectors=False, upper=True, *, out=None):
    """Removed from PyTorch; see torch.linalg.eigh."""
    raise RuntimeError(f"{GONE} The default behavior has changed from using the upper triangular portion of the matrix by default to "
                       "using the lower triangular portion.")


TORCH = {f.__name__: f for f in (
    svd_lowrank, pca_lowrank, lobpcg, qr, pinverse, frobenius_norm, nuclear_norm, norm_except_dim, spmm, saddmm, eig, solve, lstsq,
    matrix_rank, symeig)}
METHODS = {f.__name__: f for f in (qr, pinverse, eig, solve, lstsq, symeig)}
