"""torch.save and torch.load: PyTorch's files, readable and writable by both libraries.

The pickles speak of `torch`'s names, never of ours: `_torch_name` translates on the way out, `_resolve` on the way in.
"""

import collections
import codecs
import contextlib
import functools
import importlib
import io
import os
import pickle
import pickletools
import re
import struct
import sys
import types
import warnings
import zipfile
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

import numpy as np

from torchish.ops import dtypes

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_ALIGNMENT = 64

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source.")


# -- storages in a pickle ---------------------------------------------------------------------------------------------

class StorageType:
    """What a file calls `torch.FloatStorage` and the like: the dtype of a storage's elements."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype
        self.module = "torch.storage" if name == "UntypedStorage" else "torch"


# the unsigned dtypes came late: their storages are saved as plain bytes, the dtype beside them
_LATE = (dtypes.uint16, dtypes.uint32, dtypes.uint64)
_UNTYPED = StorageType("UntypedStorage", dtypes.uint8)
_STORAGE_TYPES = {(t.module, t.name): t for t in [
    _UNTYPED, *(StorageType(d.legacy + "Storage", d) for d in dtypes.ALL if d not in _LATE)]}


class _Outgoing:
    """The place of a tensor's storage in a pickle that is being written."""

    def __init__(self, tensor):
        self.tensor = tensor


class _Incoming:
    """A storage that was read: its bytes, where it belongs, and the tensors' common storages of this file."""

    def __init__(self, data, dtype, location, shared):
        self.data, self.dtype, self.location, self._shared = data, dtype, location, shared
        self._typed = {}

    def tensor(self, dtype, offset, size, stride, requires_grad):
        from torchish.tensor import bridge
        if dtype not in self._typed:
            self._typed[dtype] = self.data.view(dtype.np)
        here = self.location == "cpu"
        out = bridge.from_storage(self._typed[dtype], dtype, offset, size, stride, requires_grad and here, self._shared)
        return out if here else out.to(self.location).requires_grad_(requires_grad)

    def cpu(self):
        """The same storage on the CPU; what a `map_location` function may return."""
        return _Incoming(self.data, self.dtype, "cpu", self._shared)

    def cuda(self, device=None):
        """The same storage on a GPU; what a `map_location` function may return."""
        return _Incoming(self.data, self.dtype, "cuda" if device is None else f"cuda:{device}", self._shared)


# -- the functions that pickles call ----------------------------------------------------------------------------------

def _rebuild_tensor(storage, storage_offset, size, stride):
    return storage.tensor(storage.dtype, storage_offset, size, stride, False)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.dtype,
                              metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    lazy = [name for name in ("conj", "neg") if (metadata or {}).get(name)]
    tensor = storage.tensor(dtype, storage_offset, size, stride, requires_grad and not lazy)
    for name in lazy:
        tensor = getattr(tensor, name)()
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


def _load_from_bytes(data):
    return load(io.BytesIO(data), weights_only=False)


_REBUILD = {("torch._utils", f.__name__): f for f in (
    _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter, _rebuild_parameter_with_state)}
_REBUILD["torch._tensor", "_rebuild_from_type_v2"] = _rebuild_from_type_v2
_REBUILD["torch.storage", "_load_from_bytes"] = _load_from_bytes
_REBUILD_NAMES = {f: name for name, f in _REBUILD.items()}


def _reduce(tensor):
    """The call that makes this tensor anew, as PyTorch writes it."""
    from torchish import Tensor
    from torchish.nn import Parameter
    # names with an underscore are the tensor's own slots
    state = {k: v for k, v in vars(tensor).items() if not k.startswith("_")}
    if type(tensor) is Parameter:
        args = tensor.data, tensor.requires_grad, collections.OrderedDict()
        return (_rebuild_parameter_with_state, (*args, state)) if state else (_rebuild_parameter, args)
    args = (_Outgoing(tensor), tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()),
            tensor.requires_grad, collections.OrderedDict())
    call = (_rebuild_tensor_v3, (*args, tensor.dtype)) if tensor.dtype in _LATE else (_rebuild_tensor_v2, args)
    return call if type(tensor) is Tensor and not state else (
        _rebuild_from_type_v2, (call[0], type(tensor), call[1], state))


