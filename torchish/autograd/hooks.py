"""Hook handles and the running of hooks."""

import itertools
import weakref
from collections import OrderedDict

from torchish.tensor import Tensor

_ids = itertools.count()


class RemovableHandle:
    """Removes its hook; removing twice is fine."""

    __module__ = "torchish.utils.hooks"     # where saved modules look for it

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(_ids)
        self.hooks_dict_ref = weakref.ref(hooks_dict) if isinstance(hooks_dict, OrderedDict) else (lambda: hooks_dict)
        self.extra_dict_ref = tuple((lambda d=d: d) for d in (
            (extra_dict,) if isinstance(extra_dict, dict) else extra_dict or ()))

    def remove(self):
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)
        for ref in self.extra_dict_ref:
            ref().pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        global _ids
        hooks, number, extra = state
        self.__init__(OrderedDict() if hooks is None else hooks, extra_dict=extra)
        self.id = number
        _ids = itertools.count(max(next(_ids), number + 1))     # later hooks get other numbers

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add(hooks, fn):
    """Register `fn` in a dict of hooks."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = fn
    return handle


def hook_name(fn):
    return getattr(fn, "__name__", type(fn).__name__)


def legacy(t):
    return f"torch.{t.dtype.legacy}Tensor"


def run_tensor_hooks(hooks, grad):
    """Each hook sees the previous one's result."""
    for fn in list(hooks.values()):
        out = fn(grad)
        if out is None:
            continue
        grad = check_replacement(fn, grad, out)
    return grad


def check_replacements(fn, old, new):
    """The gradients that a node's hook returned for the gradients `old`."""
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(new).__name__}'")
    if len(new) != len(old):
        raise RuntimeError(f"hook '{hook_name(fn)}' has returned an incorrect number of values (got {len(new)}, but expected {len(old)})")
    return [check_replacement(fn, a, b) if b is not None else None for a, b in zip(old, new)]


def check_replacement(fn, old, new):
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old is not None:
        if new.dtype is not old.dtype:
            raise RuntimeError(f"hook '{hook_name(fn)}' has changed the type of value (was {legacy(old)} got {legacy(new)})")
        if new._aval.shape != old._aval.shape:
            raise RuntimeError(f"hook '{hook_name(fn)}' has changed the size of value")
    return new
