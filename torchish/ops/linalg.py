"""Products of matrices and vectors."""

import math

import jax.numpy as jnp
from jax import lax

from torchish.ops import dtypes
from torchish.ops.pointwise import ctype
from torchish.ops.promote import broadcast_shapes, cast, dtype_of, kernel, promote, wrap_dim
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


# as `matmul` of vectors, which autocast treats as a product of matrices
op(name="matmul_dot", names="", node="DotBackward0")(dot)
op(name="matmul_mv", names="", node="MvBackward0")(mv)


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
    if isinstance(beta, (int, float)) and beta == 1:
        return input + out
    beta = cast(beta, d)
    return jnp.where(beta == 0, jnp.zeros((), d.np), beta * input) + out


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
    for name, x in (("vec1", vec1), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {x.ndim}-D")
    _expandable(input.shape, (vec1.size, vec2.size))
    input, a, b = promote(input, vec1[:, None], vec2[None, :])
    if dtype_of(a).category == 1 and isinstance(alpha, float) or isinstance(beta, float) and dtype_of(a).category == 1:
        raise RuntimeError(f"For integral input tensors, argument {'beta' if isinstance(beta, float) else 'alpha'} must not be a "
                           "floating point number.")
    return _affine(input, beta, alpha, a * b)


@op(inplace=True)
def baddbmm(input, batch1, batch2, beta=1, alpha=1, /):
    return _affine(input, beta, alpha, bmm(batch1, batch2))


@op(inplace=True)
def addbmm(input, batch1, batch2, beta=1, alpha=1, /):
    if batch1.ndim == batch2.ndim == 3 and batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError("Incompatible matrix sizes for bmm "
                           f"({batch1.shape[1]}x{batch1.shape[2]} and {batch2.shape[1]}x{batch2.shape[2]})")
    return _affine(input, beta, alpha, jnp.sum(bmm(batch1, batch2), axis=0, dtype=batch1.dtype))


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
    y = jnp.einsum(equation.replace(" ", ""), *operands, precision=lax.Precision.HIGHEST)
    return y if dtype_of(operands[0]).category >= 2 else cast(y, _integer_sum(equation.replace(" ", ""), operands))


def _integer_sum(equation, operands):
    """The dtype of an einsum of integers: products keep theirs, while what is summed in one operand alone counts in int64."""
    left, _, out = equation.partition("->")
    terms = left.split(",")
    if "->" not in equation:
        out = "".join(c for c in left if left.count(c) == 1 and c.isalpha())
    sizes = {c: n for term, x in zip(terms, operands) if "..." not in term for c, n in zip(term, x.shape) if n != 1}
    if len(terms) == 1:
        return dtypes.int64 if set(terms[0]) - set(out) - {"."} else dtype_of(operands[0])
    kept, kind = set(terms[0]), dtype_of(operands[0])
    for i, term in enumerate(terms[1:], 1):
        later = set(out).union(*terms[i + 1:])
        alone = [dtypes.int64 if any(c in sizes for c in mine - other - later) else d for mine, other, d in (
            (kept, set(term), kind), (set(term), kept, dtype_of(operands[i])))]
        if alone[0] is not alone[1]:
            raise RuntimeError(f"expected scalar type {alone[0].legacy} but found {alone[1].legacy}")
        kind, kept = alone[0], (kept | set(term)) & later
    return kind


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


@op(names="torch", node="ViewBackward0")
def chain_matmul(*matrices):
    return linalg_multi_dot(*matrices) if len(matrices) > 1 else matrices[0]


@op(names="linalg", node="ViewBackward0")
def linalg_multi_dot(*tensors):
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for which, x, low in (("first", tensors[0], 1), ("last", tensors[-1], 1), *(("inner", x, 2) for x in tensors[1:-1])):
        if not low <= x.ndim <= 2:
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {x.ndim}D" if low == 1 else
                               f"multi_dot(): tensor must be 2D but got {x.ndim}D")
    for i, (a, b) in enumerate(zip(tensors, tensors[1:])):
        _same(a, b, "multi_dot(): all tensors must have be the same dtype but got {} and {}")
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied")
    return jnp.linalg.multi_dot(tensors, precision=lax.Precision.HIGHEST)


@op(node="UnsafeViewBackward0", saves="")
def kron(input, other, /):
    n = max(input.ndim, other.ndim)
    a, b = (x.reshape((1,) * (n - x.ndim) + x.shape) for x in (input, other))
    a = jnp.expand_dims(a, tuple(range(1, 2 * n, 2)))
    b = jnp.expand_dims(b, tuple(range(0, 2 * n, 2)))
    a, b = promote(a, b)
    y = a * b
    return y.reshape(tuple(y.shape[2 * i] * y.shape[2 * i + 1] for i in range(n)))


def _cross(input, other, dim):
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, input.ndim)
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and {other.shape[d]}")
    _same(input, other, "expected scalar type {} but found {}")
    a, b = jnp.broadcast_arrays(*promote(input, other))
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
    if x.dtype != y.dtype:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {dtype_of(x).legacy} and y of "
                           f"type {dtype_of(y).legacy} instead")
    a, b = promote(x, y)
    return jnp.sum(jnp.conj(a) * b, axis=dim)