# -- names --------------------------------------------------------------------------------------------------------------

def _torch_name(obj):
    """(module, name) of one of our objects in PyTorch: the outermost package that shows it. None for other objects."""
    if isinstance(obj, StorageType):
        return obj.module, obj.name
    if isinstance(obj, dtypes.dtype):
        return "torch", obj.name
    if not isinstance(obj, (type, types.FunctionType)):
        return None
    if obj in _REBUILD_NAMES:
        return _REBUILD_NAMES[obj]
    packages = (obj.__module__ or "").split(".")
    if packages[0] != "torchish":
        return None
    for i in range(len(packages)):
        if getattr(sys.modules.get(".".join(packages[:i + 1])), obj.__qualname__, None) is obj:
            return ".".join(["torch", *packages[1:i + 1]]), obj.__qualname__
    return None


def _resolve(module, name):
    """Our object that PyTorch calls module.name: looked for in the module, then in the packages around it."""
    if (module, name) in _STORAGE_TYPES:
        return _STORAGE_TYPES[module, name]
    if (module, name) in _REBUILD:
        return _REBUILD[module, name]
    packages = ["torchish", *module.split(".")[1:]]
    while packages:
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            return functools.reduce(getattr, name.split("."), importlib.import_module(".".join(packages)))
        packages.pop()
    raise NotImplementedError(f"torchish has no {module}.{name}, which this file needs; load it with PyTorch and save "
                              "its state_dict")


def _is_torch(module):
    return module.split(".")[0] == "torch"


# -- saving -------------------------------------------------------------------------------------------------------------

class _TorchPickling:
    """Mixed into a Python pickler: tensors and names as PyTorch writes them."""

    legacy = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.storages = {}

    def persistent_id(self, obj):
        if not isinstance(obj, _Outgoing):
            return None
        from torchish.tensor import bridge
        t = obj.tensor
        identity = bridge.storage_key(t)
        if identity not in self.storages:
            flat = np.ascontiguousarray(bridge.storage_array(t))
            self.storages[identity] = str(len(self.storages)), t.dtype, flat
        key, dtype, flat = self.storages[identity]
        if dtype is not t.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        kind = _UNTYPED if dtype in _LATE else _STORAGE_TYPES["torch", dtype.legacy + "Storage"]
        # equal strings are one object, so that the pickle refers back to them
        pid = "storage", kind, key, sys.intern(str(t.device)), flat.nbytes // kind.dtype.itemsize
        return (*pid, None) if self.legacy else pid

    def reducer_override(self, obj):
        from torchish import Tensor
        if isinstance(obj, Tensor):
            return _reduce(obj)
        return NotImplemented if _torch_name(obj) is None else ""

    def save_global(self, obj, name=None):
        target = _torch_name(obj)
        if target is None:
            super().save_global(obj, name)
            return
        if self.proto >= 4:
            for part in target:
                self.save(part)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + "{}\n{}\n".format(*target).encode())
        self.memoize(obj)


class _LegacyPickling(_TorchPickling):
    legacy = True


def _pickler(pickle_module, mixin):
    # names can be changed only in picklers written in Python
    base = getattr(pickle_module, "_Pickler", None) or pickle_module.Pickler
    if not issubclass(base, pickle._Pickler):
        raise NotImplementedError(f"torch.save with pickle_module={pickle_module.__name__}; use pickle or dill")
    return type("Pickler", (mixin, base), {})


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True):
    """Save an object to a file, a path or anything with `write`, in PyTorch's format."""
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    write = _save_zip if _use_new_zipfile_serialization else _save_legacy
    if not is_path:
        write(obj, f, "archive", pickle_module, pickle_protocol)
        return
    path = os.fspath(f)
    parent = os.path.dirname(path)
    if _use_new_zipfile_serialization and parent and not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path, "wb") as file:
        write(obj, file, name if name.isascii() else "archive", pickle_module, pickle_protocol)


