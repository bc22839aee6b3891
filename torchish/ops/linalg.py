"""Matrix products, factorisations and solvers."""

import math

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax import lax

from torchish.ops.pointwise import ctype, magnitude
from torchish.ops.promote import broadcast_shapes, cast, dtype_of, kernel, promote, wrap_dim, wrap_dims
from torchish.ops.reduce import norm_operand, vector_norm
from torchish.ops.table import op

# ---- products

def _same(a, b, text="expected m1 and m2 to have the same dtype, but got: {} != {}"):
    if a.dtype != b.dtype:
        raise RuntimeError(text.format(ctype(a), ctype(b)))


def _product(a, b):
    """a @ b for two matrices or batches."""
    kernel("addmm_impl_cpu_", a, "ifc")
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def _matrices(a, b):
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")


@op()
def mm(input, mat2, /):
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _matrices(input, mat2)
    _same(input, mat2)
    return _product(input, mat2)


@op()
def mv(input, vec, /):
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {1}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec "
                           f"({vec.shape[0]})")
    _same(input, vec)
    return _product(input, vec)


@op()
def bmm(input, mat2, /):
    if input.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if mat2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if mat2.shape[:2] != (input.shape[0], input.shape[2]):
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{input.shape[0]}, {input.shape[2]}] but got: [{mat2.shape[0]}, {mat2.shape[1]}].")
    _same(input, mat2)
    return _product(input, mat2)


def _vectors(a, b):
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError("dot : expected both vectors to have same dtype, but found "
                           f"{dtype_of(a).legacy} and {dtype_of(b).legacy}")
    if a.shape != b.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same "
                           f"number of elements, but got {a.size} and {b.size} elements respectively")


@op()
def dot(input, tensor, /):
    _vectors(input, tensor)
    return _product(input, tensor)


@op()
def vdot(input, other, /):
    _vectors(input, other)
    return _product(jnp.conj(input), other)


@op(aliases="linalg.matmul", node="UnsafeViewBackward0")
def matmul(input, other, /):
    a, b = input, other
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D, but they are "
                           f"{a.ndim}D and {b.ndim}D")
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 2 and b.ndim == 1:
        return mv(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return mm(a, b) if a.ndim == 2 else mm(a[None], b)[0]
    left, right = (a if a.ndim > 1 else a[None]), (b if b.ndim > 1 else b[:, None])
    broadcast_shapes(left.shape[:-2], right.shape[:-2])
    if left.shape[-1] != right.shape[-2]:
        batch = math.prod(broadcast_shapes(left.shape[:-2], right.shape[:-2]))
        if b.ndim <= 2 or a.ndim <= 2 and b.ndim <= 2:
            rows = math.prod(a.shape[:-1])
            cols = right.shape[-1]
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a.shape[-1]} and "
                               f"{right.shape[-2]}x{cols})" if b.ndim == 2 else
                               f"size mismatch, got input ({rows}), mat ({rows}x{a.shape[-1]}), vec ({b.shape[0]})")
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{batch}, {left.shape[-1]}] but got: [{batch}, {right.shape[-2]}].")
    _same(a, b)
    return _product(a, b)


@op(name="vecmat", names="", node="SqueezeBackward4")
def vecmat(input, other, /):
    """A vector times a matrix."""
    return mm(input[None], other)[0]


@op(aliases="ger", node="MulBackward0")
def outer(input, vec2, /):
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    a, b = promote(input[:, None], vec2[None, :])
    return a * b


@op(node="ViewBackward0")
def inner(input, other, /):
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    _same(input, other, "expected scalar type {} but found {}")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.shape)} and {list(other.shape)}")
    return jnp.inner(input, other, precision=lax.Precision.HIGHEST)


def _affine(input, beta, alpha, product):
    """beta * input + alpha * product; a zero beta ignores nan in the input."""
    d = dtype_of(product)
    out = product if isinstance(alpha, (int, float)) and alpha == 1 else cast(alpha, d) * product
    if isinstance(beta, (int, float)) and beta == 0:
        return jnp.broadcast_to(out, jnp.broadcast_shapes(input.shape, out.shape))
    _expandable(input.shape, product.shape)
    return (input if isinstance(beta, (int, float)) and beta == 1 else cast(beta, d) * input) + out


