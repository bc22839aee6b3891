"""The unpickler behind `weights_only=True`, and the list of what it may make."""

import codecs
import collections
import contextlib
import functools
import pickle
import warnings
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

from torchish._utils import REBUILD, STORAGE_TYPES, is_torch, resolve
from torchish.ops import dtypes

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
    own = {f"{module}.{name}": value for (module, name), value in (STORAGE_TYPES | REBUILD).items()}
    return own | {f"torch.{d.name}": d for d in dtypes.ALL} | {
        "torch.Size": torchish.Size, "torch.Tensor": torchish.Tensor, "torch.device": torchish.device,
        "torch.nn.parameter.Parameter": Parameter, "collections.OrderedDict": collections.OrderedDict,
        "collections.Counter": collections.Counter, "_codecs.encode": codecs.encode, "builtins.bytearray": bytearray,
        "builtins.set": set, "builtins.complex": complex}


def _allowed():
    return list(_builtin_globals().values()) + [g[0] if isinstance(g, tuple) else g for g in _safe]


def _is_allowed(obj):
    return any(obj is g for g in _allowed())


def safe_global(module, name):
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
    if is_torch(module):
        with contextlib.suppress(NotImplementedError):
            found = resolve(module, name)
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


class WeightsUnpickler(pickle._Unpickler):
    """An unpickler that knows few opcodes, builds only plain containers and calls only allowed globals."""

    dispatch = _Opcodes({op[0]: pickle._Unpickler.dispatch[op[0]] for op in (
        pickle.MARK, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.NONE, pickle.NEWFALSE,
        pickle.NEWTRUE, pickle.EMPTY_TUPLE, pickle.EMPTY_LIST, pickle.EMPTY_DICT, pickle.EMPTY_SET, pickle.BININT,
        pickle.BININT1, pickle.BININT2, pickle.BINFLOAT, pickle.BINUNICODE, pickle.SHORT_BINSTRING, pickle.BINGET,
        pickle.LONG_BINGET, pickle.BINPUT, pickle.LONG_BINPUT, pickle.LONG1, pickle.STOP, pickle.GLOBAL,
        pickle.BINPERSID)})

    def find_class(self, module, name):
        module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        return safe_global(module, name)

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


