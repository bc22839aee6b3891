"""Tensors from data and from sizes."""

import math
import numbers
import warnings

import numpy as np

from torchish import program
from torchish.api.bind import put_out
from torchish.autograd.batching import like
from torchish.autograd.dispatch import CAST, apply
from torchish.autograd.modes import state
from torchish.ops import TABLE, dtypes
from torchish.program import record
from torchish.tensor import Storage, Tensor, devices
from torchish.tensor.storage import share

FULL = TABLE["full"]
COPY_ADVICE = ("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
               "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).")


def finish(t, requires_grad=False, device=None):
    """Common tail of the factories: device and flag."""
    if device is not None:
        t._device = devices.check(device)
    elif devices.default is not devices.cpu:
        t._device = devices.default
    if state.inference:
        t._inference = True
    if requires_grad:
        if t._aval.dtype.kind not in "fcV":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t._req = True
    return t


def _size(size):
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    out = []
    for s in size:
        if isinstance(s, (float, str)) or s is None:
            raise TypeError(f"expected int in size, got {type(s).__name__}")
        s = int(s)
        if s < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(map(int, size))}")
        out.append(s)
    return tuple(out)


def _dtype(d):
    return dtypes.get_default() if d is None else d


_INT64, _HUGE = 1 << 63, 1 << 59


def representable(size, itemsize, elements=None):
    """Refuse sizes whose strides, elements (`elements` is the text for those) or bytes an int64 cannot count."""
    n = math.prod(size)
    if elements is not None and n >= _INT64:
        raise RuntimeError(elements)
    if n * itemsize >= _INT64:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    if n == 0 and size and math.prod(max(s, 1) for s in size[1:]) >= _INT64:
        raise RuntimeError("Stride calculation overflowed")


def filled(size, value, dtype):
    if math.prod(size) >= _HUGE or 0 in size:
        representable(size, dtype.itemsize)
    return Tensor._of(record(FULL, (value,), (size, dtype)))


def _into(out, t):
    from torchish.autograd.dispatch import write_out
    return t if out is None else write_out("full", t, out)


def _out_dtype(dtype, out):
    """The dtype to make: an out= tensor's where none is given, and no other."""
    if out is None or not isinstance(out, Tensor):
        return dtype
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})")
    return out.dtype


def _constant(value):
    def factory(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                memory_format=None, **kw):
        if "size" in kw:
            size = (kw.pop("size"),)
        return _into(out, finish(filled(_size(size), value, _dtype(_out_dtype(dtype, out))), requires_grad, device))
    return factory


