"""The backward engine: nodes in the order PyTorch runs them, latest created first."""

import heapq
import itertools
import threading

from torchish import program
from torchish.autograd import anomaly, plan, where
from torchish.autograd.batching import gradient_for
from torchish.autograd.dispatch import CAST, apply
from torchish.autograd.graph import AccumulateGrad
from torchish.autograd.hooks import check_replacements, run_tensor_hooks
from torchish.autograd.modes import in_thread, state
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor

SUM, COPY = TABLE["accumulate"], TABLE["copy"]


def execute(roots, grads, targets, keep, create, accumulate_leaves):
    """One backward pass. roots: edges, with their cotangents `grads`; targets: the edges asked for, None for all leaves.

    Returns {edge: gradient}; with `accumulate_leaves` leaves get theirs in `.grad`.
    """
    results = plan.run(roots, grads, targets, keep, create)
    if results is None:
        return Live(roots, grads, targets, keep, create, accumulate_leaves).captured
    if accumulate_leaves:
        previous, state.grad = state.grad, create
        try:
            for (node, _), g in results.items():
                if node.__class__ is AccumulateGrad:
                    accumulate(node.variable, g, create)
        finally:
            state.grad = previous
    return results


def reachable(roots):
    """How many executed nodes feed each node."""
    count, stack = dict.fromkeys(roots, 0), list(dict.fromkeys(roots))
    while stack:
        for e in stack.pop().edges:
            if e is not None:
                n = e[0]
                if n in count:
                    count[n] += 1
                else:
                    count[n] = 1
                    stack.append(n)
    return count


DEPTH = 40      # passes inside each other that may share a thread's stack
_numbers = itertools.count()


def queue_callback(fn):
    """Call `fn` at the end of the backward pass that runs in this thread."""
    if state.task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    state.task.callbacks.append(fn)