def _expandable(shape, target):
    """Refuse a shape that does not broadcast to the target."""
    i = next((i for i in range(1, len(shape) + 1) if i > len(target) or shape[-i] not in (1, target[-i])), None)
    if i is None:
        return
    if len(shape) > len(target):
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided "
                f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    raise RuntimeError(
            f"The expanded size of the tensor ({target[-i]}) must match the existing size ({shape[-i]}) at non-singleton "
            f"dimension {len(target) - i}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}")


@op(inplace=True)
def addmm(input, mat1, mat2, beta=1, alpha=1, /):
    _matrices(mat1, mat2)
    _same(mat1, mat2)
    if input.dtype != mat1.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {dtype_of(input).legacy} and "
                           f"{dtype_of(mat2).legacy}")
    return _affine(input, beta, alpha, _product(mat1, mat2))


@op(inplace=True)
def addmv(input, mat, vec, beta=1, alpha=1, /):
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.size}), mat ({mat.shape[0]}x{mat.shape[1]}), vec "
                           f"({vec.shape[0]})")
    return _affine(input, beta, alpha, _product(mat, vec))


@op(inplace=True)
def addr(input, vec1, vec2, beta=1, alpha=1, /):
    a, b = promote(vec1[:, None], vec2[None, :])
    return _affine(cast(input, dtype_of(a)), beta, alpha, a * b)


@op(inplace=True)
def baddbmm(input, batch1, batch2, beta=1, alpha=1, /):
    return _affine(input, beta, alpha, bmm(batch1, batch2))


@op(inplace=True)
def addbmm(input, batch1, batch2, beta=1, alpha=1, /):
    return _affine(input, beta, alpha, jnp.sum(bmm(batch1, batch2), axis=0))


@op(names="functional", node="UnsafeViewBackward0")
def linear(input, weight, bias=None, /):
    """The general case; rows of its own stand for what PyTorch gives another node."""
    w = weight if weight.ndim > 1 else weight[None]
    flat = math.prod(input.shape[:-1])
    if input.ndim == 0 or input.shape[-1] != w.shape[1]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({flat}x{input.shape[-1] if input.ndim else 1} and "
                           f"{w.shape[1]}x{w.shape[0]})")
    if bias is not None and input.dtype != w.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {dtype_of(input).legacy} and {dtype_of(w).legacy}")
    _same(input, w)
    y = _product(input, w.T)
    if weight.ndim == 1:
        y = y[..., 0]
    if bias is None:
        return y
    _expandable(bias.shape, y.shape)
    return y + bias


op(lambda bias, input, weight, /: linear(input, weight, bias), name="linear_addmm", names="", node="AddmmBackward0")
op(lambda input, weight, bias, /: linear(input, weight, bias), name="linear_view", names="", node="ViewBackward0")
op(lambda input, weight, /: linear(input, weight), name="linear_mm", names="", node="MmBackward0")
op(lambda input, weight, /: linear(input, weight), name="linear_squeeze", names="", node="SqueezeBackward4")


@op(names="torch functional", node="AddBackward0")
def bilinear(input1, input2, weight, bias=None, /):
    y = jnp.einsum("...i,oij,...j->...o", input1, weight, input2, precision=lax.Precision.HIGHEST)
    return y if bias is None else y + bias


@op(names="torch", node="ViewBackward0")
def tensordot(a, b, /, dims=2):
    if isinstance(dims, int):
        left, right = tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    else:
        left, right = (tuple(wrap_dim(d, x.ndim) for d in ds) for x, ds in zip((a, b), dims))
    for i, j in zip(left, right):
        # a single element meets all of the other's
        if a.shape[i] == 1:
            b = jnp.sum(b, axis=j, keepdims=True)
        elif b.shape[j] == 1:
            a = jnp.sum(a, axis=i, keepdims=True)
        if a.shape[i] != b.shape[j]:
            raise RuntimeError("contracted dimensions need to match, but first has size "
                               f"{a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}")
    return jnp.tensordot(a, b, (left, right), precision=lax.Precision.HIGHEST)


@op(names="torch", node="ViewBackward0")
def einsum(*operands, equation):
    _check_einsum(equation, operands)
    return jnp.einsum(equation.replace(" ", ""), *operands, precision=lax.Precision.HIGHEST)


