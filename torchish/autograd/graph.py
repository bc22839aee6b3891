"""Nodes of the backward graph, and what they save."""

import itertools
import weakref
from typing import NamedTuple

from torchish.autograd import where
from torchish.autograd.modes import no_grad, state
from torchish.ops import TABLE, dtypes
from torchish.tensor import Size, Tensor, device

sequence = itertools.count()
FREED = object()

SECOND_TIME = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
               "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
               "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
               "saved tensors after calling backward.")
HINT = (" Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).")
ANOMALY_HINT = (" Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
                "question was changed in there or anywhere later. Good luck!")


class InputMetadata(NamedTuple):
    """What a node expects as a gradient."""

    shape: Size
    dtype: dtypes.dtype
    device: device


class BackwardNode:
    """One backward function. `edges` are (node, output number) or None, one an input that may need a gradient.

    Class attributes are the defaults of what most nodes never get; `plain` turns False with the first hook.
    """

    _is_node = True
    tensor_hooks = retained = pre = post = place = metadata_ = freed = None
    plain = True

    def __init__(self, edges, outs):
        self.edges, self.outs = edges, outs
        self.sequence = next(sequence)

    def name(self):
        return type(self).__name__

    @property
    def next_functions(self):
        return tuple((None, 0) if e is None else e for e in self.edges)

    @property
    def metadata(self):
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    def _sequence_nr(self):
        return self.sequence

    def _set_sequence_nr(self, number):
        self.sequence = number

    @property
    def _input_metadata(self):
        return tuple(InputMetadata(Size(a.shape), dtypes.FROM_NP[a.dtype], device("cpu")) for a in self.outs if a is not None)

    def __call__(self, *grads):
        """The gradients that the node gives for these."""
        if len(grads) != len(self.outs):
            raise TypeError(f"expected {len(self.outs)} arguments, got {len(grads)} instead")
        for i, g in enumerate(grads):
            if g is not None and not isinstance(g, Tensor):
                raise TypeError(f"argument {i} is not a Variable")
        out = tuple(self.run(list(grads), tuple([k for k, e in enumerate(self.edges) if e is not None])))
        return out[0] if len(out) == 1 else out

    def register_hook(self, fn):
        """`fn(grad_inputs, grad_outputs) -> grad_inputs or None`, after the node ran."""
        from torchish.autograd.hooks import add
        self.plain = False
        if self.post is None:
            self.post = {}
        return add(self.post, fn)

    def register_prehook(self, fn):
        """`fn(grad_outputs) -> grad_outputs or None`, before the node runs."""
        from torchish.autograd.hooks import add
        self.plain = False
        if self.pre is None:
            self.pre = {}
        return add(self.pre, fn)

    def release(self):
        """Free what the node saved."""

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"


class _Virtual(type):
    def __instancecheck__(cls, x):
        return getattr(type(x), "_is_node", False)

    def __subclasscheck__(cls, other):
        return other is cls or getattr(other, "_is_node", False)


class Node(metaclass=_Virtual):
    """What every backward function, and the `ctx` of a custom Function, is an instance of; nobody's base, as in PyTorch."""


_classes = {}


def node_class(name, base):
    """A class so named, as PyTorch has one a backward function."""
    cls = _classes.get((name, base))
    if cls is None:
        cls = _classes[(name, base)] = type(base)(name, (base,), {"__module__": "torch.autograd"})
    return cls


class AccumulateGrad(BackwardNode):
    """The node of a leaf: adds what arrives to `variable.grad`."""

    sequence = -1       # the lowest: all that leads to a leaf stands before it

    def __init__(self, variable):
        self.edges, self.outs, self.variable = (), (variable._aval,), variable

    def name(self):
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self):
        return (1 << 64) - 1


def edge_of(t):
    """(node, output number) to send the gradient of `t` to, or None."""
    fn = t._fn if t._meta is None else grad_fn_of(t)
    if fn is not None:
        return fn, t._nr
    if t._req:
        ref = t._accumulator
        node = ref() if ref is not None else None
        if node is None:
            node = AccumulateGrad(t)
            t._accumulator = weakref.ref(node)
        return node, 0
    return None


def counter_of(t):
    """What counts the writes to a tensor: its storage, or a counter of its own (`.data`)."""
    counter = t._counter
    return t._storage if counter is None else counter


class ViewMeta:
    """A differentiable view: its root, how it was made, and the version at which its node is valid."""

    __slots__ = ("base", "creation", "version", "source", "number")

    def __init__(self, base, creation, version):
        self.base, self.creation, self.version = base, creation, version
        self.source, self.number = None, 0


