"""What saving and loading need of storages."""

import numpy as np

from torchish import program
from torchish.tensor.storage import Storage, View
from torchish.tensor.tensor import Tensor


def storage_key(t):
    return id(t._storage)


def storage_array(t):
    """The whole storage, flat."""
    return np.ascontiguousarray(program.to_numpy(t._storage.value)).reshape(-1)


def from_storage(flat, dtype, offset, size, stride, requires_grad, shared):
    """A tensor over a storage holding `flat`; `shared` maps id(flat) to its Storage, so that tensors keep sharing."""
    from torchish.ops import TABLE
    from torchish.ops.views import contiguous_strides
    from torchish.program import aval_of
    size, stride = tuple(size), tuple(stride)
    storage = shared.get(id(flat))
    if storage is None:
        whole = offset == 0 and stride == contiguous_strides(size) and int(np.prod(size)) == flat.size
        storage = shared[id(flat)] = Storage(program.from_numpy(flat.reshape(size) if whole else flat))
    aval = storage.value.aval
    if aval.shape == size and offset == 0 and stride == contiguous_strides(size):
        t = Tensor._wrap(storage, aval)
    else:
        row = TABLE["as_strided"]
        t = Tensor._wrap(storage, aval_of(size, aval.dtype), View(((row, (), (size, stride, offset)),), stride, offset))
    t._req = bool(requires_grad)
    return t