def _check_einsum(equation, operands):
    terms = equation.replace(" ", "").split("->")[0].split(",")
    if len(terms) != len(operands):
        raise RuntimeError("einsum(): " + ("fewer" if len(operands) > len(terms) else "more")
                           + " operands were provided than specified in the equation")
    sizes = {}
    for k, (term, x) in enumerate(zip(terms, operands)):
        if "..." in term:
            continue
        if len(term) != x.ndim:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(term)}) "
                               + ("is more than" if len(term) > x.ndim else "does not match")
                               + f" the number of dimensions ({x.ndim}) for operand {k} and no ellipsis was given")
        for i, c in enumerate(term):
            n = x.shape[i]
            if n != 1 and sizes.setdefault(c, (n, k))[0] != n:
                raise RuntimeError(f"einsum(): subscript {c} has size {n} for operand {k} which does not broadcast with "
                                   f"previously seen size {sizes[c][0]}")


@op(names="torch", node="MmBackward0")
def chain_matmul(*matrices):
    return jnp.linalg.multi_dot(matrices) if len(matrices) > 1 else matrices[0]


@op(names="linalg", node="ViewBackward0")
def linalg_multi_dot(*tensors):
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(tensors)))
    return jnp.linalg.multi_dot(tensors, precision=lax.Precision.HIGHEST)


@op(node="UnsafeViewBackward0")
def kron(input, other, /):
    n = max(input.ndim, other.ndim)
    a, b = (x.reshape((1,) * (n - x.ndim) + x.shape) for x in (input, other))
    a = jnp.expand_dims(a, tuple(range(1, 2 * n, 2)))
    b = jnp.expand_dims(b, tuple(range(0, 2 * n, 2)))
    a, b = promote(a, b)
    y = a * b
    return y.reshape(tuple(y.shape[2 * i] * y.shape[2 * i + 1] for i in range(n)))


def _cross(input, other, dim):
    a, b = jnp.broadcast_arrays(*promote(input, other))
    d = wrap_dim(dim, a.ndim)
    if a.shape[d] != 3:
        raise RuntimeError("linalg.cross: inputs dimension "
                           f"{dim} must have length 3. Got {input.shape[d]} and {other.shape[d]}")
    a0, a1, a2 = jnp.split(a, 3, axis=d)
    b0, b1, b2 = jnp.split(b, 3, axis=d)
    return jnp.concatenate([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=d)


@op(node="LinalgCrossBackward0")
def cross(input, other, /, dim=None):
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _cross(input, other, dim)


@op(names="linalg")
def linalg_cross(input, other, /, *, dim=-1):
    return _cross(input, other, dim)


@op(names="linalg", node="SumBackward1")
def linalg_vecdot(x, y, /, *, dim=-1):
    a, b = promote(x, y)
    return jnp.sum(jnp.conj(a) * b, axis=dim)


# ---- determinants, inverses, solvers

def _square(name, a):
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} "
                           "matrices")
    if dtype_of(a).category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype_of(a).legacy}")


def _t(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _plain_t(x):
    return jnp.swapaxes(x, -1, -2)


@op(name="linalg_det", names="linalg", aliases="torch.det method.det", saves="0r")
def linalg_det(A, /):
    _square("linalg.det", A)
    return jnp.linalg.det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)


@op(name="linalg_slogdet", names="linalg", aliases="torch.slogdet method.slogdet", multi="sign logabsdet", saves="0r")
def linalg_slogdet(A, /):
    _square("linalg.slogdet", A)
    return tuple(jnp.linalg.slogdet(A))


@op(node="WhereBackward0")
def logdet(input, /):
    _square("linalg.slogdet", input)
    sign, log = jnp.linalg.slogdet(input)
    return jnp.where(sign == 1, log, jnp.where(sign == 0, -jnp.inf, jnp.nan)) if dtype_of(input).category < 3 else (
        log + jnp.log(sign))


def _inv_back(y, ct, x):
    return -_t(y) @ ct @ _t(y)


@op(name="linalg_inv", names="linalg", aliases="torch.inverse method.inverse", node="LinalgInvExBackward0", result=_inv_back)
def linalg_inv(A, /):
    _square("linalg.inv", A)
    return jnp.linalg.inv(A)


@op(names="linalg", multi="inverse info", differentiable=True)
def linalg_inv_ex(A, /, *, check_errors=False):
    _square("linalg.inv_ex", A)
    return jnp.linalg.inv(A), jnp.zeros(A.shape[:-2], "int32")


