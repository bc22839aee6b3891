"""Functions whose overloads PyTorch resolves by arguments, and composites over the table's rows."""

import builtins
import math
import warnings

from torchish.api import bind, numeric, spectral
from torchish.api.bind import named, operand, put_out, static, variant
from torchish.api.creation import empty_like, filled, finish, representable, tensor
from torchish.api.lazy import BITS
from torchish.api.viewing import _reshape, as_strided, expand
from torchish.autograd.dispatch import CAST, apply, inplace
from torchish.autograd.modes import no_grad, state
from torchish.ops import TABLE, dtypes
from torchish.ops.promote import CTYPES
from torchish.ops.views import contiguous_strides
from torchish.tensor import Tensor, devices
from torchish.tensor.tensor import template

ROWS = TABLE


NUMBERS = {bool, int, float, complex}


def _args(tensor_like, name, position=1):
    plain = tensor_like.__class__ in NUMBERS or isinstance(tensor_like, Tensor)   # a numpy.float64 is a float, but not plain
    return tensor_like if plain else operand(tensor_like, name, "other", position)


def _extreme(name, pair):
    all_row, dim_row = ROWS[name + "_all"], ROWS[name + "_dim"]
    kind = named(name, "values indices")

    def fn(input, dim=None, keepdim=False, *, other=None, out=None, axis=None):
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        other = dim if isinstance(dim, Tensor) else other
        if other is not None and pair:
            return bind.torch[pair](input, other, out=out)
        dim = axis if dim is None else dim
        if dim is None:
            result = apply(all_row, (input,))
        else:
            result = kind(*apply(dim_row, (input,), (static(dim), bool(keepdim))))
        return result if out is None else put_out(name, result, out)
    fn.__name__ = name
    return fn


max, min = _extreme("max", "maximum"), _extreme("min", "minimum")
median, nanmedian = _extreme("median", None), _extreme("nanmedian", None)


def _spread(name):
    row = ROWS[name]

    def fn(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None, axis=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dim = axis if dim is None else dim
        c = correction if correction is not None else 1 if unbiased in (None, True) else 0
        result = apply(row, (input,), tuple({"dim": static(dim), "correction": c, "keepdim": bool(keepdim)}[a] for a in row.attrs))
        if name in ("std", "var") and state_warns(input, dim, c):
            import warnings
            warnings.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                          "(input numel divided by output numel).", UserWarning, stacklevel=2)
        return result if out is None else put_out(name, result, out)
    fn.__name__ = name
    return fn


def state_warns(t, dim, correction):
    dims = builtins.range(t.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    n = math.prod(t._aval.shape[d] for d in dims) if t.ndim else 1
    return n - correction <= 0


std, var, std_mean, var_mean = map(_spread, ("std", "var", "std_mean", "var_mean"))


def pow(input, exponent, *, out=None):
    """Power; a number base and tensor exponent included."""
    exponent = _args(exponent, "pow", 2)
    if not isinstance(input, Tensor):
        input = _args(input, "pow")
        if not isinstance(exponent, Tensor):
            raise TypeError(f"pow() received an invalid combination of arguments - got ({type(input).__name__}, "
                            f"{type(exponent).__name__}), but expected one of:\n * (Tensor input, Tensor exponent, *, Tensor out = None)\n"
                            " * (Number self, Tensor exponent, *, Tensor out = None)\n"
                            " * (Tensor input, Number exponent, *, Tensor out = None)\n")
    row = ROWS["pow"] if not isinstance(exponent, Tensor) else ROWS["pow_tensor" if isinstance(input, Tensor) else "pow_of_number"]
    if not isinstance(exponent, Tensor) and isinstance(input, Tensor) and input.dtype.category == 1 and \
            isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    result = apply(row, (input, exponent))
    return result if out is None else put_out("pow", result, out)


def where(condition, input=None, other=None, *, out=None):
    """Elements of `input` where the condition holds, of `other` elsewhere; with one argument, the indices."""
    if input is None and other is None:
        from torchish.api.indexing import nonzero
        return nonzero(condition, as_tuple=True)
    input, other = _args(input, "where", 2), _args(other, "where", 3)
    if condition.dtype is dtypes.uint8:
        warnings.warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
                      "PyTorch. Use a boolean condition instead.", UserWarning, stacklevel=2)
    result = apply(ROWS["where"], (condition, input, other))
    return result if out is None else put_out("where", result, out)


