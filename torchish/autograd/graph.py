"""Nodes of the backward graph, and what they save."""

import itertools
import weakref

from torchish.autograd import where
from torchish.autograd.modes import state
from torchish.ops import TABLE
from torchish.tensor import Tensor

_sequence = itertools.count()
FREED = object()

SECOND_TIME = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
               "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
               "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
               "saved tensors after calling backward.")
HINT = (" Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).")
ANOMALY_HINT = (" Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
                "question was changed in there or anywhere later. Good luck!")


class Node:
    """One backward function. `edges` are (node, output number) or None, one an input that may need a gradient."""

    __slots__ = ("edges", "sequence", "outs", "tensor_hooks", "retained", "pre", "post", "place", "metadata_", "freed",
                 "__weakref__")

    def __init__(self, edges, outs):
        self.edges, self.outs = edges, outs
        self.sequence = next(_sequence)
        self.tensor_hooks = self.retained = self.pre = self.post = self.place = self.metadata_ = self.freed = None

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

    def register_hook(self, fn):
        """`fn(grad_inputs, grad_outputs) -> grad_inputs or None`, after the node ran."""
        from torchish.autograd.hooks import add
        if self.post is None:
            self.post = {}
        return add(self.post, fn)

    def register_prehook(self, fn):
        """`fn(grad_outputs) -> grad_outputs or None`, before the node runs."""
        from torchish.autograd.hooks import add
        if self.pre is None:
            self.pre = {}
        return add(self.pre, fn)

    def release(self):
        """Free what the node saved."""

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"


_classes = {}


def node_class(name, base):
    """A class so named, as PyTorch has one a backward function."""
    cls = _classes.get((name, base))
    if cls is None:
        cls = _classes[(name, base)] = type(base)(name, (base,), {"__slots__": (), "__module__": "torch.autograd"})
    return cls


class AccumulateGrad(Node):
    """The node of a leaf: adds what arrives to `variable.grad`."""

    __slots__ = ("variable",)

    def __init__(self, variable):
        Node.__init__(self, (), (variable._aval,))
        self.variable = variable
        self.sequence = 1 << 62


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


class ViewMeta:
    """A differentiable view: its root, how it was made, and the version at which its node is valid."""

    __slots__ = ("base", "creation", "version", "source", "number")

    def __init__(self, base, creation, version):
        self.base, self.creation, self.version = base, creation, version
        self.source, self.number = None, 0


MULTI_VIEW = ("Output {} of {} is a view and {}. This view is the output of a function that returns multiple views. Such "
              "functions do not allow the output views to be modified inplace. You should replace the inplace operation by an "
              "out-of-place one.")


def grad_fn_of(t):
    """The node of a view; made anew from the base when the base was written since."""
    m = t._meta
    base = m.base
    if t._fn is None and not base.requires_grad:
        return None
    version = t._storage.version if t._counter is None else t._counter.version
    if version != m.version and base.requires_grad and not t._inference:
        if m.creation == "multi":
            raise RuntimeError(MULTI_VIEW.format(m.number, m.source, "its base or another view of its base has been modified "
                                                                     "inplace"))
        t._fn = view_node(t, base)
        t._nr = 0
        m.version = version
    return t._fn


def view_node(t, base):
    from torchish.autograd.dispatch import node_of
    from torchish.ops.derive import chain_op
    from torchish.program import signature
    op, numbers = chain_op(t._view.chain)
    sig = signature(op, (base._value, *numbers), ())
    return node_of(op, sig, (0,), (base, *numbers), ())


class Saved:
    """A tensor that a node saved: a reference to its storage, checked against the version at the saving."""

    __slots__ = ("storage", "view", "counter", "version", "aval", "fn", "nr", "leaf", "is_result", "kind", "device",
                 "checked", "packed", "unpack")

    def __init__(self, t, is_result=False, checked=True):
        self.packed = None
        hooks = state.saved_hooks
        if hooks and not is_result:
            self._pack(t, hooks[-1])
            return
        self._keep(t, is_result, checked)
        if hooks:
            self._pack_result(t, hooks[-1])

    def _keep(self, t, is_result, checked):
        self.storage, self.view, self.aval, self.device = t._storage, t._view, t._aval, t._device
        counter = t._counter
        self.counter = t._storage if counter is None else counter
        self.version = self.counter.version
        self.is_result, self.checked = is_result, checked
        self.leaf = self.fn = None
        self.nr = 0
        if is_result:
            return
        self.fn = t._fn if t._meta is None else grad_fn_of(t)
        self.nr = t._nr
        if self.fn is None and t._req:
            self.leaf = t

    def _pack(self, t, hooks):
        if hooks.__class__ is Disabled:
            raise RuntimeError(hooks.message)
        pack, self.unpack = hooks
        before = t._version
        plain = _plain(t)
        self._keep(t, False, True)
        with _no_hooks():
            self.packed = (pack(plain),)
        if t._version != before:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
                               "hook can not be modified by in-place operations as this can lead to unexpected side-effects. "
                               "Please open an issue if you need to perform in-place operations on the input to a pack hook.")
        if self.leaf is None:
            self.storage = None

    def _pack_result(self, t, hooks):
        if hooks.__class__ is Disabled:
            raise RuntimeError(hooks.message)
        pack, self.unpack = hooks
        with _no_hooks():
            self.packed = (pack(_plain(t)),)
        self.storage = None

    def open(self, node, anomaly=False):
        """The tensor again, with its place in the graph; raises when it was overwritten."""
        if self.packed is not None:
            with _no_hooks():
                t = self.unpack(self.packed[0])
            if not isinstance(t, Tensor):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(t).__name__}")
            return self._connect(_plain(t), node)
        if self.checked and self.counter.version != self.version:
            raise RuntimeError(self._overwritten(node))
        if self.leaf is not None:
            return self.leaf
        t = Tensor._wrap(self.storage, self.aval, self.view)
        if self.counter is not self.storage:
            t._counter = self.counter
        t._device = self.device
        return self._connect(t, node)

    def _connect(self, t, node):
        if self.leaf is not None:
            t._fn, t._nr = edge_of(self.leaf)
        elif self.is_result:
            t._fn, t._nr = node, self.nr
        elif self.fn is not None:
            t._fn, t._nr = self.fn, self.nr
        return t

    def _overwritten(self, node):
        from torchish.ops import dtypes
        shape = list(self.aval.shape)
        legacy = dtypes.FROM_NP[self.aval.dtype].legacy
        text = ("one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{legacy}Tensor {shape}]")
        fn = node if self.is_result else self.fn
        if fn is not None:
            name = "AsStrided" if self.view is not None and not self.is_result else _short(fn.name())
            text += f", which is output {self.nr} of {name},"
        text += f" is at version {self.counter.version}; expected version {self.version} instead."
        text += ANOMALY_HINT if state.anomaly else HINT
        lines = []
        if node.place is not None:
            lines.append(f"It was saved by {node.name()}, recorded at {where.text(node.place)}")
        write = writes.get(self.counter)
        if write is not None:
            lines.append(f"It was last written at {where.text(write)}")
        return "\n".join([text, *lines])