def _save_zip(obj, file, name, pickle_module, protocol):
    data = io.BytesIO()
    pickler = _pickler(pickle_module, _TorchPickling)(data, protocol=protocol)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w") as archive:
        def write(record, content):
            info = zipfile.ZipInfo(f"{name}/{record}")
            # storages start at multiples of 64 bytes, so that they can be mapped; the gap is an extra field
            size = memoryview(content).nbytes
            wide = 20 if size * 1.05 > zipfile.ZIP64_LIMIT else 0
            gap = -(archive.fp.tell() + 30 + len(info.filename.encode()) + wide + 4) % _ALIGNMENT
            info.extra = b"FB" + struct.pack("<H", gap) + b"Z" * gap
            info.file_size = size
            archive.writestr(info, content)

        write("data.pkl", data.getbuffer())
        write(".format_version", b"1")
        write(".storage_alignment", str(_ALIGNMENT).encode())
        write("byteorder", sys.byteorder.encode())
        for key, _, flat in pickler.storages.values():
            write(f"data/{key}", flat.view(np.uint8).data)
        write("version", b"3\n")


def _save_legacy(obj, file, name, pickle_module, protocol):
    about = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little",
             "type_sizes": {"short": 2, "int": 4, "long": 8}}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, about):
        pickle_module.dump(part, file, protocol=protocol)
    pickler = _pickler(pickle_module, _LegacyPickling)(file, protocol=protocol)
    pickler.dump(obj)
    storages = {key: (dtype, flat) for key, dtype, flat in pickler.storages.values()}
    pickle_module.dump(sorted(storages), file, protocol=protocol)
    for key in sorted(storages):
        dtype, flat = storages[key]
        # bytes are counted in elements of the storage type named in the pickle
        file.write(struct.pack("<q", flat.nbytes if dtype in _LATE else flat.size))
        file.write(flat.view(np.uint8).data)


# -- what may be loaded -------------------------------------------------------------------------------------------------

_safe = []
_BLOCKED = ("sys", "os", "posix", "nt")


def add_safe_globals(safe_globals):
    """Let `weights_only` loads use these classes and functions; a pair (object, "module.name") names one itself."""
    _safe.extend(g for g in safe_globals if g not in _safe)


def get_safe_globals():
    """The classes and functions added by add_safe_globals."""
    return list(_safe)


def clear_safe_globals():
    """Forget what add_safe_globals added."""
    _safe.clear()


class safe_globals:
    """add_safe_globals for the length of a with block."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        add_safe_globals(self.safe_globals)

    def __exit__(self, kind, value, traceback):
        _safe[:] = [g for g in _safe if g not in self.safe_globals]


@functools.cache
def _builtin_globals():
    import torchish
    from torchish.nn import Parameter
    own = {f"{module}.{name}": value for (module, name), value in (_STORAGE_TYPES | _REBUILD).items()}
    # bytes inside would be unpickled without restriction
    del own["torch.storage._load_from_bytes"]
    return own | {f"torch.{d.name}": d for d in dtypes.ALL} | {
        "torch.Size": torchish.Size, "torch.Tensor": torchish.Tensor, "torch.device": torchish.device,
        "torch.nn.parameter.Parameter": Parameter, "collections.OrderedDict": collections.OrderedDict,
        "collections.Counter": collections.Counter, "_codecs.encode": codecs.encode, "builtins.bytearray": bytearray,
        "builtins.set": set, "builtins.complex": complex}


def _allowed():
    return list(_builtin_globals().values()) + [g[0] if isinstance(g, tuple) else g for g in _safe]


def _is_allowed(obj):
    return any(obj is g for g in _allowed())


def _safe_global(module, name):
    """The allowed object of that name, or PyTorch's refusal."""
    full = f"{module}.{name}"
    if module in _BLOCKED:
        raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
    if full in _builtin_globals():
        return _builtin_globals()[full]
    for g in _safe:
        obj, path = g if isinstance(g, tuple) else (g, f"{g.__module__}.{g.__qualname__}")
        if path == full:
            return obj
    if _is_torch(module):
        with contextlib.suppress(NotImplementedError):
            found = _resolve(module, name)
            if _is_allowed(found):
                return found
    full = full.removeprefix("builtins.")
    raise pickle.UnpicklingError(
        f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context "
        "manager to allowlist this global if you trust this class/function.")


