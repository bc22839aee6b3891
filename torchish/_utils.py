"""What PyTorch's pickles call by name: storages, the functions that rebuild tensors, and all names of ours.

The pickles speak of `torch`'s names, never of ours: `torch_name` translates on the way out, `resolve` on the way in.
"""

import collections
import contextlib
import functools
import importlib
import pkgutil
import sys
import types

from torchish.api.storages import TypedStorage
from torchish.ops import dtypes
from torchish.tensor import bridge

# -- storages in a pickle ---------------------------------------------------------------------------------------------

class StorageType:
    """What a file calls `torch.FloatStorage` and the like: the dtype of a storage's elements."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype
        self.module = "torch.storage" if name == "UntypedStorage" else "torch"


# some dtypes came late: their storages are saved as plain bytes, the dtype beside them
LATE = tuple(d for d in dtypes.ALL if d.name in ("uint16", "uint32", "uint64") or d.name.startswith("float8"))
UNTYPED = StorageType("UntypedStorage", dtypes.uint8)
STORAGE_TYPES = {(t.module, t.name): t for t in [
    UNTYPED, *(StorageType(d.legacy + "Storage", d) for d in dtypes.ALL if d not in LATE)]}


class Outgoing:
    """The place of a tensor's storage in a pickle that is being written."""

    def __init__(self, tensor):
        self.tensor = tensor


class Incoming(TypedStorage):
    """A storage that is being read: its bytes, where it belongs, and the tensors' common storages of this file."""

    dtype = None

    def __init__(self, data, dtype, location, shared):
        self.data, self.dtype, self.location, self._shared = data, dtype, location, shared
        self._typed = {}

    def tensor(self, dtype, offset, size, stride, requires_grad):
        if dtype not in self._typed:
            self._typed[dtype] = self.data.view(dtype.np)
        here = self.location == "cpu"
        out = bridge.from_storage(self._typed[dtype], dtype, offset, size, stride, requires_grad and here, self._shared)
        return out if here else out.to(self.location).requires_grad_(requires_grad)

    @property
    def _flat(self):
        return self.tensor(self.dtype, 0, (self.data.nbytes // self.dtype.itemsize,), (1,), False)

    def arrive(self, flat):
        """Become an ordinary storage, over the memory of the tensors that were read."""
        self.__dict__.clear()
        self.__class__, self._flat = TypedStorage, flat

    def cpu(self):
        """The same storage on the CPU; what a `map_location` function may return."""
        return Incoming(self.data, self.dtype, "cpu", self._shared)

    def cuda(self, device=None):
        """The same storage on a GPU; what a `map_location` function may return."""
        return Incoming(self.data, self.dtype, "cuda" if device is None else f"cuda:{device}", self._shared)


# -- the functions that pickles call ----------------------------------------------------------------------------------

def _rebuild_tensor(storage, storage_offset, size, stride):
    return storage.tensor(storage.dtype, storage_offset, size, stride, False)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.dtype,
                              metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    import torchish
    lazy = [name for name in ("conj", "neg") if (metadata or {}).get(name)]
    tensor = storage.tensor(dtype, storage_offset, size, stride, requires_grad and not lazy)
    for name in lazy:
        tensor = getattr(torchish, "_conj" if name == "conj" else "_neg_view")(tensor)
    return tensor.requires_grad_(requires_grad) if lazy else tensor


def _rebuild_parameter(data, requires_grad, backward_hooks):
    from torchish.nn import Parameter
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func, new_type, args, state):
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    return _set_state(tensor, state)


def _set_state(tensor, state):
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(tensor, name, value)
    return tensor


REBUILD = {("torch._utils", f.__name__): f for f in (
    _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter, _rebuild_parameter_with_state)}
REBUILD["torch._tensor", "_rebuild_from_type_v2"] = _rebuild_from_type_v2
REBUILD_NAMES = {f: name for name, f in REBUILD.items()}


def reduce_tensor(tensor):
    """The call that makes this tensor anew, as PyTorch writes it."""
    from torchish import Tensor
    from torchish.nn import Parameter
    from torchish.nn.parameter import is_lazy
    if is_lazy(tensor):
        return tensor.__reduce_ex__(2)
    # names with an underscore are the tensor's own slots
    state = {k: v for k, v in vars(tensor).items() if not k.startswith("_")}
    if type(tensor) is Parameter:
        args = tensor.data, tensor.requires_grad, collections.OrderedDict()
        return (_rebuild_parameter_with_state, (*args, state)) if state else (_rebuild_parameter, args)
    args = (Outgoing(tensor), tensor.storage_offset(), (*tensor.size(),), (*tensor.stride(),),
            tensor.requires_grad, collections.OrderedDict())
    bits = {name: True for name, is_set in (("conj", tensor.is_conj), ("neg", tensor.is_neg)) if is_set()}
    metadata = (bits,) if bits else ()
    call = (_rebuild_tensor_v3, (*args, tensor.dtype, *metadata)) if tensor.dtype in LATE else (_rebuild_tensor_v2, (*args, *metadata))
    return call if type(tensor) is Tensor and not state else (
        _rebuild_from_type_v2, (call[0], type(tensor), call[1], state))


def _element_size(dtype):
    """The bytes of one element."""
    return dtype.itemsize


# -- names ------------------------------------------------------------------------------------------------------------

def torch_name(obj):
    """(module, name) of one of our objects in PyTorch: the outermost package that shows it. None for other objects."""
    if isinstance(obj, StorageType):
        return obj.module, obj.name
    if isinstance(obj, dtypes.dtype):
        return "torch", obj.name
    if not isinstance(obj, (type, types.FunctionType)):
        return None
    if obj in REBUILD_NAMES:
        return REBUILD_NAMES[obj]
    packages = (obj.__module__ or "").split(".")
    if packages[0] not in ("torchish", "torch"):
        return None
    packages[0] = "torchish"
    for i in range(len(packages)):
        if getattr(sys.modules.get(".".join(packages[:i + 1])), obj.__qualname__, None) is obj:
            return ".".join(["torch", *packages[1:i + 1]]), obj.__qualname__
    return None


# modules and classes of PyTorch's own that hold the functions of saved modules
INSIDE = {"torch._C._nn": "torch.nn.functional"}
HOLDERS = {("torch._C", "_VariableFunctionsClass"): "torchish", ("torch._C", "TensorBase"): "torchish.Tensor"}


def resolve(module, name):
    """Our object that PyTorch calls module.name: looked for in the module, then in the packages around it."""
    if (module, name) in STORAGE_TYPES:
        return STORAGE_TYPES[module, name]
    if (module, name) in REBUILD:
        return REBUILD[module, name]
    if (module, name) in HOLDERS:
        return pkgutil.resolve_name(HOLDERS[module, name])
    packages = ["torchish", *INSIDE.get(module, module).split(".")[1:]]
    while packages:
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            return functools.reduce(getattr, name.split("."), importlib.import_module(".".join(packages)))
        packages.pop()
    raise NotImplementedError(f"torchish has no {module}.{name}, which this file needs; load it with PyTorch and save "
                              "its state_dict")


def is_torch(module):
    return module.split(".")[0] == "torch"


