"""Tensor: a storage, a geometry, and the slots that the autograd floor fills."""

import numpy as np

from torchish import program
from torchish.ops import dtypes
from torchish.ops.views import contiguous_strides
from torchish.program import Value, record
from torchish.tensor import devices
from torchish.tensor.size import Size
from torchish.tensor.storage import SharedStorage, Storage, View, address, share, strided_array


class TensorMeta(type):
    """isinstance() against legacy tensor types and Parameter goes through `__instancecheck__` of those classes."""


class Tensor(metaclass=TensorMeta):
    """A multi-dimensional array with PyTorch's semantics.

    Class attributes are the defaults of the autograd slots; an instance only holds what differs.
    """

    _view = None            # View, or None when the tensor shows its whole storage
    _counter = None         # whose version this tensor reports; None: its storage's (`.data` has one of its own)
    _fn = None              # backward node
    _nr = 0                 # its output number
    _req = False            # a leaf that requires grad
    _grad = None
    _meta = None            # ViewMeta of a differentiable view
    _hooks = None
    _post_hooks = None
    _retains = False
    _accumulator = None
    _inference = False
    _dual = None            # (level, tangent, others) of forward mode
    _entered = None         # (level of vmap, the dimension that it maps), where that was an argument
    _device = devices.cpu
    __array_priority__ = 1000

    @classmethod
    def _wrap(cls, storage, aval, view=None):
        t = object.__new__(cls)
        t._storage = storage
        t._aval = aval
        if view is not None:
            t._view = view
        return t

    @classmethod
    def _of(cls, value):
        """A tensor that owns a fresh storage holding `value`."""
        t = object.__new__(cls)
        t._storage = Storage(value)
        t._aval = value.aval
        return t

    # --- contents ---------------------------------------------------------------------------------------------------
    @property
    def _value(self):
        v = self._view
        return self._storage.value if v is None else v.read(self._storage)

    def _write(self, value):
        """Replace the contents and bump the version."""
        if self._view is None:
            self._storage.value = value
        else:
            self._view.write(self._storage, value)
        self._bump()

    def _bump(self):
        c = self._counter
        if c is None:
            c = self._storage
        c.version += 1

    @property
    def _version(self):
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        c = self._counter
        return self._storage.version if c is None else c.version

    def _numpy(self):
        """The numbers as a read-only numpy array."""
        return program.to_numpy(self._value)

    def _shared_numpy(self):
        """A numpy array that shares this tensor's memory."""
        s = self._storage
        if s.__class__ is not SharedStorage:
            root = np.array(program.to_numpy(s.value))
            share(s, root)
        root = s.array
        if self._view is None:
            return root.view()
        return strided_array(root.reshape(-1).view(self._aval.dtype), self._aval.shape, self._view.strides, self._view.offset)

    # --- geometry ---------------------------------------------------------------------------------------------------
    @property
    def shape(self):
        return Size(self._aval.shape)

    def size(self, dim=None):
        if dim is None:
            return Size(self._aval.shape)
        n = len(self._aval.shape)
        if not n:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
        return self._aval.shape[dim]

    def stride(self, dim=None):
        s = self._view.strides if self._view is not None else contiguous_strides(self._aval.shape)
        return s if dim is None else s[dim]

    def storage_offset(self):
        return self._view.offset if self._view is not None else 0

    def dim(self):
        return self._aval.ndim

    ndimension = dim

    @property
    def ndim(self):
        return self._aval.ndim

    def numel(self):
        return self._aval.size

    nelement = numel

    def is_contiguous(self, memory_format=None):
        if self._view is None or self._aval.size == 0:
            return True
        expected = contiguous_strides(self._aval.shape)
        return all(n == 1 or a == b for n, a, b in zip(self._aval.shape, self._view.strides, expected))

    @property
    def dtype(self):
        return dtypes.FROM_NP[self._aval.dtype]

    @property
    def device(self):
        return self._device

    @property
    def itemsize(self):
        return self.dtype.itemsize

    def element_size(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self._aval.size * self.dtype.itemsize

    @property
    def layout(self):
        from torchish.tensor.layout import strided
        return strided

    @property
    def is_cuda(self):
        return self._device.type == "cuda"

    is_sparse = is_quantized = is_nested = is_mkldnn = is_meta = is_mps = is_xpu = False

    @property
    def is_cpu(self):
        return self._device.type == "cpu"

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def is_signed(self):
        return self.dtype.is_signed

    def get_device(self):
        return -1 if self._device.type == "cpu" else (self._device.index or 0)

    def _is_view(self):
        return self._meta is not None

    @property
    def _base(self):
        return self._meta.base if self._meta is not None else None

    def data_ptr(self):
        """The address of the first element: of a copy, made at the call (see docs/deviations.md)."""
        return address(self._storage) + self.storage_offset() * self.dtype.itemsize if self._aval.size else 0

    # --- Python scalars ----------------------------------------------------------------------------------------------
    def item(self):
        if self._aval.size != 1:
            raise RuntimeError(f"a Tensor with {self._aval.size} elements cannot be converted to Scalar")
        return self._scalar()

    def _scalar(self):
        x = self._numpy().reshape(())
        return (x if x.dtype.isbuiltin == 1 else x.astype("float32")).item()

    def tolist(self):
        a = self._numpy()
        return (a if a.dtype.isbuiltin == 1 else a.astype("float32")).tolist()

    def __bool__(self):
        if self._aval.size != 1:
            what = "no values" if self._aval.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        if self._aval.traced.__class__ is tuple:
            raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                               "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
        return bool(self._scalar())

    def _one(self, kind):
        if self._aval.size != 1:
            raise RuntimeError(f"a Tensor with {self._aval.size} elements cannot be converted to Scalar")
        return kind(self._scalar())

    def __float__(self):
        return self._one(float)

    def __int__(self):
        return self._one(int)

    def __complex__(self):
        return self._one(complex)

    def __index__(self):
        if self._aval.size != 1 or self.dtype.category > 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._scalar())

    def __len__(self):
        if not self._aval.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._aval.shape[0]

    def __hash__(self):
        return id(self)

    def __format__(self, spec):
        return format(self._scalar(), spec) if self._aval.ndim == 0 and type(self) is Tensor else object.__format__(self, spec)

    def __dir__(self):
        return sorted(set(object.__dir__(self)))


def tensor_of(array):
    """A tensor holding a copy of a numpy array."""
    return Tensor._of(program.from_numpy(array))


# CPython keeps the instances' attributes in slots for those names only that the first few instances had.
template = object.__new__(Tensor)
for _name in ("_storage", "_aval", "_fn", "_nr", "_view", "_meta", "_req", "_grad"):
    setattr(template, _name, None)


__all__ = ["Tensor", "Value", "View", "Storage", "record", "tensor_of"]