def _short(name):
    """`MulBackward0` -> `Mul`, as PyTorch 2.13 names nodes in this message."""
    return name.split("Backward")[0] if "Backward" in name else name


def _plain(t):
    """The same contents outside the graph."""
    out = Tensor._wrap(t._storage, t._aval, t._view)
    if t._counter is not None:
        out._counter = t._counter
    out._device = t._device
    return out


class Disabled:
    """Marks that saving tensors is switched off with a message."""

    def __init__(self, message):
        self.message = message


class _no_hooks:
    def __enter__(self):
        self.previous = state.saved_hooks
        state.saved_hooks = ()

    def __exit__(self, *exc):
        state.saved_hooks = self.previous


writes = weakref.WeakKeyDictionary()     # version counter -> the place of its last in-place write


class Watch:
    """A result that PyTorch would have saved: only its version matters."""

    __slots__ = ("saved",)

    def __init__(self, t):
        self.saved = Saved(t, True)


class OpNode(Node):
    """The node of a table op: `pull` is the op that maps (saved, cotangents) to the gradients of `pull.wrt`."""

    __slots__ = ("pull", "saved", "frees", "numbers")

    def __init__(self, pull, edges, outs, saved):
        Node.__init__(self, edges, outs)
        self.pull, self.saved = pull, saved

    def release(self):
        if self.saved:
            self.saved = FREED

    def opened(self):
        """The saved operands, ready to use."""
        if self.saved is FREED:
            raise RuntimeError(second_time(self))
        out = []
        for s in self.saved:
            if s.__class__ is Saved:
                out.append(s.open(self))
            elif s.__class__ is Watch:
                s.saved.open(self)
            else:
                out.append(s)
        return out

    def run(self, cts):
        from torchish.autograd.dispatch import apply
        floats = self.pull.float_outs
        saved = self.opened()
        if all(cts[i] is None for i in floats):
            return [None] * len(self.edges)
        grads = apply(self.pull, (*saved, *[cts[i] for i in floats]))
        return [grads] if len(self.edges) == 1 else list(grads)

    def __getattr__(self, name):
        if name.startswith("_saved_"):
            return saved_attribute(self, name[7:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def saved_attribute(node, name):
    """`grad_fn._saved_self` and the like: saved operands by PyTorch's names."""
    row = node.pull.sig.op
    row = getattr(row, "row", row)
    names = list(getattr(row, "operands", ()))
    names = ["self" if n == "input" else n for n in names]
    if node.saved is FREED:
        raise RuntimeError(second_time(node))
    opened = node.opened()
    passed = node.pull.passed
    for i, pos in enumerate(passed):
        if pos < len(names) and names[pos] == name:
            return opened[i]
    if name == "result" and node.pull.results:
        return opened[len(passed)]
    if name in row.attrs:
        return node.pull.sig.attrs[row.attrs.index(name)]
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def second_time(node):
    lines = [SECOND_TIME]
    if node.freed is not None:
        lines.append(f"The graph was freed by the backward at {where.text(node.freed)}")
    if node.place is not None:
        lines.append(f"The node is {node.name()}, recorded at {where.text(node.place)}")
    return "\n".join(lines)


class CopySlices(Node):
    """A write through a view: the base's gradient with the written slots cut, the slots' gradient sent to the writer."""

    __slots__ = ("chain", "inner")

    def __init__(self, base_edge, base_aval, chain, inner, has_self):
        rest = inner.edges[1:] if has_self else inner.edges
        Node.__init__(self, (base_edge, *rest), (base_aval,))
        self.chain, self.inner = chain, (inner, has_self)
        self.place = inner.place

    def release(self):
        self.inner[0].release()

    def run(self, cts):
        from torchish.autograd.dispatch import apply
        from torchish.ops.derive import chain_op
        ct = cts[0]
        if ct is None:
            return [None] * len(self.edges)
        inner, has_self = self.inner
        read, numbers = chain_op(self.chain)
        slots = apply(read, (ct, *numbers))
        grads = inner.run([slots])
        mine = grads[0] if has_self else None
        if mine is None:
            mine = apply(TABLE["zero"], (slots,))
        put, numbers = chain_op(self.chain, put=True)
        return [apply(put, (ct, mine, *numbers)), *(grads[1:] if has_self else grads)]
