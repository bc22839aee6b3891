"""What `torch.autograd.graph` offers beside the nodes: hooks on saved tensors, gradient edges, hooks on several tensors."""

import contextlib
import functools
import threading
import weakref
from typing import NamedTuple

from torchish.autograd import hooks
from torchish.autograd.graph import Node, edge_of
from torchish.autograd.modes import state
from torchish.tensor import Tensor

__all__ = ["saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook",
           "allow_mutation_on_saved_tensors", "Node", "GradientEdge", "get_gradient_edge", "increment_version",
           "set_warn_on_accumulate_grad_stream_mismatch"]


class _Disabled(threading.local):
    message = None          # of disable_saved_tensors_hooks, in this thread


_disabled = _Disabled()


class saved_tensors_hooks:
    """Inside, `pack_hook(tensor)` is kept in place of a saved tensor and `unpack_hook(packed)` gives it back at its use."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if _disabled.message is not None:
            raise RuntimeError(_disabled.message)
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc):
        state.saved_hooks = state.saved_hooks[:-1]


def hooks_enabled():
    """Whether saved_tensors_hooks may be used now."""
    return _disabled.message is None


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the host's memory until backward needs them."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, saved_tensors_hooks raises `error_message`."""
    if state.saved_hooks:
        raise RuntimeError(error_message)
    previous, _disabled.message = _disabled.message, error_message
    try:
        yield
    finally:
        _disabled.message = previous


class _Handle:
    """Stands for a saved tensor."""

    __slots__ = ("storage", "then", "tensor", "__weakref__")

    def __init__(self, t):
        self.storage, self.then, self.tensor = t._storage, t._storage.value, Tensor._of(t._value)
        self.tensor._device = t._device


class _Snapshots:
    """Keeps saved tensors as they were; arrays are immutable, so that takes no copy."""

    def __init__(self):
        self._handles = weakref.WeakValueDictionary()       # what is seen of a storage at a version -> handle

    @property
    def tid_to_weakhandle(self):
        """The saved tensors that are still needed: each once at each of its versions."""
        return self._handles

    @property
    def cloned(self):
        """{handle: tensor} of those that were written to since."""
        return {h: h.tensor for h in self._handles.values() if h.storage.value is not h.then}

    @property
    def original(self):
        """{handle: tensor} of those that were not."""
        return {h: h.tensor for h in self._handles.values() if h.storage.value is h.then}

    def pack(self, t):
        key = id(t._storage), id(t._value)      # both live as long as the handle
        handle = self._handles.get(key)
        if handle is None:
            handle = self._handles[key] = _Handle(t)
        return handle

    def unpack(self, handle):
        if _mutation.context is not self:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                                 "originally recorded.")
        return handle.tensor

    def clear(self):
        self._handles.clear()


class _Mutation(threading.local):
    context = None          # of allow_mutation_on_saved_tensors, in this thread


_mutation = _Mutation()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, a tensor may be changed in place after it was saved: backward uses its values of before. Backward has to run inside,
    too."""
    if _mutation.context is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _mutation.context = _Snapshots()
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        context.clear()
        _mutation.context = None


# --- edges -----------------------------------------------------------------------------------------------------------

class GradientEdge(NamedTuple):
    """A place in the graph: an output of a node. autograd.grad takes it in place of a tensor."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor):
    """Where the gradient of `tensor` goes."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """Kept for scripts: there are no streams that could mismatch."""


def increment_version(tensor):
    """Count one more in-place change, for writes that autograd did not see."""
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not hasattr(tensors, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensors:
        t._bump()


# --- hooks on several tensors ----------------------------------------------------------------------------------------

class _Handles(hooks.RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        for handle in self.handles:
            handle.remove()


def _node(t):
    edge = t[:2] if isinstance(t, GradientEdge) else edge_of(t)
    if edge is None:
        raise AssertionError("Expected gradient function to be set")
    return edge[0]


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Once a backward: `fn(gradients)` when all that come are there (None for the others), or with mode="any" `fn(gradient)` at
    the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    register = _register_all if mode == "all" else _register_any
    return _Handles(register(tensors, fn))


def _register_all(tensors, fn):
    nodes = [_node(t) for t in tensors]
    passes = weakref.WeakKeyDictionary()       # backward pass -> [gradients, how many are still to come]

    def hook(i, grad):
        task = state.task
        entry = passes.get(task)
        if entry is None:
            entry = passes[task] = [[None] * len(nodes), sum(map(task.will_run, nodes))]
        entry[0][i] = grad
        entry[1] -= 1
        if not entry[1]:
            fn(entry[0])

    return [t.register_hook(functools.partial(hook, i)) for i, t in enumerate(tensors)]


def _register_any(tensors, fn):
    seen = weakref.WeakSet()

    @functools.wraps(fn)
    def hook(grad):
        if state.task not in seen:
            seen.add(state.task)
            fn(grad)

    return [t.register_hook(hook) for t in tensors if t.requires_grad]