def unravel_index(indices, shape):
    """Coordinates, one tensor a dimension, of places in a flattened tensor of `shape`."""
    if indices.dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if builtins.min(shape, default=0) < 0:
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    return apply(ROWS["unravel_index"], (indices,), (shape,))


# PyTorch computes a product of each pair of ranks with another routine
PRODUCTS = {(1, 1): ROWS["matmul_dot"], (2, 1): ROWS["matmul_mv"], (2, 2): ROWS["mm"], (1, 2): ROWS["vecmat"]}
PRODUCT = ROWS["matmul"]


def matmul(input, other, *, out=None):
    """Matrix product; batched, and of vectors too."""
    for position, x in enumerate((input, other), 1):
        if not isinstance(x, Tensor):
            operand(x, "matmul", "input" if position == 1 else "other", position, False)
    result = apply(PRODUCTS.get((input._aval.ndim, other._aval.ndim), PRODUCT), (input, other))
    return result if out is None else put_out("matmul", result, out)


LINEAR = {n: ROWS[n] for n in ("linear", "linear_addmm", "linear_view", "linear_mm", "linear_squeeze")}


def linear(input, weight, bias=None, *, out=None):
    """input @ weight.T + bias."""
    for position, (name, x) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(x, Tensor) and (x is not None or position < 3):
            operand(x, "linear", name, position, False)
    n = input._aval.ndim
    if bias is not None:
        y = apply(LINEAR["linear_addmm"], (bias, input, weight)) if n == 2 else apply(LINEAR["linear_view"], (input, weight, bias))
    else:
        row = "linear" if weight._aval.ndim != 2 else {1: "linear_squeeze", 2: "linear_mm"}.get(n, "linear")
        y = apply(LINEAR[row], (input, weight))
    return y if out is None else put_out("linear", y, out)


def positive(input):
    if input.dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def detach(input):
    """The same memory outside the graph."""
    return input.detach()


def argwhere(input):
    """Indices of the nonzero elements, one row each."""
    from torchish.api.indexing import nonzero
    return nonzero(input)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    from torchish.tensor.size import Size
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * builtins.max(map(len, shapes), default=0)
    for k, shape in enumerate(shapes):
        for i in builtins.range(-1, -1 - len(shape), -1):
            n = shape[i]
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if n not in (1, out[i]):
                if out[i] != 1:
                    so_far = out[-builtins.max(map(len, shapes[:k])):]
                    raise RuntimeError(f"Attempting to broadcast a dimension of length {n} at {i}! Mismatching argument at index {k} "
                                       f"had {shape}; but expected shape should be broadcastable to {so_far}")
                out[i] = n
    return Size(out)


def type_as(self, other):
    """This tensor in the dtype of another."""
    return to(self, other.dtype)


def resize_as_(self, the_template, *, memory_format=None):
    return resize_(self, tuple(the_template.shape))


def where_method(self, condition, other):
    """The elements of this tensor where the condition holds, of `other` elsewhere."""
    return where(condition, self, other)


def is_tensor(obj):
    return isinstance(obj, Tensor)


def numel(input):
    return input.numel()


def is_floating_point(input):
    return input.dtype.is_floating_point


def is_complex(input):
    return input.dtype.is_complex


def is_nonzero(input):
    return bool(input)


def is_same_size(input, other):
    return input.shape == other.shape


def clone(input, *, memory_format=None):
    """A copy with its own memory, connected to the graph."""
    if not isinstance(input, Tensor):
        operand(input, "clone", "input", 1, False)
    t = apply(ROWS["clone"], (input,))
    t._device = input._device
    return t