# how a view was made -> why it can't be written
UNWRITABLE = {
    "multi": "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
             "modified inplace. You should replace the inplace operation by an out-of-place one.",
    "function": "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
                "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."}


# the mode in which a view was made -> (its name, how the write was made instead, the block)
OTHER_MODE = {"no_grad": ("no_grad mode", "with grad mode enabled", "no_grad"),
              "inference": ("inference mode", "in normal mode", "inference_mode")}


def check_writable(t, what):
    """Refuse views whose history can't be made anew; `what` happened to it."""
    m = t._meta
    if m.creation == "default":
        return
    if m.creation in UNWRITABLE:
        raise RuntimeError(f"Output {m.number} of {m.source} is a view and {what}. {UNWRITABLE[m.creation]}")
    mode, how, block = OTHER_MODE[m.creation]
    start = "A view was" if t._fn is None else \
        f"Output {t._nr} of {m.source or _short(t._fn.name())} is a view of a view which was"
    raise RuntimeError(f"{start} created in {mode} and {what} {how}. Given that this use case is ambiguous and error-prone, it is "
                       "forbidden. You can clarify your code by moving both the view and the inplace either both inside the "
                       f"{block} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
                       "tracked).")


def grad_fn_of(t):
    """The node of a view; made anew from the base when the base was written since."""
    m = t._meta
    base = m.base
    if t._fn is None and not base.requires_grad:
        return None
    version = counter_of(t).version
    if version != m.version and base.requires_grad and not t._inference:
        check_writable(t, "its base or another view of its base has been modified inplace")
        node = view_node(t, base)
        move_retained(t, node)
        t._fn, t._nr = node, 0
        m.version = version
    return t._fn


def move_retained(t, node):
    """A retained `.grad` follows the tensor to its new node."""
    old = t._fn
    if t._retains and old is not None and old.retained and t._nr in old.retained:
        node.plain = False
        node.retained = {**(node.retained or {}), 0: old.retained.pop(t._nr)}


def view_node(t, base):
    from torchish.autograd.dispatch import node_of
    from torchish.ops.derive import chain_op
    from torchish.program import signature
    op, numbers = chain_op(t._view.chain)
    sig = signature(op, (base._value, *numbers), ())
    node = node_of(op, sig, (0,), (base, *numbers), ())
    if state.view_replay:
        node.__class__ = node_class(t._view.chain[-1][0].node, OpNode)
    return node


NOT_IN_INFERENCE = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
                    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, "
                    "or use `torch.no_grad()` instead of `torch.inference_mode()`.")


def saved(t):
    """What a node keeps of an input: the tensor itself, as PyTorch does, its version counter and its version now."""
    if t._inference and not state.inference:
        raise RuntimeError(NOT_IN_INFERENCE)
    if state.saved_hooks:
        return Packed(t, None)
    counter = t._counter    # `counter_of`, without the call: every saved operand comes through here
    if counter is None:
        counter = t._storage
    return t, counter, counter.version


def frozen(t):
    """An input as it is now, whatever is written to it later."""
    fresh = Tensor._of(t._value)
    fresh._device = t._device
    if t._dual is not None:
        fresh._dual = t._dual
    e = edge_of(t)
    if e is not None:
        fresh._fn, fresh._nr = e
    return saved(fresh)


class SavedResult:
    """A result that its own node keeps: without the reference back, which would be a cycle."""

    __slots__ = ("tensor", "counter", "version", "nr")

    def __init__(self, t, nr=0):
        self.tensor, self.nr = plain_copy(t), nr
        self.counter = counter_of(t)
        self.version = self.counter.version

    def open(self, node):
        if self.counter.version != self.version:
            raise RuntimeError(overwritten(node, self.tensor, self.counter, self.version, (node, self.nr)))
        t = plain_copy(self.tensor)
        t._fn, t._nr = node, self.nr
        return t


class Packed:
    """A saved tensor that went through the hooks of `saved_tensors_hooks`. `nr`: output number of a result."""

    __slots__ = ("packed", "unpack", "edge", "nr")

    def __init__(self, t, nr, hooks=None):
        pack, self.unpack = hooks or state.saved_hooks[-1]
        self.nr, self.edge = nr, edge_of(t) if nr is None else None
        before = t._version
        with _no_hooks(), no_grad():
            self.packed = pack(t if hooks is None else plain_copy(t))
        if t._version != before:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
                               "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                               "Please open an issue if you need to perform in-place operations on the input to a pack hook.")

    def open(self, node):
        with _no_hooks():
            t = self.unpack(self.packed)
        if not isinstance(t, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(t).__name__}")
        edge = self.edge if self.nr is None else (node, self.nr)
        if edge is None and not t.requires_grad and t._dual is None:
            return t
        t = plain_copy(t)
        if edge is not None and edge[0].__class__ is AccumulateGrad:
            t._req, t._accumulator = True, weakref.ref(edge[0])
        elif edge is not None:
            t._fn, t._nr = edge
        return t


