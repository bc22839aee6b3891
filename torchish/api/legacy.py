"""torch.Tensor(...), torch.IntTensor(...) and t.new(...): tensors made of sizes or of data, by what the arguments are."""

from collections.abc import Sequence

import numpy as np

from torchish.api import creation, storages, viewing
from torchish.ops import dtypes
from torchish.ops.promote import CTYPES
from torchish.tensor import Size, Tensor, devices


def constructed(args, dtype, size=None, data=None, device=None, any_dtype=False):
    """A tensor of sizes (numbers or a torch.Size), or of a sequence, a tensor's or a storage's contents."""
    if device is not None and devices.device(device).type != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {devices.device(device).type} was passed")
    args = args or tuple(x for x in (data,) if x is not None)
    if size is not None or not args:
        return creation.empty(size or 0, dtype=dtype)
    given = args[0]
    if isinstance(given, Size) or len(args) > 1 or _is_number(given):
        return creation.empty(_sizes(given if isinstance(given, Size) else args), dtype=dtype)
    if isinstance(given, Tensor):
        if given.dtype is not dtype and not any_dtype:
            raise TypeError(f"expected {_options(dtype)} (got {_options(given.dtype)})")
        return given.detach()
    if storages.is_storage(given):
        return _shared(given, dtype)
    if isinstance(given, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(given).__name__}'")
    if not isinstance(given, (Sequence, np.ndarray)):
        kind = type(given)
        raise TypeError(f"new(): data must be a sequence (got {'numpy.' * isinstance(given, np.generic)}{kind.__name__})")
    return creation.tensor(given if isinstance(given, np.ndarray) else list(given), dtype=dtype)


def _is_number(x):
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _sizes(given):
    for i, x in enumerate(given, 1):
        if not _is_number(x) and not isinstance(x, Tensor):
            raise TypeError(f"new(): argument 'size' failed to unpack the object at pos {i} with error \"type must be tuple of ints,but got "
                            f"{type(x).__name__}\"")
    return tuple(map(int, given))


def _options(dtype):
    return (f"TensorOptions(dtype={CTYPES.get(dtype.legacy, dtype.name)}, device=cpu, layout=Strided, requires_grad=false (default), "
            "pinned_memory=false (default), memory_format=(nullopt))")


def _shared(storage, dtype):
    """A tensor over a storage's memory."""
    if isinstance(storage, storages.TypedStorage) and storage.dtype is not dtype:
        raise RuntimeError(f"Expected a Storage of type {dtype.legacy} or an UntypedStorage, but got type {storage.dtype.legacy} for "
                           "argument 1 'storage'")
    return storage._flat if storage._flat.dtype is dtype else viewing.view_(storage._flat, dtype)


class _LegacyMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor) and obj.dtype is cls.dtype

    def __call__(cls, *args, **kw):
        return constructed(args, cls.dtype, **kw)


TORCH = {d.legacy + "Tensor": _LegacyMeta(d.legacy + "Tensor", (), {"dtype": d, "__module__": "torch"})
         for d in dtypes.ALL if d not in dtypes.EIGHT_BITS}