def result_type(*args, tensor=None, other=None, scalar=None, scalar1=None, scalar2=None):
    """The dtype that an operation of two tensors or numbers gives."""
    args += tuple(x for x in (tensor, other, scalar, scalar1, scalar2) if x is not None)
    if len(args) != 2 or not all(isinstance(x, (Tensor, int, float, complex)) for x in args):
        raise TypeError(f"result_type() received an invalid combination of arguments - got ({', '.join(map(bind.type_name, args))}), but "
                        "expected one of:\n * (Tensor tensor, Tensor other)\n * (Number scalar, Tensor tensor)\n * (Tensor tensor, Number "
                        "other)\n * (Number scalar1, Number scalar2)\n")

    def operand_of(x):
        return (x.dtype, 1 if x.ndim == 0 else 2) if isinstance(x, Tensor) else (dtypes.number_dtype(x), 0)
    return dtypes.result_type([operand_of(x) for x in args])


def isin(elements=None, test_elements=None, *, assume_unique=False, invert=False, element=None, test_element=None, out=None):
    """Whether each element is among the test elements."""
    return bind.torch["isin"](element if elements is None else elements, test_element if test_elements is None else test_elements,
                              assume_unique=assume_unique, invert=invert, out=out)


def can_cast(from_, to):
    return dtypes.given(from_, "can_cast", "'from_'").category <= dtypes.given(to, "can_cast", "'to'").category


def promote_types(type1, type2):
    return dtypes.promote_types(dtypes.given(type1, "promote_types", "'type1'"), dtypes.given(type2, "promote_types", "'type2'"))


def equal(input, other):
    """True when both have the same shape and elements."""
    if input._aval.shape != other._aval.shape:
        return False
    import numpy as np
    return bool(np.array_equal(input._numpy(), other._numpy()))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close."""
    return bool(bind.torch["isclose"](input, other, rtol, atol, equal_nan).all())


def einsum(equation, *operands):
    """Sums of products by Einstein's convention."""
    if not isinstance(equation, str):
        equation, operands = _sublists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return apply(ROWS["einsum"], tuple(operands), (equation,))


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _sublists(args):
    """(equation, operands) of einsum's other form, where a list of numbers follows each operand."""
    def term(numbers):
        if any(n is not Ellipsis and not 0 <= n < len(_LETTERS) for n in numbers):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if n is Ellipsis else _LETTERS[n] for n in numbers)
    pairs = len(args) // 2
    equation = ",".join(term(args[2 * i + 1]) for i in builtins.range(pairs))
    return equation + ("->" + term(args[-1]) if len(args) % 2 else ""), args[:2 * pairs:2]