def _solve(A, B, left=True):
    _square("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError("linalg.solve: Expected A and B to have the same dtype, but found A of type "
                           f"{dtype_of(A).legacy} and B of type {dtype_of(B).legacy} instead")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    b = B[..., None] if vector else B if left else _plain_t(B)
    a = A if left or vector else _plain_t(A)
    if b.shape[-2] != a.shape[-1]:
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a.shape[-2]}x"
                           f"{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    y = jnp.linalg.solve(jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:]))
    return y[..., 0] if vector else y if left else _plain_t(y)


@op(names="linalg", node="LinalgSolveExBackward0", saves="0r")
def linalg_solve(A, B, /, *, left=True):
    return _solve(A, B, left)


@op(names="linalg", node="LinalgSolveTriangularBackward0", saves="0r")
def linalg_solve_triangular(A, B, /, *, upper, left=True, unitriangular=False):
    return _triangular(A, B, upper, left, unitriangular, False)


def _triangular(a, b, upper, left, unit, transpose):
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return lax.linalg.triangular_solve(
        jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:]), left_side=left,
        lower=not upper, unit_diagonal=unit, transpose_a=transpose)


@op(multi="solution cloned_coefficient")
def triangular_solve(b, A, /, upper=True, transpose=False, unitriangular=False):
    return _triangular(A, b, upper, True, unitriangular, transpose), A


def _hermitian(a, upper):
    """The Hermitian matrix of one triangle; the derivative is shared by both, as in PyTorch."""
    half = (jnp.triu if upper else jnp.tril)(a, 1 if upper else -1)
    whole = half + _t(half) + jnp.eye(a.shape[-1], dtype=a.dtype) * a.real
    shared = (a + _t(a)) / 2
    return shared + lax.stop_gradient(whole - shared)


def _cholesky(a, upper):
    y = jnp.linalg.cholesky(_hermitian(a, upper), symmetrize_input=False)
    return _t(y) if upper else y


@op(names="linalg", node="LinalgCholeskyExBackward0", saves="0r")
def linalg_cholesky(A, /, *, upper=False):
    _square("linalg.cholesky", A)
    return _cholesky(A, upper)


@op(saves="0r")
def cholesky(input, /, upper=False):
    _square("cholesky", input)
    return _cholesky(input, upper)


@jax.custom_jvp
def _cholesky_solve(b, low):
    half = _triangular(low, b, False, True, False, False)
    return _triangular(_t(low), half, True, True, False, False)


@_cholesky_solve.defjvp
def _cholesky_solve_jvp(primals, tangents):
    # PyTorch differentiates the product of the whole factor, not of its triangle
    (b, low), (tb, tl) = primals, tangents
    x = _cholesky_solve(b, low)
    change = tl @ jnp.conj(_plain_t(low)) + low @ jnp.conj(_plain_t(tl))
    return x, _cholesky_solve(tb - change @ x, low)


@op()
def cholesky_solve(B, L, /, upper=False):
    return _cholesky_solve(B, _t(L) if upper else L)


