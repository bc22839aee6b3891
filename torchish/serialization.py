"""torch.save and torch.load: PyTorch's files, readable and writable by both libraries."""

import contextlib
import copy
import functools
import io
import os
import pickle
import pickletools
import re
import struct
import sys
import warnings
import zipfile
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

import numpy as np

from torchish._utils import (
    LATE,
    STORAGE_TYPES,
    UNTYPED,
    Incoming,
    Outgoing,
    is_torch,
    reduce_tensor,
    resolve,
    torch_name,
)
from torchish._weights_only_unpickler import (
    WeightsUnpickler,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_global,
    safe_globals,
)
from torchish.api.storages import TypedStorage, UntypedStorage
from torchish.tensor import bridge

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
           "safe_globals", "save"]

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_ALIGNMENT = 64

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source.")


# -- saving -----------------------------------------------------------------------------------------------------------

class _TorchPickling:
    """Mixed into a Python pickler: tensors and names as PyTorch writes them."""

    legacy = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.storages = {}

    def persistent_id(self, obj):
        if not isinstance(obj, (Outgoing, TypedStorage, UntypedStorage)):
            return None
        t = obj.tensor if isinstance(obj, Outgoing) else obj._flat
        identity = bridge.storage_key(t)
        if identity not in self.storages:
            kind = UNTYPED if t.dtype in LATE or isinstance(obj, UntypedStorage) else STORAGE_TYPES["torch", t.dtype.legacy + "Storage"]
            self.storages[identity] = str(len(self.storages)), t.dtype, kind, np.ascontiguousarray(bridge.storage_array(t))
        key, dtype, kind, flat = self.storages[identity]
        if dtype is not t.dtype and flat.size:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        # equal strings are one object, so that the pickle refers back to them
        pid = "storage", kind, key, sys.intern(str(t.device)), flat.nbytes // kind.dtype.itemsize
        return (*pid, None) if self.legacy else pid

    def reducer_override(self, obj):
        from torchish import Tensor
        if isinstance(obj, Tensor):
            return reduce_tensor(obj)
        return NotImplemented if torch_name(obj) is None else ""

    def save_global(self, obj, name=None):
        target = torch_name(obj)
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
        if hasattr(f, "flush"):
            f.flush()
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
        for key, *_, flat in pickler.storages.values():
            write(f"data/{key}", flat.view(np.uint8).data)
        write("version", b"3\n")


def _save_legacy(obj, file, name, pickle_module, protocol):
    about = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little",
             "type_sizes": {"short": 2, "int": 4, "long": 8}}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, about):
        pickle_module.dump(part, file, protocol=protocol)
    pickler = _pickler(pickle_module, _LegacyPickling)(file, protocol=protocol)
    pickler.dump(obj)
    storages = {key: (kind, flat) for key, _, kind, flat in pickler.storages.values()}
    pickle_module.dump(sorted(storages), file, protocol=protocol)
    for key in sorted(storages):
        kind, flat = storages[key]
        file.write(struct.pack("<q", flat.nbytes // kind.dtype.itemsize))
        file.write(flat.view(np.uint8).data)


# -- loading ----------------------------------------------------------------------------------------------------------

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
        return type("Unpickler", (WeightsUnpickler,), {"persistent_load": persistent_load})

    def find_class(self, module, name):
        return resolve(module, name) if is_torch(module) else pickle_module.Unpickler.find_class(self, module, name)

    return type("Unpickler", (pickle_module.Unpickler,), {"persistent_load": persistent_load, "find_class": find_class})


def _text(name):
    """Python 2's strings may come as bytes."""
    return name.decode("ascii") if isinstance(name, bytes) else name


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Load what `save`, or PyTorch's, wrote; unless `weights_only` is False, only tensors and plain containers."""
    forced = [os.environ.get(f"TORCH_FORCE_{name}_LOAD", "0").lower() in ("1", "y", "yes", "true")
              for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY")]
    if all(forced):
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should "
                           "be set, but both were set.")
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
        start = file.tell()
        is_zip = file.read(4) == b"PK\x03\x04"
        file.seek(start)
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
        raise type(error)(f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data "
                          "into a buffer like io.BytesIO and try to load from it instead.") from None
    yield f


def _advice(message):
    """PyTorch's words around a refusal of the restricted unpickler."""
    if "was not an allowed global by default." in message:
        text = ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo "
                f"those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) "
                "Alternatively, to load with `weights_only=True` please check the recommended steps in the "
                f"following error message.\n\tWeightsUnpickler error: {message}")
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
            "PytorchStreamReader failed reading zip archive: not a ZIP archive. This is an internal miniz error. If "
            "you are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can "
            "happen if the checkpoint was not saved properly, was transferred incorrectly, or the file was modified "
            "after saving.") from None
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
            storages[key] = restore(Incoming(data, kind.dtype, location, shared), location)
        return storages[key]

    data = io.BytesIO(archive.read(folder + "data.pkl"))
    out = _unpickler(pickle_module, persistent)(data, **pickle_load_args).load()
    return _arrived(out, storages)


