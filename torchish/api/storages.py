"""torch.storage: the memory of tensors as objects of their own, seen through flat tensors that share it."""

import copy as _copy
import sys

import numpy as np

from torchish.api import creation, viewing
from torchish.api.overloads import clone, copy_, fill_
from torchish.autograd.modes import no_grad
from torchish.ops import dtypes
from torchish.tensor import Tensor


def _flat(t):
    """All of a tensor's memory as a 1-D tensor."""
    with no_grad():
        return viewing.reshape(Tensor._wrap(t._storage, t._storage.value.aval), -1)


class _Memory:
    """What both kinds of storage do; `_flat` is the 1-D tensor that shows the memory."""

    is_sparse = is_sparse_csr = is_hpu = False
    filename = None

    def _like(self, flat):
        return type(self)._over(flat)

    @classmethod
    def _over(cls, flat):
        new = object.__new__(cls)
        new._flat = flat
        return new

    def __len__(self):
        return self._flat.numel()

    size = __len__

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, i):
        if isinstance(i, slice):
            if isinstance(self, TypedStorage):
                raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
            return self._like(self._flat[i])
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} out of range for storage of size {len(self)}")
        return self._flat[i].item()

    def __setitem__(self, i, value):
        self._flat[i] = value

    def __delitem__(self, i):
        raise RuntimeError("a storage's elements cannot be deleted")

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and isinstance(self, UntypedStorage) and self._flat._storage is other._flat._storage

    def __hash__(self):
        return self._cdata

    @property
    def _cdata(self):
        """A number that tells one memory from another."""
        return id(self._flat._storage)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        return self._like(_copy.deepcopy(self._flat, memo))

    def tolist(self):
        return self._flat.tolist()

    def nbytes(self):
        return self._flat.nbytes

    def element_size(self):
        return self._flat.itemsize

    def data_ptr(self):
        return self._flat.data_ptr()

    @property
    def device(self):
        return self._flat.device

    @property
    def is_cuda(self):
        return self._flat.is_cuda

    def get_device(self):
        return self._flat.get_device()

    def fill_(self, value):
        fill_(self._flat, value)
        return self

    def copy_(self, source, non_blocking=None):
        copy_(self._flat, source._flat)
        return self

    def clone(self):
        return self._like(clone(self._flat))

    def to(self, *, device, non_blocking=False):
        return self if self.device == device else self._like(self._flat.to(device))

    def cpu(self):
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        return self.to(device="cuda" if device is None else device)

    def hpu(self, device=None, non_blocking=False):
        return self.to(device="hpu")

    def mps(self):
        return self.to(device="mps")

    def untyped(self):
        return UntypedStorage._over(self._flat if self._flat.dtype is dtypes.uint8 else viewing.view_(self._flat, dtypes.uint8))

    def resizable(self):
        return True

    def resize_(self, size):
        """Accepted where nothing changes: torchish's tensors own all of their storage."""
        if size != len(self):
            raise NotImplementedError("torchish does not resize a storage under its tensors; use Tensor.resize_")
        return self

    def is_shared(self):
        return False

    def share_memory_(self):
        return self

    def is_pinned(self, device="cuda"):
        return False

    def pin_memory(self, device="cuda"):
        return self

    def new(self):
        return type(self)()

    def __repr__(self):
        kind = "UntypedStorage(" if isinstance(self, UntypedStorage) else f"TypedStorage(dtype={self.dtype}, "
        return "".join(f" {x}\n" for x in self) + f"[torch.storage.{kind}device={self.device}) of size {len(self)}]"


def _data(args, dtype):
    """The elements that a storage is made of: a number of them, or a sequence."""
    if len(args) > 1:
        raise TypeError(f"a storage is made of a size or a sequence, got {len(args)} arguments")
    given = args[0] if args else 0
    return creation.empty(given, dtype=dtype) if isinstance(given, int) else creation.tensor(given, dtype=dtype)


class UntypedStorage(_Memory):
    """The bytes of a tensor's memory."""

    def __init__(self, *args, device=None):
        self._flat = _data(args, dtypes.uint8)

    def type(self, dtype=None, non_blocking=False):
        return "torch.storage.UntypedStorage" if dtype is None else _converted(self, dtype)

    def byteswap(self, dtype):
        """Turn the bytes of every element around."""
        turned = self._flat.numpy().view(dtype.np).byteswap().view(np.uint8)
        copy_(self._flat, creation.from_array(turned))

    @staticmethod
    def from_buffer(buffer, byte_order="native", *, dtype=dtypes.uint8, count=-1, offset=0):
        """A copy of an object's memory."""
        found = clone(creation.frombuffer(buffer, dtype=dtype, count=count, offset=offset))
        made = TypedStorage._over(found).untyped()
        if byte_order not in ("native", sys.byteorder):
            made.byteswap(dtype)
        return made

    @staticmethod
    def from_file(filename, shared=False, nbytes=0):
        return UntypedStorage._over(creation.from_file(filename, shared, nbytes, dtype=dtypes.uint8))


class TypedStorage(_Memory):
    """The elements of a tensor's memory."""

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        dtype = dtypes.get_default() if dtype is None else dtype
        self._flat = _data(args, dtype) if wrap_storage is None else viewing.view_(wrap_storage._flat, dtype)

    @property
    def dtype(self):
        return self._flat.dtype

    def type(self, dtype=None, non_blocking=False):
        return f"torch.{self.dtype.legacy}Storage" if dtype is None else _converted(self, dtype)

    def pickle_storage_type(self):
        return self.dtype.legacy + "Storage"


def _converted(storage, dtype):
    d = next((d for d in dtypes.ALL if isinstance(dtype, str) and dtype == f"torch.{d.legacy}Storage"), getattr(dtype, "dtype", dtype))
    return TypedStorage._over(storage._flat.to(d))


def _conversion(dtype):
    return lambda self: _converted(self, dtype)


for _name, _dtype in {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "int": dtypes.int32,
                      "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool,
                      "complex_float": dtypes.complex64, "complex_double": dtypes.complex128,
                      **{d.name: d for d in dtypes.EIGHT_BITS[:4]}}.items():
    setattr(_Memory, _name, _conversion(_dtype))


class _LegacyMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, TypedStorage) and obj.dtype is cls.dtype

    def __call__(cls, *args):
        return TypedStorage(*args, dtype=cls.dtype)


LEGACY = {d.legacy + "Storage": _LegacyMeta(d.legacy + "Storage", (), {"dtype": d, "__module__": "torch"})
          for d in dtypes.ALL[:5] + dtypes.ALL[8:15]}


def is_storage(obj):
    return isinstance(obj, _Memory)


def untyped_storage(self):
    """The bytes of this tensor's memory."""
    return TypedStorage._over(_flat(self)).untyped()


def storage(self):
    """The elements of this tensor's memory."""
    flat = _flat(self)
    return TypedStorage._over(flat if flat.dtype is self.dtype else viewing.view_(flat, self.dtype))


def storage_type(self):
    return LEGACY[self.dtype.legacy + "Storage"]


METHODS = {"untyped_storage": untyped_storage, "storage": storage, "_typed_storage": storage, "storage_type": storage_type}
TORCH = LEGACY | {"UntypedStorage": UntypedStorage, "TypedStorage": TypedStorage, "is_storage": is_storage}