zeros, ones, empty = _constant(0), _constant(1), _constant(0)


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor filled with a number; the dtype follows the number."""
    if isinstance(fill_value, Tensor):
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    d = dtypes.number_dtype(fill_value) if dtype is None else _dtype(dtype)
    if isinstance(fill_value, np.generic):
        fill_value = fill_value.item()
    return _into(out, finish(filled(_size((size,) if isinstance(size, (tuple, list)) else (size,)), fill_value, d),
                             requires_grad, device))


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    from torchish.autograd.dispatch import view
    n = 1 + sum((s - 1) * k for s, k in zip(size, stride)) if all(size) else 0
    return finish(view(TABLE["as_strided"], filled((n,), 0, _dtype(dtype)), (), (tuple(size), tuple(stride), 0)),
                  requires_grad, device)


def _like(value):
    def factory(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        if not isinstance(input, Tensor):
            raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        t = like(filled(input._aval.shape, value, dtype or input.dtype), input)
        return finish(t, requires_grad, device if device is not None else input._device)
    return factory


zeros_like, ones_like, empty_like = _like(0), _like(1), _like(0)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
              pin_memory=False):
    """`full` in the shape and dtype of `input`."""
    return finish(like(filled(input._aval.shape, _number(fill_value), dtype or input.dtype), input), requires_grad,
                  device if device is not None else input._device)


def _number(x):
    return x.item() if isinstance(x, (Tensor, np.generic)) else x


def arange(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
           requires_grad=False):
    """Values from `start` (0) to below `end`."""
    if end is None:
        start, end = 0, start
    dtype = _out_dtype(dtype, out)
    attrs = (_number(start), _number(end), _number(step), dtype)
    if not all(math.isfinite(v) for v in attrs[:2]):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if dtype is not None and dtype.category < 2 and int(attrs[2]) == 0 != attrs[2]:
        raise ValueError("step must be nonzero")
    if dtype is None:
        attrs = attrs[:3] + (dtypes.int64 if all(isinstance(v, int) for v in attrs[:3]) else dtypes.get_default(),)
    return _into(out, finish(Tensor._of(record(TABLE["arange"], (), attrs)), requires_grad, device))


def range(start=0, end=None, step=1, **kw):
    """Like arange, `end` included, floating point by default."""
    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
                  "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).", UserWarning,
                  stacklevel=2)
    if end is None:
        start, end = 0, start
    kw.setdefault("dtype", dtypes.get_default())
    return arange(start, end + step, step, **kw)


def _spaced(name, with_base=False):
    row = TABLE[name]

    def factory(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
                requires_grad=False):
        if isinstance(steps, float):
            raise TypeError(f"{name}() received an invalid combination of arguments - got ({type(start).__name__}, {type(end).__name__}, "
                            f"float), but expected one of:\n * (Number start, Number end, int steps, *, Tensor out = None, torch.dtype dtype "
                            "= None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool "
                            "requires_grad = False)\n")
        many = [f"{what} with {x.ndim} dimension(s)" for what, x in (("start", start), ("end", end)) if isinstance(x, Tensor) and x.ndim]
        if many:
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(many)}.")
        attrs = (float(_number(start)) if not isinstance(_number(start), complex) else _number(start),
                 float(_number(end)) if not isinstance(_number(end), complex) else _number(end), int(_number(steps)))
        attrs += ((base,) if with_base else ()) + (_dtype(dtype),)
        return _into(out, finish(Tensor._of(record(row, (), attrs)), requires_grad, device))
    factory.__name__ = name
    return factory


linspace, logspace = _spaced("linspace"), _spaced("logspace", True)


def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The identity matrix."""
    return _into(out, finish(Tensor._of(record(TABLE["eye"], (), (n, m, _dtype(dtype)))), requires_grad, device))


def _indices(name):
    def factory(row, col, offset=0, *, dtype=dtypes.int64, device=None, layout=None, requires_grad=False):
        return finish(Tensor._of(record(TABLE[name], (), (row, col, offset, dtype))), requires_grad, device)
    return factory


tril_indices, triu_indices = _indices("tril_indices"), _indices("triu_indices")


def _window(name):
    row = TABLE[name]

    def factory(window_length, periodic=True, *args, dtype=None, layout=None, device=None, requires_grad=False, **kw):
        values = {**row.defaults, "window_length": window_length, "periodic": periodic, "dtype": dtype, **kw}
        values.update(zip([a for a in row.attrs if a not in ("window_length", "periodic", "dtype")], args))
        return finish(Tensor._of(record(row, (), tuple(values[a] for a in row.attrs))), requires_grad, device)
    factory.__name__, factory.attrs = name, row.attrs
    return factory


windows = {n: _window(n) for n in ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")}


# --- from data -------------------------------------------------------------------------------------------------------

def _check_nested(data):
    """PyTorch's messages for ragged or unusable nested sequences; returns the shape."""
    shape, x = [], data
    while isinstance(x, (list, tuple)):
        shape.append(len(x))
        if not x:
            break
        x = x[0]

    def walk(x, dim):
        if dim == len(shape):
            if isinstance(x, (list, tuple)):
                raise TypeError("not a sequence")
            return
        if not isinstance(x, (list, tuple)):
            raise TypeError("not a sequence")
        if len(x) != shape[dim]:
            raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(x)})")
        for v in x:
            walk(v, dim + 1)
    walk(data, 0)
    return tuple(shape)


def _leaves(x):
    if isinstance(x, (list, tuple)):
        for v in x:
            yield from _leaves(v)
    else:
        yield x


def _scalars(x):
    if isinstance(x, (list, tuple)):
        return [_scalars(v) for v in x]
    if isinstance(x, Tensor):
        if x.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return x.item()
    if isinstance(x, np.generic):
        return x.item()
    return x


