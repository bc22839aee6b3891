"""The door: run an op on tensors and record its node. Also views, in-place writes and out= arguments."""

from torchish.autograd import where
from torchish.autograd.batching import INPLACE
from torchish.autograd.graph import (
    CopySlices,
    NotImplementedNode,
    OpNode,
    RefusingNode,
    UnderivedNode,
    ViewMeta,
    Watch,
    check_writable,
    counter_of,
    edge_of,
    frozen,
    move_retained,
    node_class,
    saved,
    saved_result,
    watched,
    writes,
)
from torchish.autograd.modes import state
from torchish.ops import TABLE, dtypes
from torchish.ops.derive import inplace_op, kept_pull_of, pull_of
from torchish.program import append, record, recorded, signature
from torchish.tensor import Tensor
from torchish.tensor.storage import Storage, View

CAST = TABLE["to_copy"]
new = object.__new__


def apply(op, args, attrs=()):
    """Run `op` on tensors and numbers (None = absent); returns a Tensor or a tuple of Tensors."""
    if state.door is not None:
        return state.door.apply(op, args, attrs)
    values, wrt, i = [], None, 0
    grad = state.grad and op.differentiable
    for a in args:
        if isinstance(a, Tensor):
            v = a._view
            values.append(a._storage.value if v is None else v.read(a._storage))
            if grad and (a._fn is not None or a._req or a._meta is not None and a.requires_grad) and i not in op.nondiff:
                wrt = (i,) if wrt is None else (*wrt, i)
        else:
            values.append(a)
        i += 1
    if wrt is not None and op.keeps and not state.saved_hooks and (op.keeps is True or op.keeps(*attrs)):
        return keeping(op, args, values, attrs, wrt)
    sig, out = recorded(op, values, attrs)
    if sig.single:
        t = new(Tensor)
        t._storage, t._aval = Storage(out), sig.outs[0]
        if wrt is not None and sig.floats:
            t._fn = node_of(op, sig, wrt, args, (t,))
        if state.inference:
            t._inference = True
        return t
    outs = tuple([Tensor._of(v) for v in out])
    if state.inference:
        for t in outs:
            t._inference = True
    if wrt is not None and sig.floats:
        node = node_of(op, sig, wrt, args, outs)
        for k in sig.floats:
            outs[k]._fn, outs[k]._nr = node, k
    return outs


def keeping(op, args, values, attrs, wrt):
    """`apply` for a row whose backward uses what the forward computed on the way."""
    sig = signature(op, values, attrs)
    pull = kept_pull_of(sig, wrt)
    keep = signature(pull.keep, values, ())
    out = append(keep, values)
    n = len(sig.outs)
    pull.residuals = keep.outs[n:]
    outs = tuple([Tensor._of(v) for v in out[:n]])
    node = node_of(op, sig, wrt, args, outs, pull)
    kept = [Tensor._of(v) for v in out[n:]]
    place = len(pull.passed)        # before what is only watched
    node.saved[place:place] = [(t, t._storage, 0) for t in kept]
    for k in sig.floats:
        outs[k]._fn, outs[k]._nr = node, k
    return outs[0] if sig.single else outs


def underived(t, input, name, function):
    """`t`, computed from `input` outside the graph, with a node `name` whose backward says that `function` has no derivative."""
    if state.grad and input.requires_grad and t._aval.dtype.kind in "fcV":
        t._fn, t._nr = node_class(name, UnderivedNode)((edge_of(input),), (t._aval,), function), 0
    return t


def node_of(op, sig, wrt, args, outs, pull=None):
    """The node of a recorded op: edges to what requires grad, and the saved tensors.

    `outs` is None before an in-place write: the written tensor is kept as a copy, as PyTorch does, and its results are saved
    after the write.
    """
    edges = []
    for i in wrt:
        a = args[i]
        edges.append((a._fn, a._nr) if a._fn is not None and a._meta is None else edge_of(a))
    if op.underivable:
        return underivable_node(op, tuple(edges), sig.outs)
    pull = pull or sig.plans.get(wrt) or pull_of(sig, wrt)
    kept = []
    for i in pull.passed:
        a = args[i]
        kept.append(a if not isinstance(a, Tensor) else
                    frozen(a) if i in pull.unsaved or i == 0 and outs is None else saved(a))
    node = (op.nodes or node_class_of(op))(pull, tuple(edges), sig.outs, kept)
    if pull.watched:
        kept += [watched(args[i]) for i in pull.watched if i or outs is not None]
    if pull.numbers:
        node.numbers = [args[i] for i in pull.numbers]
    node.place = where.here()
    if state.saved_hooks:
        node.plain = False
        for k in sig.floats if outs else ():       # hooks see results that are in the graph
            outs[k]._fn, outs[k]._nr = node, k
    if outs and (op.saves or pull.results):
        save_results(node, op, outs)
    return node