class _Opcodes(dict):
    def __missing__(self, code):
        raise pickle.UnpicklingError(f"Unsupported operand {code}")


class _WeightsUnpickler(pickle._Unpickler):
    """An unpickler that knows few opcodes, builds only plain containers and calls only allowed globals."""

    dispatch = _Opcodes({op[0]: pickle._Unpickler.dispatch[op[0]] for op in (
        pickle.MARK, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.NONE, pickle.NEWFALSE,
        pickle.NEWTRUE, pickle.EMPTY_TUPLE, pickle.EMPTY_LIST, pickle.EMPTY_DICT, pickle.EMPTY_SET, pickle.BININT,
        pickle.BININT1, pickle.BININT2, pickle.BINFLOAT, pickle.BINUNICODE, pickle.SHORT_BINSTRING, pickle.BINGET,
        pickle.LONG_BINGET, pickle.BINPUT, pickle.LONG_BINPUT, pickle.LONG1, pickle.STOP, pickle.GLOBAL,
        pickle.BINPERSID)})

    def find_class(self, module, name):
        module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        return _safe_global(module, name)

    def load_proto(self):
        super().load_proto()
        if self.proto != 2:
            warnings.warn(
                f"Detected pickle protocol {self.proto} in the checkpoint, which was not the default pickle protocol "
                "used by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented "
                "by this protocol, please file an issue for adding support if you encounter this.", stacklevel=3)

    def load_reduce(self):
        if not _is_allowed(self.stack[-2]):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {self.stack[-2]}")
        super().load_reduce()

    def load_newobj(self):
        if not _is_allowed(self.stack[-2]):
            raise pickle.UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via "
                                         f"`add_safe_globals` but got {self.stack[-2]}")
        super().load_newobj()

    def load_build(self):
        if not _is_allowed(type(self.stack[-2])):
            raise pickle.UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                                         f"`add_safe_globals`, but got {type(self.stack[-2])}")
        super().load_build()

    def _check(self, target, kinds, text):
        if type(target) not in kinds:
            raise pickle.UnpicklingError(f"Can only {text}, but got {type(target)}")

    def load_append(self):
        self._check(self.stack[-2], (list,), "append to lists")
        super().load_append()

    def load_appends(self):
        self._check(self.metastack[-1][-1], (list,), "extend lists")
        super().load_appends()

    def _check_mapping(self, target, code):
        self._check(target, (dict, collections.OrderedDict, collections.Counter),
                    f"{code} for dict, collections.OrderedDict, collections.Counter")

    def load_setitem(self):
        self._check_mapping(self.stack[-3], "SETITEM")
        super().load_setitem()

    def load_setitems(self):
        self._check_mapping(self.metastack[-1][-1], "SETITEMS")
        super().load_setitems()

    dispatch.update({op[0]: f for op, f in (
        (pickle.PROTO, load_proto), (pickle.REDUCE, load_reduce), (pickle.NEWOBJ, load_newobj),
        (pickle.BUILD, load_build), (pickle.APPEND, load_append), (pickle.APPENDS, load_appends),
        (pickle.SETITEM, load_setitem), (pickle.SETITEMS, load_setitems))})


# -- loading ------------------------------------------------------------------------------------------------------------

