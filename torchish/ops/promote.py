"""Bring operands of one op to a common dtype and shape by PyTorch's rules."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from torchish.ops import dtypes

# the C++ names that PyTorch prints for dtypes in some messages
CTYPES = {"Float": "float", "Double": "double", "Long": "long int", "Int": "int", "Short": "short", "Char": "signed char",
          "Byte": "unsigned char", "Bool": "bool", "Half": "c10::Half", "BFloat16": "c10::BFloat16",
          "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}


def is_number(x):
    """A Python number, baked or promoted to an operand (then a weakly typed 0-dim tracer)."""
    return isinstance(x, (bool, int, float, complex)) or getattr(getattr(x, "aval", None), "weak_type", False)


def dtype_of(x):
    if not is_number(x):
        return dtypes.FROM_NP[np.dtype(x.dtype)]
    if isinstance(x, (bool, int, float, complex)):
        return dtypes.number_dtype(x)
    kind = np.dtype(x.dtype).kind
    return dtypes.number_dtype({"b": True, "i": 1, "u": 1, "f": 1.0, "c": 1j}[kind])


def kernel(name, x, kinds):
    """Refuse a dtype for which PyTorch has no kernel; `kinds` out of b(ool), i(nteger), f(loat), c(omplex)."""
    d = dtype_of(x)
    if "bifc"[d.category] not in kinds or d in dtypes.EIGHT_BITS:
        raise NotImplementedError(f'"{name}" not implemented for \'{d.legacy}\'')


HALVES = ("float16", "bfloat16")


def in_single(fn):
    """`fn`, which computes in single precision where all its floating operands are halves, and rounds once, as PyTorch does."""
    @functools.wraps(fn)
    def run(*operands, **attrs):
        kinds = {x.dtype.name for x in operands if not is_number(x) and x is not None and jnp.issubdtype(x.dtype, jnp.floating)}
        if len(kinds) != 1 or not kinds <= {*HALVES}:
            return fn(*operands, **attrs)
        narrow, = kinds
        out = fn(*(x.astype("float32") if not is_number(x) and x is not None and x.dtype.name == narrow else x for x in operands), **attrs)
        return jax.tree.map(lambda y: y.astype(narrow) if y.dtype == jnp.float32 else y, out)
    return run


def result_type(*xs):
    return dtypes.result_type([(dtype_of(x), 0 if is_number(x) else 1 if x.ndim == 0 else 2) for x in xs])


def cast(x, d):
    """`x` as a strongly typed array of torch dtype `d`."""
    if isinstance(x, complex) and d.category < 3:
        if x.imag:
            raise RuntimeError(f"value cannot be converted to type {CTYPES[d.legacy]} without overflow")
        x = x.real
    if isinstance(x, (bool, int, float, complex)):
        return jnp.asarray(np.asarray(x).astype(d.np) if not isinstance(x, int) or isinstance(x, bool)
                           else np.asarray(x & 0xFFFFFFFFFFFFFFFF, "uint64").astype("int64").astype(d.np) if abs(x) >= 2**63
                           else np.asarray(x, "int64").astype(d.np))
    if np.dtype(x.dtype) == d.np and not x.aval.weak_type:
        return x
    if x.dtype.kind == "c" and d.category < 3:
        x = x.real
    if np.dtype(x.dtype).kind == "f" and d.np.kind in "iu" and d.itemsize < 8:
        return x.astype("int64").astype(d.np)  # C truncation wraps, XLA's saturates
    return jax.lax.convert_element_type(x, d.np)


def promote(*xs):
    """Cast all operands to PyTorch's result type; shapes that do not broadcast are refused here."""
    check_broadcast(*xs)
    d = result_type(*xs)
    return tuple(cast(x, d) for x in xs)


def promote_float(*xs):
    """Like `promote`, integers and bools go to the default float dtype."""
    check_broadcast(*xs)
    d = result_type(*xs)
    if d.category < 2:
        d = dtypes.get_default()
    return tuple(cast(x, d) for x in xs)


def check_broadcast(*xs):
    """Raise PyTorch's message when shapes do not broadcast."""
    shapes = [x.shape for x in xs if not is_number(x)]
    out = ()
    for s in shapes:
        out = broadcast_shapes(out, s)
    return out


def broadcast_shapes(a, b):
    n = max(len(a), len(b))
    out = []
    for i in range(n):
        x = a[i - n + len(a)] if i - n + len(a) >= 0 else 1
        y = b[i - n + len(b)] if i - n + len(b) >= 0 else 1
        if x != y and x != 1 and y != 1:
            raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at "
                               f"non-singleton dimension {i}")
        out.append(y if x == 1 else x)
    return tuple(out)


def wrap_dim(dim, ndim, scalar_ok=True):
    """A dimension counted from the end; PyTorch's IndexError when it is out of range."""
    n = max(ndim, 1) if scalar_ok else ndim
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def wrap_dims(dim, ndim):
    """None or () -> all dims; an int or a tuple -> sorted tuple; duplicates refused."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = tuple(wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim))
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return tuple(d for d in dims if ndim)