def array_of(data, dtype):
    """(numpy array, dtype) of Python data."""
    if isinstance(data, np.ndarray):
        return numpy_array(data), dtype
    if isinstance(data, np.generic):
        return np.asarray(data), dtype
    if isinstance(data, (list, tuple)) and data and all(isinstance(v, np.ndarray) for v in data) and \
            len({v.shape for v in data}) == 1 and data[0].ndim:
        return numpy_array(np.stack(data)), dtype
    if isinstance(data, (list, tuple)) and data and all(isinstance(v, Tensor) for v in data) and any(v.ndim for v in data):
        if all(v.numel() == 1 for v in data):
            pass
        else:
            raise ValueError("only one element tensors can be converted to Python scalars")
    if isinstance(data, (list, tuple)):
        inner = [v.dtype for v in _leaves(data) if isinstance(v, Tensor)]
        data = _scalars(data)
        if any(isinstance(v, np.ndarray) for v in _leaves(data)):
            data = _unroll(data)
        shape = _check_nested(data)
        if dtype is None and inner:
            import functools
            dtype = functools.reduce(dtypes.promote_types, inner)
    else:
        shape = ()
        if hasattr(data, "__array__"):
            return numpy_array(np.asarray(data)), dtype
    kinds = set()
    for v in _leaves(data):
        if isinstance(v, bool):
            kinds.add(0)
        elif isinstance(v, numbers.Integral):
            kinds.add(1)
        elif isinstance(v, numbers.Real):
            kinds.add(2)
        elif isinstance(v, complex):
            kinds.add(3)
        elif isinstance(v, str):
            raise TypeError("new(): invalid data type 'str'" if not isinstance(data, (list, tuple)) else "new(): invalid data "
                            "type 'str'")
        else:
            raise RuntimeError(f"Could not infer dtype of {type(v).__name__}")
    if dtype is None:
        top = max(kinds, default=2)
        dtype = (dtypes.bool, dtypes.int64, dtypes.get_default(), dtypes.get_default().to_complex())[top]
    if dtype.category < 3 and 3 in kinds:
        raise RuntimeError("value cannot be converted to type without overflow")
    flat = list(_leaves(data))
    try:
        if dtype.category < 2 and 2 in kinds:
            a = np.array([int(v) if v == v and abs(v) != float("inf") else -2**63 for v in flat], "int64").astype(dtype.np)
        elif dtype.category == 1:
            a = np.array(flat, "uint64" if dtype.name == "uint64" else "int64")
            if dtype.itemsize < 8:
                info = np.iinfo(dtype.np)
                # unsigned numbers may be given by their negatives
                if a.size and (a.min() < (info.min or -int(info.max)) or a.max() > info.max):
                    raise OverflowError
            a = a.astype(dtype.np)
        else:
            a = np.array(flat, "complex128" if dtype.category == 3 else "float64").astype(dtype.np) if flat else \
                np.empty(0, dtype.np)
    except OverflowError:
        what = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int"}.get(dtype.name)
        if what is None:
            raise RuntimeError("Overflow when unpacking long long") from None
        raise RuntimeError(f"value cannot be converted to type {what} without overflow") from None
    return a.reshape(shape), dtype


def _unroll(x):
    return [_unroll(v) for v in x] if isinstance(x, (list, tuple)) else x.tolist() if isinstance(x, np.ndarray) else x


def numpy_array(a):
    """A numpy array of a dtype torch knows, in native byte order."""
    if a.dtype not in dtypes.FROM_NP:
        name = f"numpy.{a.dtype.type.__name__}"
        raise TypeError(f"can't convert np.ndarray of type {name}. The only supported types are: float64, float32, float16, "
                        "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.")
    return a