def _restorer(map_location):
    """Applies `map_location` to a storage that was read: a function, a dict of names, or one place for all."""
    def restore(storage, location):
        if callable(map_location):
            moved = map_location(storage, location)
            if moved is not None:
                return moved
        elif isinstance(map_location, dict):
            location = map_location.get(location, location)
        elif map_location is not None:
            location = map_location
        storage.location = _place(str(location))
        return storage
    return restore


def _place(location):
    from torchish.tensor import devices
    if not re.fullmatch(rf"({'|'.join(devices._TYPES)})(:\d+)?", location):
        raise RuntimeError("don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
                           f"{location})")
    try:
        devices.check(location)
    except AssertionError:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU.") from None
    return location


def _unpickler(pickle_module, persistent):
    """An unpickler class: the restricted one when no module is given, else the module's with our names."""
    def persistent_load(self, pid):
        if not isinstance(pid, tuple) or _text(pid[0]) not in ("storage", "module"):
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}"
                                         if isinstance(pid, tuple) else
                                         f"persistent_load id must be tuple or int, but got {type(pid)}")
        return persistent(pid)

    if pickle_module is None:
        return type("Unpickler", (_WeightsUnpickler,), {"persistent_load": persistent_load})

    def find_class(self, module, name):
        return _resolve(module, name) if _is_torch(module) else pickle_module.Unpickler.find_class(self, module, name)

    return type("Unpickler", (pickle_module.Unpickler,), {"persistent_load": persistent_load, "find_class": find_class})


def _text(name):
    """Python 2's strings may come as bytes."""
    return name.decode("ascii") if isinstance(name, bytes) else name


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Load what `save`, or PyTorch's, wrote; unless `weights_only` is False, only tensors and plain containers."""
    forced = [os.environ.get(f"TORCH_FORCE_{name}_LOAD", "0").lower() in ("1", "y", "yes", "true")
              for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")]
    if all(forced):
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be "
                           "set, but both were set.")
    if forced[0] or weights_only is None:
        weights_only = forced[0] or (pickle_module is None and not forced[1])
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if not weights_only and pickle_module is None:
        pickle_module = pickle
    pickle_load_args.setdefault("encoding", "utf-8")
    with _opened(f) as file:
        is_zip = file.read(4) == b"PK\x03\x04"
        file.seek(-4 if is_zip else 0, 1 if is_zip else 0)
        if mmap and not is_zip:
            name = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError("mmap can only be used with files saved with "
                               f"`torch.save({name}_use_new_zipfile_serialization=True), please torch.save your "
                               "checkpoint with this option in order to use mmap.")
        if mmap and not isinstance(f, (str, os.PathLike)):
            raise ValueError("f must be a file path in order to use the mmap argument")
        read = functools.partial(_load_zip, mapped=os.fspath(f) if mmap else None) if is_zip else _load_legacy
        try:
            return read(file, _restorer(map_location), pickle_module, pickle_load_args)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_advice(str(error))) from None


@contextlib.contextmanager
def _opened(f):
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into "
                          "a buffer like io.BytesIO and try to load from it instead.") from None
    yield f


def _advice(message):
    """PyTorch's words around a refusal of the restricted unpickler."""
    if "was not an allowed global by default." in message:
        text = ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those "
                f"steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to "
                "load with `weights_only=True` please check the recommended steps in the following error message.\n\t"
                f"WeightsUnpickler error: {message}")
    else:
        text = f"Weights only load failed. {_UNSAFE}\n"
        if not message.endswith("is blocked."):
            text += ("Please file an issue with the following so that we can make `weights_only=True` compatible with "
                     "your use case: WeightsUnpickler error: ")
        text += "\n\n" + message
    return text + ("\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
                   "weights_only https://pytorch.org/docs/stable/generated/torch.load.html.")


def _open_zip(file):
    """The archive and the folder in it."""
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise RuntimeError(
            "PytorchStreamReader failed reading zip archive: not a ZIP archive. This is an internal miniz error. If you "
            "are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen "
            "if the checkpoint was not saved properly, was transferred incorrectly, or the file was modified after "
            "saving.") from None
    folder = archive.namelist()[0].split("/")[0] + "/"
    if folder + "constants.pkl" in archive.namelist():
        raise NotImplementedError("TorchScript archives; save the module's state_dict with torch.save instead")
    return archive, folder


