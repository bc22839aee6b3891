"""torch.jit: every torchish function is compiled already, so scripting and tracing hand back what they are given."""

import contextlib
import typing

from torchish.nn import Module

Final = typing.Final
ScriptModule = Module


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """`obj` itself, unchanged."""
    return obj


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """`func` itself: it stays free to branch on its inputs, which a PyTorch trace freezes."""
    return func


def script_if_tracing(fn):
    return fn


def ignore(drop=False, **kwargs):
    """Decorator, with or without arguments; has no effect."""
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
