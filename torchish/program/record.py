"""The one way in: `record` appends an operation to the thread's pending program."""

import os
import sys
import threading

import jax
import numpy as np

from torchish.program import execute as _execute
from torchish.program import infer as _infer
from torchish.program.batched import run_batched
from torchish.program.value import Value, aval_of, is_batched

NUMBER = _execute.NUMBER
HARD_LIMIT = 20_000
SOFT_LIMIT = 2_000

immediate = os.environ.get("TORCHISH_IMMEDIATE", "") not in ("", "0")


def reference_counts(slots):
    return list(map(sys.getrefcount, slots))


UNHELD = reference_counts([Value(None)])[0]     # what the interpreter counts for a Value that only a list holds


class Program:
    """Operations of one thread that wait to be run.

    `code` is the structure, flat: per operation its signature number and one code an operand (slot, ~leaf, NUMBER
    or None). What must be computed is decided at the flush: a slot whose Value nobody else holds is no output.
    """

    __slots__ = ("code", "leaves", "leaf_index", "numbers", "slots", "lock", "count", "backwards", "whole")

    def __init__(self):
        self.lock = threading.RLock()
        self.reset()

    def reset(self):
        self.code, self.leaves, self.leaf_index, self.numbers, self.slots = [], [], {}, [], []
        self.count = self.backwards = 0
        self.whole = False

    def leaf(self, v):
        """The operand code of a Value that is concrete or pending elsewhere. Tracers and batches never enter the program."""
        if v.aval.traced:
            return None
        if v.array is None:
            v.force()
        i = self.leaf_index[v] = ~len(self.leaves)
        self.leaves.append(v)
        return i

    def spare(self):
        """Leaves whose buffers may be reused for results: nobody but this program holds the Value or its array."""
        leaves = self.leaves
        # besides the list, `leaf_index` holds a leaf
        return [i for i, n in enumerate(reference_counts(leaves)) if n == UNHELD + 1 and
                sys.getrefcount(leaves[i].array) == UNHELD]

    def flush(self):
        with self.lock:
            if not self.code:
                return
            slots = self.slots
            live = tuple([i for i, n in enumerate(reference_counts(slots)) if n > UNHELD])
            code, numbers = tuple(self.code), tuple(self.numbers)
            spare = self.spare()
            leaves = [v.array for v in self.leaves]
            try:
                outs = _execute.execute(code, leaves, numbers, live, spare, self.whole) if live else ()
            except BaseException:
                for v in slots:     # a slot number must never be read in the next program
                    v.program = None
                raise
            finally:
                self.reset()
            for i, a in zip(live, outs):
                v = slots[i]
                v.array, v.program = a, None


class _Local(threading.local):
    def __init__(self):
        self.program = Program()


_local = _Local()


def pending():
    """How many operations wait in this thread."""
    return _local.program.count


def flush():
    """Run what this thread has recorded so far."""
    _local.program.flush()


def whole():
    """The pending program becomes one fully optimized executable even if its structure is new."""
    _local.program.whole = True


def mark():
    """Called where a backward pass starts: flushes when the program is long or already holds one."""
    p = _local.program
    if p.backwards or p.count > SOFT_LIMIT:
        p.flush()
    p.backwards += 1


def signature(op, operands, attrs=()):
    """The inferred signature of an operation on these operands. Raises PyTorch's shape and dtype errors."""
    key = (op, attrs, *[x.aval if x.__class__ is Value else x.__class__ for x in operands])
    return _infer.active.get(key) or _infer.infer(key)


def signature_of(op, avals, attrs=()):
    """The same from the operands' avals (a number's class, None for an absent operand)."""
    key = (op, attrs, *avals)
    return _infer.active.get(key) or _infer.infer(key)


def record(op, operands, attrs=()):
    """Append one operation; returns its Value, or a list of Values. Raises PyTorch's shape and dtype errors at once."""
    return recorded(op, operands, attrs)[1]


def recorded(op, operands, attrs=()):
    """(signature, result) of one operation appended to the thread's program."""
    p = _local.program
    key, row, numbers = [op, attrs], [0], None
    with p.lock:
        index = p.leaf_index
        for x in operands:
            if x.__class__ is Value:
                key.append(x.aval)
                if x.program is p:
                    row.append(x.slot)
                else:
                    i = index.get(x)
                    row.append(p.leaf(x) if i is None else i)
            elif x is None:
                key.append(None.__class__)
                row.append(None)
            else:
                key.append(x.__class__)
                row.append(NUMBER)
                if numbers is None:
                    numbers = [x]
                else:
                    numbers.append(x)
        key = tuple(key)
        sig = _infer.active.get(key) or _infer.infer(key)
        if sig.traced:
            return sig, _run_traced(sig, operands)
        row[0] = sig.id
        return sig, _add(p, sig, row, numbers)


def append(sig, operands):
    """Append an operation whose signature is known."""
    if sig.traced:
        return _run_traced(sig, operands)
    p = _local.program
    with p.lock:
        row, numbers, index = [sig.id], [], p.leaf_index
        for x in operands:
            if x.__class__ is Value:
                if x.program is p:
                    row.append(x.slot)
                else:
                    i = index.get(x)
                    row.append(p.leaf(x) if i is None else i)
            elif x is None:
                row.append(None)
            else:
                row.append(NUMBER)
                numbers.append(x)
        return _add(p, sig, row, numbers)


def _add(p, sig, row, numbers):
    p.code += row
    if numbers:
        p.numbers += numbers
    slots = p.slots
    p.count += 1
    if sig.single:
        out = Value(sig.outs[0], None, p, len(slots))
        slots.append(out)
    else:
        n = len(slots)
        out = [Value(a, None, p, n + i) for i, a in enumerate(sig.outs)]
        slots += out
    if immediate or p.count > HARD_LIMIT:
        p.flush()
    return out


def _run_traced(sig, operands):
    """Operands that are JAX tracers: inside the user's own trace everything runs at once, by the trace's settings. Operands
    that are batched: the operation is recorded on what they are the entries of."""
    if any(map(is_batched, sig.operands)):
        return run_batched(sig, operands, record)
    args = [x.force() if isinstance(x, Value) else x for x in operands]
    outs = [constant(o) for o in sig.call(args)]
    return outs[0] if sig.single else outs


def constant(array):
    """A concrete Value of a jax.Array (or tracer)."""
    return Value(aval_of(array.shape, array.dtype, isinstance(array, jax.core.Tracer)), array)


def from_numpy(array):
    """A concrete Value holding a copy of a numpy array, 64-bit dtypes kept."""
    with jax.enable_x64(True):
        return constant(jax.numpy.array(array))


def to_numpy(v):
    """The numbers of a Value as a (read-only) numpy array."""
    return np.asarray(v.force())


def to_dlpack(v, **kw):
    """A DLPack capsule of a copy: a consumer may write into it, and the program may reuse the original."""
    with jax.enable_x64(True):
        return jax.numpy.array(v.force()).__dlpack__(**kw)


def set_immediate(on):
    global immediate
    immediate = bool(on)