def from_array(a, dtype=None):
    """A tensor holding a copy of a numpy array, cast when `dtype` says so."""
    v = program.from_numpy(a)
    if dtype is not None and dtype.np != a.dtype:
        v = record(CAST, (v,), (dtype,))
    return Tensor._of(v)


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new leaf holding a copy of `data` (numbers, nested sequences, numpy arrays, tensors)."""
    dtype = dtypes.given(dtype, "tensor")
    if isinstance(data, Tensor):
        warnings.warn(COPY_ADVICE, UserWarning, stacklevel=2)
        t = Tensor._of(data._value if dtype in (None, data.dtype) else record(CAST, (data._value,), (dtype,)))
        return finish(t, requires_grad, device if device is not None else data._device)
    if hasattr(data, "untyped"):
        return finish(_shown(data, dtype).to(dtype=dtype, copy=True), requires_grad, device)
    if type(data).__module__.startswith("jax"):
        data = np.asarray(data)
    a, dtype = array_of(data, dtype)
    return finish(from_array(a, dtype), requires_grad, device)


def _shown(data, dtype):
    """The tensor over a storage's memory, whose bytes without a type may be anything; other data as they are."""
    if not hasattr(data, "untyped"):
        return data
    return data._flat if hasattr(data, "dtype") else data._flat.view(dtype or dtypes.int64)


def as_tensor(data, dtype=None, device=None):
    """`data` itself when it is a fitting tensor; a numpy array's memory is shared."""
    dtype = dtypes.given(dtype, "as_tensor")
    data = _shown(data, dtype)
    if isinstance(data, Tensor):
        return data.to(dtype=dtype) if dtype is not None and dtype is not data.dtype else data
    if isinstance(data, np.ndarray):
        t = from_numpy(data)
        return t if dtype in (None, t.dtype) else t.to(dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    obj = _shown(obj, dtype)
    t = tensor(obj.detach() if isinstance(obj, Tensor) else obj, dtype=dtype) if copy else as_tensor(obj, dtype, device)
    return t.requires_grad_() if requires_grad else t


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-dim tensor of a number, in the default dtype unless another is given."""
    return finish(filled((), _number(s), _dtype(dtype)), requires_grad, device)


def from_numpy(ndarray):
    """A tensor that shares the array's memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    a = numpy_array(ndarray)
    if any(s < 0 for s in a.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                         "currently supported. (You can probably work around this by making a copy of your array  with "
                         "array.copy().)")
    v = program.from_numpy(a)
    t = Tensor._wrap(Storage(v), v.aval)
    share(t._storage, a)
    return t


def from_jax(array):
    """A tensor that holds a jax.Array (or a tracer); nothing is copied."""
    return Tensor._of(program.constant(array))


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-D tensor that shares the memory of an object with the buffer interface; read-only memory is copied."""
    dtype = dtypes.given(dtype, "frombuffer")
    size, item = memoryview(buffer).nbytes, dtype.itemsize
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count < 0 and (size - offset) % item:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})")
    if count > 0 and offset + count * item > size:
        raise ValueError(f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than actual "
                         f"buffer length ({size} bytes)")
    a = np.frombuffer(buffer, dtype.np, count, offset)
    return finish(from_numpy(a) if a.flags.writeable else from_array(a), requires_grad)


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 1-D tensor over a file's first `size` elements; with `shared`, writes reach the file."""
    d = _dtype(dtype)
    if not size:
        return finish(filled((0,), 0, d), requires_grad, device)
    if shared:
        with open(filename, "ab") as f:
            f.truncate(max(f.tell(), size * d.itemsize))
    return finish(from_numpy(np.memmap(filename, d.np, "r+" if shared else "c", shape=(size,))), requires_grad, device)


class _Exported:
    """A DLPack capsule as an object that numpy imports."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kw):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0     # memory of the CPU


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor of another library's array (an object with `__dlpack__`, or a capsule); memory is shared where it is the CPU's."""
    if isinstance(ext_tensor, Tensor):
        made = ext_tensor.detach()
    elif type(ext_tensor).__module__.startswith("jax"):
        made = from_jax(ext_tensor)
    else:
        a = np.from_dlpack(ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Exported(ext_tensor))
        made = from_numpy(a) if a.flags.writeable else from_array(a)
    made = made.clone() if copy else made
    return made if device is None else made.to(device)


def to_dlpack(tensor):
    """A DLPack capsule of the tensor's contents."""
    return tensor.__dlpack__()


def complex_(real, imag, *, out=None):
    """A complex tensor of its parts."""
    if isinstance(real, Tensor) and real.dtype is dtypes.float16:
        real.dtype.to_complex().held()
    made = apply(TABLE["complex"], (real, imag))
    return made if out is None else put_out("complex", made, out)