def meshgrid(*tensors, indexing=None):
    """Coordinate grids of 1-D tensors."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    if indexing is None:
        from torchish.autograd.gradients import warn_once
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in tensors:
        if x.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(x.shape)}")
        if x.dtype is not tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.numel() for t in tensors)
    grids = [expand(_reshape(t, tuple(n if i == k else 1 for i in builtins.range(len(shape)))), shape)
             for k, (t, n) in enumerate(zip(tensors, shape))]
    if swap:
        grids = (grids[1], grids[0], *grids[2:])
    return tuple(grids)


_TO_KINDS = {"tensor": Tensor, "dtype": (dtypes.dtype, type), "device": (str, devices.device, int), "non_blocking": bool, "copy": bool}
_TO_FORMS = "".join(f" * ({first}bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n" for first in (
    "torch.device device = None, torch.dtype dtype = None, ", "torch.dtype dtype, ", "Tensor tensor, "))


def _to_arguments(args):
    """The positional arguments of `to` by name: (device, dtype, ...), (dtype, ...) or (tensor, ...)."""
    first = args[0]
    names = ["tensor"] if isinstance(first, Tensor) else ["dtype"] if isinstance(first, (dtypes.dtype, type)) else ["device", "dtype"]
    names += ["non_blocking", "copy"]
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    fits = len(args) <= len(names) and all(
        a is None and n in ("device", "dtype") or isinstance(a, _TO_KINDS[n]) and not (n == "device" and isinstance(a, bool))
        for n, a in zip(names, args))
    if not fits:
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(map(bind.type_name, args))}), but expected "
                        f"one of:\n{_TO_FORMS}")
    return dict(zip(names, args))


def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False, memory_format=None, tensor=None):
    """dtype and device conversion; the same object when there is nothing to do."""
    if args:
        given = _to_arguments(args)
        dtype, device, copy = given.get("dtype", dtype), given.get("device", device), given.get("copy", copy)
        tensor = given.get("tensor", tensor)
    if tensor is not None:
        dtype, device = tensor.dtype, tensor.device
    if type(device) is int:
        device = devices.device("cuda", device)
    target = devices.check(device) if device is not None else self._device
    dtype = self.dtype if dtype is None else dtypes.given(dtype, "to")
    if dtype is self.dtype and target == self._device and not copy:
        return self
    t = apply(CAST, (self,), (dtype,))
    t._device = target
    return t


def type_(self, dtype=None, non_blocking=False, **kw):
    if dtype is None:
        return f"torch.{self.dtype.legacy}Tensor"
    if isinstance(dtype, str):
        legacy = dtype.removeprefix("torch.").removesuffix("Tensor")
        dtype = next((d for d in dtypes.ALL if d.legacy == legacy), dtypes.float32 if legacy == "" else None)
        if dtype is None:
            raise ValueError(f"invalid type: '{kw}'")
    elif not isinstance(dtype, dtypes.dtype):
        if not hasattr(dtype, "dtype"):
            raise ValueError(f"invalid type: '{dtype.__name__ if isinstance(dtype, type) else dtype}'")
        dtype = dtype.dtype
    return to(self, dtype)


def contiguous(self, memory_format=None):
    return self if self.is_contiguous() else clone(self)


def copy_(self, other, non_blocking=False):
    """Write `other` (broadcast, cast) into this tensor."""
    if not isinstance(other, Tensor):
        other = operand(other, "copy_", "other", 1)
    if other is self:
        return self
    return inplace(ROWS["copy"], self, (other,), ())


def zero_(self):
    return inplace(ROWS["zero"], self, (), ())


FILLS = {(isinstance(value, Tensor), written): variant(ROWS["fill"], value=value, written=written)
         for value in (0, template) for written in (False, True)}


def fill_(self, value):
    return inplace(FILLS[isinstance(value, Tensor), True], self, (_args(value, "fill_"),), ())


def fill(input, value):
    return apply(FILLS[isinstance(value, Tensor), False], (input, _args(value, "fill")))


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Repeat elements; a tensor of repeats is read."""
    if repeats is None:
        input, repeats = TABLE_ARANGE(input.numel()), input
        return repeat_interleave(input, repeats)
    if isinstance(repeats, Tensor):
        import numpy as np
        counts = repeats._numpy().reshape(-1)
        if dim is None:
            input, dim = _reshape(input, (input.numel(),)), 0
        if counts.size == 1:
            counts = np.repeat(counts, input._aval.shape[dim])
        index = np.repeat(np.arange(counts.size), counts)
        return bind.torch["index_select"](input, dim, tensor(index))
    return apply(ROWS["repeat_interleave"], (input,), (int(repeats), dim, output_size))


def TABLE_ARANGE(n):
    from torchish.api.creation import arange
    return arange(n)


def bincount(input, weights=None, minlength=0):
    n = int(input._numpy().max()) + 1 if input.numel() else 0
    return apply(ROWS["bincount"], (input, weights), (minlength, builtins.max(n, minlength)))


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """Vector or matrix norm."""
    result = apply(ROWS["norm"], (input,), (static(p), static(dim), bool(keepdim), dtype))
    return result if out is None else put_out("norm", result, out)


def tensordot(a, b, dims=2, out=None):
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    result = apply(ROWS["tensordot"], (a, b), (static(dims),))
    return result if out is None else put_out("tensordot", result, out)


def numpy(self, *, force=False):
    """A numpy array that shares this tensor's memory."""
    if self.requires_grad and not force and state.grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    for name, word, is_set, _ in BITS if self._view is not None else ():
        if is_set(self):
            if force:
                return apply(ROWS["clone"], (self.detach(),))._shared_numpy()
            raise RuntimeError(f"Can't call numpy() on Tensor that has {word} bit set. Use tensor.resolve_{name}().numpy() "
                               "instead.")
    if self.dtype is dtypes.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    return self._shared_numpy()


