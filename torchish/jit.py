"""torch.jit: every torchish function is compiled already, so scripting and tracing hand back what they are given."""

import contextlib
import types
import typing

from torchish.nn import Module
from torchish.nn.modules._names import typename
from torchish.nn.parameter import is_lazy

Final = typing.Final


class ScriptModule(Module):
    """A base class of modules; what `script` returns is of the class that it was."""


class RecursiveScriptModule(ScriptModule):
    """The class of PyTorch's compiled modules, for isinstance: no module here is one."""

    def __init__(self, cpp_module):
        raise NotImplementedError("RecursiveScriptModule: there is no TorchScript here; torch.jit.script hands back the module")


def _check_ready(module):
    """Refuse modules whose parameters have no shape yet, as a compiler must."""
    for part in module.modules():
        for what, tensors in ("parameters", part._parameters), ("buffers", part._buffers):
            name = next((name for name, t in tensors.items() if is_lazy(t)), None)
            if name is not None:
                kind = typename(part).replace("torchish", "torch", 1)
                raise RuntimeError(f"'{kind}' has uninitialized {what} {name}. Did you forget to run a forward pass?")


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """`obj` itself, unchanged: a module, a function or a class."""
    if isinstance(obj, Module):
        _check_ready(obj)
    elif not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class" if type(obj).__module__ == "builtins" else
                        f"torch.jit.script of {type(obj)}: a module, a function or a class is needed")
    return obj


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """`func` itself, which stays free to branch on its inputs, where a PyTorch trace freezes; it runs once on the example, so that
    what fails fails here."""
    if isinstance(func, Module):
        _check_ready(func)
    elif not callable(func):
        raise RuntimeError("Could not get name of python class object")
    if example_inputs is not None or example_kwarg_inputs is not None:
        args = () if example_inputs is None else example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,)
        func(*args, **(example_kwarg_inputs or {}))
    return func


def script_if_tracing(fn):
    return fn


def ignore(drop=False, **kwargs):
    """Decorator, with or without arguments; has no effect."""
    if not isinstance(drop, bool) and not callable(drop):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    return fn


def export(fn):
    return fn


def script_method(fn):
    return fn


def interface(obj):
    return obj


def annotate(the_type, the_value):
    return the_value


def isinstance_(obj, target_type):
    """Whether an object is of a type that may say what its containers hold: `List[int]`, `Optional[Tensor]` and so on."""
    if isinstance(target_type, tuple):
        return any(isinstance_(obj, t) for t in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return isinstance(obj, type(None) if target_type is None else target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance_(obj, t) for t in inner)
    if not isinstance(obj, origin):
        return False
    if issubclass(origin, dict):
        return all(isinstance_(k, inner[0]) and isinstance_(v, inner[1]) for k, v in obj.items())
    if issubclass(origin, tuple) and inner[-1:] != (...,):
        return len(obj) == len(inner) and all(map(isinstance_, obj, inner))
    return all(isinstance_(x, inner[0]) for x in obj)


class Attribute(typing.NamedTuple):
    """A value with its type, for attributes of modules."""

    value: typing.Any
    type: typing.Any


def is_scripting():
    return False


def is_tracing():
    return False


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """`mod` itself; its parameters stay what they are."""
    return mod


def optimize_for_inference(mod, other_methods=None):
    return mod


@contextlib.contextmanager
def optimized_execution(should_optimize):
    yield


@contextlib.contextmanager
def fuser(name):
    yield


def set_fusion_strategy(strategy):
    """Accepted; XLA fuses by its own rules. Returns the strategy given."""
    return strategy


def fork(func, *args, **kwargs):
    """Run `func` now; `wait` hands its result out."""
    return func(*args, **kwargs)


def wait(future):
    return future


def save(m, f, _extra_files=None):
    raise NotImplementedError("torch.jit.save: torchish has no TorchScript; use torch.save(module.state_dict(), f)")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    raise NotImplementedError("torch.jit.load: torchish has no TorchScript; build the module and load its state_dict")


def __getattr__(name):
    # as a global it would hide Python's from the functions here
    if name == "isinstance":
        return isinstance_
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