@op()
def cholesky_inverse(L, /, upper=False):
    eye = jnp.broadcast_to(jnp.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return _cholesky_solve(eye, _t(L) if upper else L)


@op(names="linalg", aliases="torch.pinverse method.pinverse")
def linalg_pinv(A, /, *, atol=None, rtol=None, hermitian=False):
    if rtol is None and atol is None:
        rtol = max(A.shape[-2:]) * float(jnp.finfo(A.dtype).eps)
    if hermitian:
        s, u = _eigh(A, "L")
        cut = jnp.maximum(atol or 0.0, (rtol or 0.0) * jnp.max(jnp.abs(s), axis=-1, keepdims=True, initial=0))
        inv = jnp.where(jnp.abs(s) > cut, 1 / jnp.where(jnp.abs(s) > cut, s, 1), 0)
        return (u * inv[..., None, :].astype(A.dtype)) @ _t(u)
    if not atol:
        return jnp.linalg.pinv(A, rtol=rtol or 0.0)
    u, s, vh = jnp.linalg.svd(A, full_matrices=False)
    cut = jnp.maximum(atol, (rtol or 0.0) * s[..., :1])
    inv = jnp.where(s > cut, 1 / jnp.where(s > cut, s, 1), 0)
    return _t(vh) @ (inv[..., None].astype(A.dtype) * _t(u))


@op(names="linalg", multi="solution residuals rank singular_values")
def linalg_lstsq(A, B, /, rcond=None, *, driver=None):
    """By normal solvers of full rank (QR), as PyTorch's default driver on well-posed problems."""
    vector = A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]
    b = B[..., None] if vector else B
    m, n = A.shape[-2:]
    if m >= n:
        q, r = jnp.linalg.qr(A)
        x = _triangular(r, _t(q) @ b, True, True, False, False)
    else:
        q, r = jnp.linalg.qr(_t(A))
        x = q @ _triangular(_t(r), b, False, True, False, False)
    none = jnp.zeros((0,), x.real.dtype)
    res = jnp.sum(jnp.abs(A @ x - b) ** 2, axis=-2) if m > n and driver not in (None, "gelsy") else none
    rank = jnp.zeros((0,), "int64") if driver == "gels" else jnp.full(A.shape[:-2], min(m, n), "int64")
    values = jnp.linalg.svd(A, compute_uv=False) if driver in ("gelsd", "gelss") else none
    return (x[..., 0] if vector else x), res, rank, values


# ---- spectral