def _load_zip(file, restore, pickle_module, pickle_load_args, mapped):
    archive, folder = _open_zip(file)
    names = set(archive.namelist())
    order = archive.read(folder + "byteorder").decode() if folder + "byteorder" in names else "little"
    storages, shared = {}, {}

    def content(name):
        if mapped is None:
            return np.frombuffer(archive.read(name), np.uint8)
        info = archive.getinfo(name)
        file.seek(info.header_offset + 26)
        skip = sum(struct.unpack("<HH", file.read(4)))
        # copy on write, as PyTorch maps it
        return np.memmap(mapped, np.uint8, "c", info.header_offset + 30 + skip, info.file_size) \
            if info.file_size else np.empty(0, np.uint8)

    def persistent(pid):
        _, kind, key, location, _ = pid
        if key not in storages:
            data = content(f"{folder}data/{key}")
            if order != sys.byteorder:
                data = data.view(kind.dtype.np).byteswap().view(np.uint8)
            location = _text(location)
            storages[key] = restore(_Incoming(data, kind.dtype, location, shared), location)
        return storages[key]

    data = io.BytesIO(archive.read(folder + "data.pkl"))
    return _unpickler(pickle_module, persistent)(data, **pickle_load_args).load()


class _Anything:
    """Stands for every object while a legacy file is only searched for its storages."""

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def ignore(self, *args, **kwargs):
        return None

    __init__ = __setitem__ = __setstate__ = append = extend = add = update = ignore


class _Searching(pickle._Unpickler):
    def find_class(self, module, name):
        return _STORAGE_TYPES.get((module, name), _Anything)


def _load_legacy(file, restore, pickle_module, pickle_load_args):
    def unpickle(persistent):
        return _unpickler(pickle_module, persistent)(file, **pickle_load_args).load()

    if unpickle(None) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickle(None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    about = unpickle(None)
    # the numbers stand behind the pickle that needs them, so it is read twice
    start, found = file.tell(), {}
    search = _Searching(file, **pickle_load_args)
    search.persistent_load = lambda pid: found.setdefault(pid[2], pid[1].dtype) if _text(pid[0]) == "storage" else _Anything
    search.load()
    blocks = {}
    for key in unpickle(None):
        dtype = found[key]
        (numel,) = struct.unpack("<q", file.read(8))
        data = np.frombuffer(file.read(numel * dtype.itemsize), dtype.np)
        blocks[key] = (data if about["little_endian"] == (sys.byteorder == "little") else data.byteswap()).view(np.uint8)
    end, storages, shared = file.tell(), {}, {}

    def persistent(pid):
        if _text(pid[0]) == "module":
            return pid[1]
        _, kind, key, location, _, view = pid
        if key not in storages:
            location = _text(location)
            storages[key] = restore(_Incoming(blocks[key], kind.dtype, location, shared), location)
        if view is None:
            return storages[key]
        name, offset, size = view
        if name not in storages:
            start = offset * kind.dtype.itemsize
            part = storages[key].data[start:start + size * kind.dtype.itemsize]
            storages[name] = _Incoming(part, kind.dtype, storages[key].location, shared)
        return storages[name]

    file.seek(start)
    out = unpickle(persistent)
    file.seek(end)
    return out


def get_unsafe_globals_in_checkpoint(f):
    """The names in a file that `weights_only` would refuse."""
    with _opened(f) as file:
        archive, folder = _open_zip(file)
        data = archive.read(folder + "data.pkl")
    unsafe = set()
    for op, argument, _ in pickletools.genops(data):
        if op.name == "GLOBAL":
            module, name = argument.split(" ")
            module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
            try:
                _safe_global(module, name)
            except pickle.UnpicklingError:
                unsafe.add(f"{module}.{name}")
    return sorted(unsafe)