def _arrived(out, storages):
    """What was read, with ordinary storages in it."""
    # all first: memory that is found by its address must live until then
    for storage, flat in [(s, s._flat) for s in {id(s): s for s in storages.values()}.values()]:
        storage.arrive(flat)
    return out


class _Anything:
    """Stands for every object while a legacy file is only searched for its storages."""

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def ignore(self, *args, **kwargs):
        return None

    __init__ = __setitem__ = __setstate__ = append = extend = add = update = ignore


class _Searching(pickle._Unpickler):
    def find_class(self, module, name):
        # a copy: nothing in the file may change ours
        return copy.copy(STORAGE_TYPES.get((module, name), _Anything))


def _load_legacy(file, restore, pickle_module, pickle_load_args):
    def unpickle(persistent):
        return _unpickler(pickle_module, persistent)(file, **pickle_load_args).load()

    if unpickle(None) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickle(None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    about = {_text(k): v for k, v in unpickle(None).items()}
    # the numbers stand behind the pickle that needs them, so it is read twice
    start, found = file.tell(), {}
    search = _Searching(file, **pickle_load_args)
    search.persistent_load = lambda pid: (
        found.setdefault(pid[2], pid[1].dtype) if _text(pid[0]) == "storage" else _Anything)
    search.load()
    blocks = {}
    for key in unpickle(None):
        dtype = found[key]
        (numel,) = struct.unpack("<q", file.read(8))
        data = np.frombuffer(file.read(numel * dtype.itemsize), dtype.np)
        native = about["little_endian"] == (sys.byteorder == "little")
        blocks[key] = (data if native else data.byteswap()).view(np.uint8)
    end, storages, shared = file.tell(), {}, {}

    def persistent(pid):
        if _text(pid[0]) == "module":
            return pid[1]
        _, kind, key, location, _, view = pid
        if key not in storages:
            location = _text(location)
            storages[key] = restore(Incoming(blocks[key], kind.dtype, location, shared), location)
        if view is None:
            return storages[key]
        name, offset, size = view
        if name not in storages:
            start = offset * kind.dtype.itemsize
            part = storages[key].data[start:start + size * kind.dtype.itemsize]
            storages[name] = Incoming(part, kind.dtype, storages[key].location, shared)
        return storages[name]

    file.seek(start)
    out = unpickle(persistent)
    file.seek(end)
    return _arrived(out, storages)


def _load_from_bytes(data):
    """A pickled tensor outside of save: the pickle holds a file of ours."""
    return load(io.BytesIO(data), weights_only=False)


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
                safe_global(module, name)
            except pickle.UnpicklingError:
                unsafe.add(f"{module}.{name}")
    return sorted(unsafe)