@op(names="linalg", aliases="torch.qr method.qr", multi="Q R", saves="r")
def linalg_qr(A, /, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    if mode == "r":
        return jnp.zeros((0,), A.dtype), jnp.linalg.qr(A, mode="r")
    return tuple(jnp.linalg.qr(A, mode=mode))


@op(names="linalg", multi="U S Vh", saves="r")
def linalg_svd(A, /, full_matrices=True, *, driver=None):
    return tuple(jnp.linalg.svd(A, full_matrices=full_matrices))


@op(multi="U S V", node="LinalgSvdBackward0", saves="r")
def svd(input, /, some=True, compute_uv=True):
    u, s, vh = jnp.linalg.svd(input, full_matrices=not some)
    return u, s, _t(vh)


@op(names="linalg", node="LinalgSvdBackward0")
def linalg_svdvals(A, /, *, driver=None):
    return jnp.linalg.svd(A, compute_uv=False)


def _eigh(a, uplo):
    return tuple(jnp.linalg.eigh(_hermitian(a, uplo.upper() == "U")))


@op(names="linalg", multi="eigenvalues eigenvectors", saves="r")
def linalg_eigh(A, /, UPLO="L"):
    _square("linalg.eigh", A)
    return _eigh(A, UPLO)


@op(names="linalg", node="LinalgEighBackward0")
def linalg_eigvalsh(A, /, UPLO="L"):
    _square("linalg.eigvalsh", A)
    return _eigh(A, UPLO)[0]


@op(names="linalg", multi="eigenvalues eigenvectors", saves="r")
def linalg_eig(A, /):
    _square("linalg.eig", A)
    return tuple(lax.linalg.eig(A, compute_left_eigenvectors=False, enable_eigvec_derivs=True))


@op(names="linalg", node="LinalgEigBackward0")
def linalg_eigvals(A, /):
    _square("linalg.eigvals", A)
    return lax.linalg.eig(A, compute_left_eigenvectors=False, compute_right_eigenvectors=False, enable_eigvec_derivs=True)[0]


# ---- functions of matrices

@op(names="linalg", aliases="torch.matrix_power method.matrix_power")
def linalg_matrix_power(A, /, n):
    _square("linalg.matrix_power", A)
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


@op(names="linalg", aliases="torch.matrix_exp method.matrix_exp")
def linalg_matrix_exp(A, /):
    _square("linalg.matrix_exp", A)
    return jsl.expm(A) if A.ndim == 2 else jnp.vectorize(jsl.expm, signature="(n,n)->(n,n)")(A)


@op(names="linalg", differentiable=False)
def linalg_matrix_rank(A, /, *, tol=None, atol=None, rtol=None, hermitian=False):
    s = jnp.abs(jnp.linalg.eigvalsh(A)) if hermitian else jnp.linalg.svd(A, compute_uv=False)
    if tol is not None:
        cut = tol
    else:
        rel = rtol if rtol is not None else 0.0 if atol else max(A.shape[-2:]) * float(jnp.finfo(s.dtype).eps)
        cut = jnp.maximum(atol or 0.0, rel * jnp.max(s, axis=-1, keepdims=True, initial=0))
    return jnp.sum(s > cut, axis=-1).astype("int64")


def _matrix_norm(x, ord, dims, keepdim):
    row, col = dims
    if ord == "fro":
        return vector_norm(x, 2, (row, col), keepdim)
    if ord in ("nuc", 2, -2):
        s = jnp.linalg.svd(jnp.moveaxis(x, (row, col), (-2, -1)), compute_uv=False)
        y = jnp.sum(s, -1) if ord == "nuc" else s[..., 0] if ord == 2 else s[..., -1]
        return jnp.expand_dims(y, sorted((row, col))) if keepdim else y
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    inner, outer = (row, col) if abs(ord) == 1 else (col, row)
    total = jnp.sum(magnitude(x), axis=inner, keepdims=True)
    y = (jnp.max if ord > 0 else jnp.min)(total, axis=outer, keepdims=True)
    return y if keepdim else jnp.squeeze(y, (row, col))


@op(names="linalg", saves="0r", node="LinalgVectorNormBackward0")
def linalg_matrix_norm(A, /, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    x = norm_operand("linalg.matrix_norm", A, dtype)
    if x.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    return _matrix_norm(x, ord, tuple(wrap_dim(d, x.ndim) for d in dim), keepdim)


@op(names="linalg", saves="0r", node="LinalgVectorNormBackward0")
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


@op(names="linalg")
def linalg_cond(A, /, p=None):
    if p in (None, 2, -2):
        s = jnp.linalg.svd(A, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    dims = (A.ndim - 2, A.ndim - 1)
    return _matrix_norm(A, p, dims, False) * _matrix_norm(jnp.linalg.inv(A), p, dims, False)


@op(names="linalg")
def linalg_tensorinv(A, /, ind=2):
    n = math.prod(A.shape[ind:])
    return jnp.linalg.inv(A.reshape(-1, n)).reshape(A.shape[ind:] + A.shape[:ind])


@op(names="linalg")
def linalg_tensorsolve(A, B, /, dims=None):
    if dims:
        A = jnp.moveaxis(A, dims, tuple(range(A.ndim - len(dims), A.ndim)))
    rest = A.shape[B.ndim:]
    return jnp.linalg.solve(A.reshape(B.size, -1), B.reshape(-1)).reshape(rest)


@op(names="linalg")
def linalg_vander(x, /, *, N=None):
    x = jnp.atleast_1d(x)
    n = x.shape[-1] if N is None else N
    x = x[..., None]
    ones = jnp.ones(x.shape[:-1] + (1,), x.dtype)
    return jnp.concatenate([ones, jnp.cumprod(jnp.broadcast_to(x, x.shape[:-1] + (n - 1,)), axis=-1)], -1)


@op(names="torch", node="DivBackward0")
def vander(x, /, N=None, increasing=False):
    n = x.shape[0] if N is None else N
    p = jnp.stack([x ** i for i in range(n)], axis=-1) if n else jnp.zeros(x.shape + (0,), x.dtype)
    return p if increasing else p[..., ::-1]


@op(names="torch linalg", multi="LU pivots", name="linalg_lu_factor")
def linalg_lu_factor(A, /, *, pivot=True):
    lu, piv = lax.linalg.lu(A)[:2]
    return lu, piv + 1


@op(names="linalg", multi="P L U")
def linalg_lu(A, /, *, pivot=True):
    lu, _, order = lax.linalg.lu(A)
    m, n = A.shape[-2:]
    k = min(m, n)
    low = jnp.tril(lu[..., :k], -1) + jnp.eye(m, k, dtype=A.dtype)
    return jnp.swapaxes(jnp.eye(m, dtype=A.dtype)[order], -1, -2), low, jnp.triu(lu[..., :k, :])


@op(names="linalg")
def linalg_householder_product(A, tau, /):
    m, n = A.shape[-2:]
    q = jnp.broadcast_to(jnp.eye(m, n, dtype=A.dtype), A.shape)
    for k in reversed(range(tau.shape[-1])):
        v = jnp.where(jnp.arange(m) < k, 0, jnp.where(jnp.arange(m) == k, 1, A[..., k]))[..., None]
        q = q - tau[..., k, None, None] * v * (_t(v) @ q)
    return q