class Watch(SavedResult):
    """A result that PyTorch would have saved: only its version matters."""

    __slots__ = ()


class WatchedOperand(Watch):
    """The same of an operand."""

    __slots__ = ()

    def __init__(self, t):
        self.tensor, self.nr, self.counter = t, None, counter_of(t)
        self.version = self.counter.version

    def open(self, node):
        if self.counter.version != self.version:
            raise RuntimeError(overwritten(node, self.tensor, self.counter, self.version, edge_of(self.tensor)))
        return self.tensor


def watched(t):
    """What a node keeps of an operand for its version alone."""
    kept = saved(t)
    return WatchedOperand(t) if kept.__class__ is tuple else kept


def saved_result(t, nr=0):
    return Packed(t, nr) if state.saved_hooks else SavedResult(t, nr)


def opened(node, s):
    """A saved tensor (or number) again; raises when it was overwritten."""
    if s.__class__ is tuple:
        t, counter, version = s
        if counter.version != version:
            raise RuntimeError(overwritten(node, t, counter, version, edge_of(t)))
        return t
    return s.open(node) if s.__class__ in _OPENED else s


_OPENED = {SavedResult, Packed, Watch, WatchedOperand}


def overwritten(node, t, counter, version, edge):
    text = ("one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.{t.dtype.legacy}Tensor {list(t._aval.shape)}]")
    if edge is not None and edge[0].__class__ is not AccumulateGrad:
        name = "AsStrided" if t._view is not None and edge[0] is not node else _short(edge[0].name())
        text += f", which is output {edge[1]} of {name},"
    text += f" is at version {counter.version}; expected version {version} instead."
    text += ANOMALY_HINT if state.anomaly else HINT
    lines = [text]
    if node.place is not None:
        lines.append(f"It was saved by {node.name()}, recorded at {where.text(node.place)}")
    write = writes.get(counter)
    if write is not None:
        lines.append(f"It was last written at {where.text(write)}")
    return "\n".join(lines)


def _short(name):
    """`MulBackward0` -> `Mul`, as PyTorch 2.13 names nodes in this message."""
    return name.split("Backward")[0] if "Backward" in name else name


def plain_copy(t):
    """The same contents outside the graph."""
    out = Tensor._wrap(t._storage, t._aval, t._view)
    if t._counter is not None:
        out._counter = t._counter
    out._device = t._device
    if t._dual is not None:
        out._dual = t._dual
    return out


class _no_hooks:
    def __enter__(self):
        self.previous = state.saved_hooks
        state.saved_hooks = ()

    def __exit__(self, *exc):
        state.saved_hooks = self.previous


writes = weakref.WeakKeyDictionary()     # version counter -> the place of its last in-place write