class Live:
    """One backward pass, node by node, as PyTorch's engine runs it."""

    def __init__(self, roots, grads, capture, keep, create, accumulate):
        self.keep, self.create, self.accumulate = keep, create, accumulate
        self.capture = capture                    # the edges asked for, or None
        self.captured = {}
        nodes = [n for n, _ in roots]
        self.waiting = reachable(nodes)
        self.useful = None if capture is None else plan.leading_to(sorted(self.waiting, key=plan.SEQUENCE, reverse=True),
                                                                   {n for n, _ in capture})
        self.buffers = {}
        self.place = where.here()
        self.heap = []
        self.callbacks = []                       # what to call at the end
        self.node = None                          # whose backward runs
        self.number = next(_numbers)
        if state.depth < DEPTH:
            self.run(roots, grads)
        else:
            in_thread(self.run, roots, grads)

    def push(self, node):
        heapq.heappush(self.heap, (-node._sequence_nr(), id(node), node))

    def receive(self, node, nr, grad):
        """Add a gradient to the buffer of (node, output number)."""
        buffer = self.buffers.get(node)
        if buffer is None:
            buffer = self.buffers[node] = [None] * len(node.outs)
        if grad is None:
            return
        aval = node.outs[nr]
        if grad._aval is not aval:
            grad = fit(grad, aval)
        old = buffer[nr]
        buffer[nr] = grad if old is None else apply(SUM, (old, grad))

    def run(self, roots, grads):
        previous = state.grad, state.task, state.depth, state.saved_hooks
        state.grad, state.task, state.depth = self.create, self, state.depth + 1
        try:
            for (node, nr), g in zip(roots, grads):
                self.receive(node, nr, g)
            for node in dict.fromkeys(n for n, _ in roots):
                if self.waiting[node] == 0:
                    self.push(node)
            while self.heap:
                self.step(heapq.heappop(self.heap)[2])
            for callback in self.callbacks:     # may grow on the way
                callback()
        finally:
            state.grad, state.task, state.depth, state.saved_hooks = previous

    def will_run(self, node):
        """Whether this pass brings a gradient to the node."""
        return node in self.waiting and (self.useful is None or node in self.useful)

    def step(self, node):
        cts = self.buffers.pop(node, None) or [None] * len(node.outs)
        if self.useful is None or node in self.useful:
            self.node = node
            try:
                grads = self.evaluate(node, cts)
            except Exception:
                if state.anomaly:
                    anomaly.detected(node)
                raise
        else:
            grads = [None] * len(node.edges)
        waiting, useful = self.waiting, self.useful
        for e, g in zip(node.edges, grads):
            if e is None:
                continue
            n = e[0]
            if useful is None or n in useful:
                self.receive(n, e[1], g)
            waiting[n] -= 1
            if waiting[n] == 0:
                self.push(n)

    def evaluate(self, node, cts):
        if node.__class__ is AccumulateGrad:
            return self.leaf(node, cts)
        if node.tensor_hooks:
            for nr, hooks in node.tensor_hooks.items():
                if hooks:
                    cts[nr] = run_tensor_hooks(hooks, cts[nr])
        if self.capture is not None:
            for nr in range(len(cts)):
                if (node, nr) in self.capture:
                    self.captured[(node, nr)] = cts[nr]
        if node.retained:
            for nr, ref in list(node.retained.items()):
                t = ref()
                if t is not None and cts[nr] is not None:
                    accumulate(t, cts[nr], self.create)
        ends = self.capture is not None and not any(e is not None and e[0] in self.useful for e in node.edges)
        if ends and not self.accumulate:
            return [None] * len(node.edges)
        if node.pre:
            for fn in list(node.pre.values()):
                out = fn(tuple(cts))
                if out is not None:
                    cts = check_replacements(fn, cts, out)
        if ends:
            return [None] * len(node.edges)
        useful = self.useful
        grads = node.run(cts, tuple([k for k, e in enumerate(node.edges) if e is not None and (useful is None or e[0] in useful)]))
        if node.post:
            grads = self.post_hooks(node, grads, cts)
        if state.anomaly and state.check_nan:
            check_nan(node, grads)
        if not self.keep:
            node.release()
            node.freed = self.place
        return grads

    def post_hooks(self, node, grads, cts):
        for fn in list(node.post.values()):
            out = fn(tuple(grads), tuple(cts))
            if out is not None:
                grads = check_replacements(fn, grads, out)
        return grads

    def leaf(self, node, cts):
        t, g = node.variable, cts[0]
        if g is None:
            return ()
        if t._hooks:
            g = run_tensor_hooks(t._hooks, g)
        if self.capture is not None:
            if (node, 0) not in self.capture:
                return ()
            self.captured[(node, 0)] = g
            if not self.accumulate:
                return ()
        if node.pre:
            for fn in list(node.pre.values()):
                out = fn((g,))
                if out is not None:
                    g, = check_replacements(fn, (g,), out)
        first = t._grad is None
        accumulate(t, g, self.create)
        if t._post_hooks:
            for fn in list(t._post_hooks.values()):
                if fn(t) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if node.post:
            for fn in list(node.post.values()):
                fn((), (t._grad if first else g,))      # the first gradient becomes `.grad` itself
        return ()


def fit(grad, aval):
    """A gradient in the dtype, and with the mapped dimensions, of the output it belongs to."""
    grad = gradient_for(grad, aval)
    if grad._aval.dtype != aval.dtype:
        d = dtypes.FROM_NP[aval.dtype]
        grad = apply(CAST, (grad,), (d,))
    return grad


_accumulating = threading.Lock()


def accumulate(t, g, create):
    """Add to `t.grad`: the same object in place, or a new one that carries the graph with create_graph. Threads that share a leaf
    take turns."""
    with _accumulating:
        _accumulate(t, g, create)


def _accumulate(t, g, create):
    old = t._grad
    if state.below is not None and not create:
        if old is not None:
            old.add_(g)
            return
        g = g.detach()
    if old is None:
        if create and g.requires_grad:
            t._grad = apply(COPY, (Tensor._of(g._value), g))
        else:
            t._grad = Tensor._of(g._value)
            t._grad._device = t._device
    elif create:
        t._grad = apply(SUM, (old, g))
    else:
        old._write(sum_of(old, g))


def sum_of(old, g):
    value = program.record(SUM, (old._value, g._value))
    return value if value.aval is old._aval else program.record(CAST, (value,), (old.dtype,))


def check_nan(node, grads):
    import numpy as np
    for i, g in enumerate(grads):
        if g is not None and g.dtype.category >= 2 and np.isnan(g._numpy().astype("complex128")).any():
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