def __array__(self, dtype=None, copy=None):
    import numpy as np
    a = numpy(self)
    return a if dtype is None else np.asarray(a, dtype)


def resize_(self, *sizes, size=None, memory_format=None):
    """Another shape over the same memory; a tensor that grows beyond its storage gets memory of its own, its end zero."""
    if not sizes and size is None:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    sizes = sizes if size is None else (size,)
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if self.requires_grad and not self._inference:
        raise RuntimeError("cannot resize variables that require grad")
    if sizes == self._aval.shape:
        return self
    if builtins.min(sizes, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    representable(sizes, self.dtype.itemsize, "numel: integer multiplication overflow")
    root, end = self._storage.value.aval, self.storage_offset() + math.prod(sizes)
    if root.dtype != self._aval.dtype or end > root.size:
        _grow(self, math.prod(sizes))
    with no_grad():
        new = as_strided(self.detach(), sizes, contiguous_strides(sizes))
    self._storage, self._aval, self._view = new._storage, new._aval, new._view
    self._bump()
    return self


def _grow(t, n):
    """Give `t` a storage of its own with `n` elements, those it shows first."""
    flat = _reshape(t.detach(), (t._aval.size,))[:n]
    new = flat.new_zeros(n)
    new[:flat._aval.size] = flat
    new._storage.version = t._version
    t._storage, t._aval, t._view = new._storage, new._aval, None


def set_(self, source=None, storage_offset=None, size=None, stride=None):
    """This tensor shows the memory of `source`, in its geometry or in a given one."""
    source = finish(filled((0,), 0, self.dtype)) if source is None else source
    shown = getattr(source, "_flat", source)      # a storage shows its memory as a flat tensor
    if not isinstance(shown, Tensor):
        raise TypeError(f"set_() received an invalid combination of arguments - got ({bind.type_name(source)}), but expected a Tensor or "
                        "storage, with int storage_offset, tuple of ints size, tuple of ints stride")
    if shown is not source:
        source = _reshape(Tensor._wrap(shown._storage, shown._storage.value.aval), (shown._storage.value.aval.size,))
        source = source if source.dtype is self.dtype else shown.view(self.dtype)
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {CTYPES.get(source.dtype.legacy, source.dtype.legacy)} to a tensor of type "
                           f"{CTYPES.get(self.dtype.legacy, self.dtype.legacy)}")
    if size is not None:
        with no_grad():
            source = as_strided(source, size, contiguous_strides(tuple(size)) if stride is None else stride, storage_offset or 0)
    self._storage, self._aval, self._view = source._storage, source._aval, source._view
    self._accumulator = None
    return self


def renamed(name, fn):
    fn.__name__ = name
    return fn


TORCH = {f.__name__: f for f in (
    max, min, median, nanmedian, std, var, std_mean, var_mean, pow, where, unravel_index, matmul, positive, detach, argwhere, broadcast_shapes,
    is_tensor, numel, is_floating_point, is_complex, is_nonzero,
    is_same_size, clone, result_type, isin, can_cast, promote_types, equal, allclose, einsum, meshgrid, repeat_interleave, bincount, norm,
    tensordot, fill)}
METHODS = {f.__name__: f for f in (
    max, min, median, nanmedian, std, var, pow, where, matmul, positive, argwhere, type_as, resize_as_, clone, equal,
    allclose, repeat_interleave, bincount, norm, to, contiguous,
    copy_, zero_, fill_, numpy, __array__, resize_, set_)}
METHODS["type"], METHODS["where"] = type_, where_method
for _home in (numeric, spectral):
    TORCH.update(_home.TORCH)
    METHODS.update(_home.METHODS)
bind.functional["linear"], bind.linalg["matmul"] = linear, matmul
for _n, _d in {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
               "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
               "bool": dtypes.bool, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "chalf": dtypes.ALIASES["chalf"]}.items():
    METHODS[_n] = (lambda d: lambda self, memory_format=None: to(self, d))(_d)

__all__ = ["METHODS", "TORCH", "empty_like", "filled", "finish"]