def underivable_node(op, edges, outs):
    """The node of an op without a derivative, by the form of `Op.underivable`."""
    text = op.underivable
    if text.endswith("."):
        return node_class(op.node, RefusingNode)(edges, outs, text)
    if text.startswith("'"):
        return node_class(op.node, UnderivedNode)(edges, outs, text.strip("'"))
    return NotImplementedNode(edges, outs, text)


def node_class_of(op):
    """The class of an op's nodes, remembered on the op."""
    op.nodes = node_class(op.node, OpNode)
    return op.nodes


RESULTS = "rijk"        # the results, in the letters of `Op.saves`


def save_results(node, op, outs):
    """Results that the VJP needs, or of which PyTorch checks the version."""
    if op.underivable:
        return
    rule, pull = op.saves, node.pull
    if pull.results:        # after the operands that the VJP takes
        node.saved[len(pull.passed):len(pull.passed)] = [
            saved_result(t if rule is None or (k > 0) == ("i" in rule) else Tensor._of(t._value), k)
            for k, t in enumerate(outs[:pull.results])]
    elif rule:
        node.saved += [saved_result(t, k) if state.saved_hooks else Watch(t, k)
                       for k, (t, letter) in enumerate(zip(outs, RESULTS)) if letter in rule]


def view(row, t, numbers=(), attrs=(), creation=None, source=None, number=0):
    """A tensor that shares `t`'s storage, read through one more view op."""
    door = state.door
    if door is not None and state.below is not None:
        return state.below.view(row, t, numbers, attrs, creation, source, number)
    storage = t._storage
    base_value = storage.value
    v = t._value
    out_value = record(row, (v, *numbers), attrs)
    old = t._view
    chain = (old.chain if old is not None else ()) + ((row, numbers, attrs),)
    _, strides, offset = row.extra["geometry"](t._aval.shape, t.stride(), t.storage_offset(), *numbers,
                                               **dict(zip(row.attrs, attrs)))
    geometry = View(chain, strides, offset)
    geometry.base_value, geometry.cached = base_value, out_value
    out = Tensor._wrap(storage, out_value.aval, geometry)
    counter = t._counter
    if counter is not None:
        out._counter = counter
    out._device = t._device
    if t._inference:
        out._inference = True
        return out
    grad = state.grad
    requires = t.requires_grad
    meta = t._meta
    kind = (creation or "default") if grad else "inference" if state.inference else "no_grad"
    if meta is None:
        m = ViewMeta(t, kind, (storage if counter is None else counter).version)
    else:
        before = meta.creation
        if before != "default" and (kind == "default" or before == "inference"):
            kind, source = before, source or row.node.split("Backward")[0]
        m = ViewMeta(meta.base, kind, (storage if counter is None else counter).version)
    m.source, m.number = source, number
    out._meta = m
    if grad and requires:
        sig = signature(row, (v, *numbers), attrs)
        if sig.outs[0].dtype.kind in "fcV":
            out._fn = node_of(row, sig, (0,), (t, *numbers), (out,))
    if door is not None and state.level is not None:
        state.level.share(out, t, lambda along: view(row, along, numbers, attrs))
    return out


# --- in-place ----------------------------------------------------------------------------------------------------------

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
OVERLAP = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
           "clone() the tensor before performing the operation.")
INFERENCE_WRITE = ("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                   "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.")


FILLS = {"zero", "fill", "threshold"}     # memory that overlaps gets the same number however often it is written


def check_inplace(t, requires):
    """Refuse what PyTorch refuses to write in place. `requires`: some operand, or `t` itself, requires grad."""
    if t._inference and not state.inference:
        raise RuntimeError(INFERENCE_WRITE)
    if not (requires and state.grad):
        return
    m = t._meta
    if m is not None:
        check_writable(t, "is being modified inplace")
        if t.requires_grad and m.base.is_leaf:
            raise RuntimeError(VIEW_OF_LEAF)
    if t.requires_grad and t.is_leaf:
        raise RuntimeError(LEAF)


def inplace(row, t, args, attrs=(), overlap_ok=False, write=None):
    """`t` becomes `row(t, *args)` cast to its dtype, written through its view, with the graph rebased. `write`: who writes."""
    if state.door is not None and write is None:
        return state.door.inplace(row, t, args, attrs, overlap_ok)
    requires = t.requires_grad or any(isinstance(a, Tensor) and a.requires_grad for a in args)
    check_inplace(t, requires)
    if not overlap_ok and row.name not in FILLS:
        check_overlap(t)
    op = inplace_op(row)
    operands = (t, *args)
    for a in args:
        # what is broadcast in an assignment is read first
        if isinstance(a, Tensor) and a._storage is t._storage and a is not t and _partly_overlaps(t, a) and not (
                overlap_ok and a._aval.shape != t._aval.shape):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                               "single memory location. Please clone() the tensor before performing the operation.")
    values = [a._value if isinstance(a, Tensor) else a for a in operands]
    plain = signature(row, values, attrs)
    out_aval = plain.outs[0]
    _check_cast(out_aval, t)
    if out_aval.shape != t._aval.shape:
        raise RuntimeError(f"output with shape {list(t._aval.shape)} doesn't match the broadcast shape {list(out_aval.shape)}")
    sig = signature(op, values, attrs)
    wrt = None
    if state.grad and op.differentiable and requires and t._aval.dtype.kind in "fcV":
        wrt = tuple(i for i, a in enumerate(operands) if isinstance(a, Tensor) and a.requires_grad)
    node = None
    if wrt:
        node = node_of(op, sig, wrt, operands, None)
    if write is None:
        t._write(append(sig, values))
    else:
        write()
    writes[counter_of(t)] = where.here()
    if node is not None:
        save_results(node, op, (t,))
        rebase(t, node, 0 if 0 in wrt else None)
    return t