class OpNode(BackwardNode):
    """The node of a table op: `pull` is the op that maps (saved, cotangents) to the gradients of `pull.wrt`. `numbers` of the call
    are kept to be looked at."""

    numbers = ()

    def __init__(self, pull, edges, outs, saved):
        self.pull, self.edges, self.outs, self.saved = pull, edges, outs, saved
        self.sequence = next(sequence)

    def release(self):
        if self.pull.frees:
            self.saved = FREED

    def opened(self):
        """The saved operands, ready to use."""
        if self.saved is FREED:
            raise RuntimeError(second_time(self))
        return [opened(self, s) for s in self.saved]

    def run(self, cts, needed):
        """Gradients for the edges numbered in `needed`, None for the others."""
        from torchish.autograd.dispatch import apply
        pull = self.pull
        saved = self.opened()
        grads = [None] * len(self.edges)
        cts = [cts[i] for i in pull.float_outs]
        if all(ct is None for ct in cts):
            return grads
        for part, picks, places in pull.parts(needed, state.grad):
            out = apply(part, (*[saved[i] for i in picks], *cts))
            for i, g in zip(places, (out,) if len(places) == 1 else out):
                grads[i] = g
        return grads

    @property
    def next_functions(self):
        """One entry an operand that PyTorch differentiates, as its nodes have them."""
        sig, wrt = self.pull.sig, self.pull.wrt
        names = getattr(getattr(sig.op, "row", sig.op), "operands", None)
        if names is None or len(names) != len(sig.operands):
            return BackwardNode.next_functions.fget(self)
        by_position = dict(zip(wrt, self.edges))
        return tuple(by_position.get(i) or (None, 0) for i, (n, a) in enumerate(zip(names, sig.operands))
                     if i in by_position or differentiated(n, a))

    def __getattr__(self, name):
        from torchish.autograd import saved_facts
        if name.startswith("_saved_"):
            return saved_facts.attribute(self, name[7:])
        if name.startswith("_raw_saved_"):
            return saved_facts.raw(self, name[11:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self):
        from torchish.autograd import saved_facts
        return [*super().__dir__(), *("_saved_" + name for name in saved_facts.shown(self))]


class NotImplementedNode(BackwardNode):
    """The node of an operation that has no derivative in PyTorch."""

    plain = False

    def __init__(self, edges, outs, function):
        super().__init__(edges, outs)
        self.function = function

    def name(self):
        return "torch::autograd::NotImplemented"

    def run(self, cts, needed):
        raise RuntimeError(f"derivative for {self.function} is not implemented")


NotImplementedNode.__name__ = NotImplementedNode.__qualname__ = "NotImplemented"


class UnderivedNode(NotImplementedNode):
    """The same, for operations that have a node of their own name."""

    name = BackwardNode.name

    def run(self, cts, needed):
        raise NotImplementedError(f"the derivative for '{self.function}' is not implemented.")


class RefusingNode(NotImplementedNode):
    """The same, with a sentence of its own."""

    name = BackwardNode.name

    def run(self, cts, needed):
        raise RuntimeError(self.function)


def differentiated(name, aval):
    """Whether PyTorch has an edge for an operand that needs no gradient: tensors, and numbers wrapped into one."""
    if hasattr(aval, "dtype"):
        return aval.dtype.kind in "fcV" or name == "other"
    return name == "other" and aval is not type(None)


class SavedTensor:
    """A saved tensor that can get hooks of its own; `place`: where the node keeps it in its list."""

    def __init__(self, *of):
        if not of:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._of = of

    def register_hooks(self, *hooks):
        """Keep `pack_hook(tensor)` in its place, and call `unpack_hook` on that when it is used."""
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError("register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. "
                            "(self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) "
                            f"-> None\n\nInvoked with: {', '.join(map(repr, (self, *hooks)))}")
        node, name, place = self._of
        kept = getattr(node, name)
        if kept is FREED:
            raise RuntimeError(FREED_HOOKS)
        s = None if place is None else kept[place]
        if s is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if s.__class__ is Packed:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
                               "is allowed at a time.")
        kept[place] = Packed(opened(node, s), s.nr if isinstance(s, SavedResult) else None, hooks)
        node.plain = False


FREED_HOOKS = ("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when "
               "you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
               "time or if you need to access saved variables after calling backward.")


def second_time(node):
    lines = [SECOND_TIME]
    if node.freed is not None:
        lines.append(f"The graph was freed by the backward at {where.text(node.freed)}")
    if node.place is not None:
        lines.append(f"The node is {node.name()}, recorded at {where.text(node.place)}")
    return "\n".join(lines)


class CopySlices(BackwardNode):
    """A write through a view: the base's gradient with the written slots cut, the slots' gradient sent to the writer."""

    plain = False

    def __init__(self, base_edge, base_aval, chain, inner, own):
        edges = inner.edges
        BackwardNode.__init__(self, (base_edge, *(edges if own is None else edges[:own] + edges[own + 1:])), (base_aval,))
        self.chain, self.inner, self.own = chain, inner, own
        self.place = inner.place

    def name(self):
        return "torch::autograd::CopySlices"

    def release(self):
        self.inner.release()

    def run(self, cts, needed):
        from torchish.autograd.dispatch import apply
        from torchish.ops.derive import chain_op
        ct, own = cts[0], self.own
        if ct is None:
            return [None] * len(self.edges)
        read, numbers = chain_op(self.chain)
        slots = apply(read, (ct, *numbers))
        grads = list(self.inner.run([slots], self._needed_inside(needed)))
        mine = None if own is None else grads.pop(own)
        if mine is None:
            mine = apply(TABLE["zero"], (slots,))
        put, numbers = chain_op(self.chain, put=True)
        return [apply(put, (ct, mine, *numbers)), *grads]

    def _needed_inside(self, needed):
        """The edges of the writer that are wanted: its own slots with the base."""
        own = self.own
        if own is None:
            return tuple([k - 1 for k in needed if k])
        return tuple(sorted([own if k == 0 else k - 1 if k - 1 < own else k for k in needed]))