def update(row, targets, args, attrs):
    """Several tensors become the results of one op, outside the graph."""
    if state.below is not None:
        return state.below.update(row, targets, args, attrs)
    outs = record(row, [a._value if isinstance(a, Tensor) else a for a in args], attrs)
    place = where.here()
    for t, v in zip(targets, outs):
        check_inplace(t, t.requires_grad)
        t._write(v)
        writes[counter_of(t)] = place


def rebase(t, node, own):
    """The tensor's history after an in-place write: its own node, or CopySlices on the base of a view. `own`: the node's edge to
    what the tensor was before."""
    m = t._meta
    if m is None:
        move_retained(t, node)
        t._fn, t._nr, t._req = node, 0, False
        return
    base = m.base
    if base is t:
        raise AssertionError("a tensor can't be its own base")
    copy = CopySlices(edge_of(base), base._aval, t._view.chain, node, own)
    move_retained(base, copy)
    base._fn, base._nr, base._req = copy, 0, False
    m.version = -1          # its own node is made anew at the next look


def _check_cast(aval, t):
    if aval.traced != t._aval.traced:
        raise RuntimeError(INPLACE)
    a, b = dtypes.FROM_NP[aval.dtype], t.dtype
    if a.category > b.category and not (b.category == 0 and a.category == 0):
        raise RuntimeError(f"result type {a.legacy} can't be cast to the desired output type {b.legacy}")


def check_overlap(t):
    """Refuse a view two of whose elements share a memory location."""
    if t._view is not None and _overlaps(t):
        raise RuntimeError(OVERLAP)


def _overlaps(t):
    """Whether two elements of a view share a memory location (PyTorch's cheap test)."""
    pairs = sorted((s, n) for s, n in zip(t._view.strides, t._aval.shape) if n > 1)
    expected = 1
    if t._aval.size == 0:
        return False
    if any(s == 0 for s, _ in pairs):
        return True
    for s, n in pairs:
        if s < expected:
            return True
        expected = s * (n - 1) + 1 if s * (n - 1) + 1 > expected else expected
    return False


def _extent(t):
    last = t.storage_offset() + sum(s * (n - 1) for s, n in zip(t.stride(), t._aval.shape))
    return t.storage_offset(), last


def _partly_overlaps(t, a):
    if t._aval.shape == a._aval.shape and t.stride() == a.stride() and t.storage_offset() == a.storage_offset():
        return False
    if not t._aval.size or not a._aval.size:
        return False
    if not (_dense(t) and _dense(a)):
        return False
    lo, hi = _extent(t)
    lo2, hi2 = _extent(a)
    return lo <= hi2 and lo2 <= hi


def _dense(t):
    expected = 1
    for s, n in sorted((s, n) for s, n in zip(t.stride(), t._aval.shape) if n > 1):
        if s != expected:
            return False
        expected *= n
    return True


def write_out(name, result, out):
    """Put a result into an `out=` tensor (resized when it must be)."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if state.grad and (out.requires_grad or result.requires_grad):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           "the arguments requires grad.")
    check_overlap(out)
    if out._inference and not state.inference:
        raise RuntimeError(INFERENCE_WRITE)
    if state.level is not None and any(state.level.tangent(t) is not None for t in (result, out)):
        raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an out= function")
    _check_cast(result._aval, out)
    value = result._value
    if result.dtype is not out.dtype:
        value = record(CAST, (value,), (out.dtype,))
    if result._aval.shape != out._aval.shape:
        if out.numel():
            import warnings
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(out._aval.shape)}, which "
                          f"does not match the required output shape {list(result._aval.shape)}. This behavior is deprecated, "
                          "and in a future PyTorch release outputs will not be resized unless they have zero elements. You can "
                          "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                          UserWarning, stacklevel=4)
        out._storage.value = value
        out._aval = value.aval
        out._view = None
        out._bump()
        return out
    out._write(value)
    return out
