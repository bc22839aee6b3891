"""Run a recorded program: cold (operation by operation) at first sight, hot (one executable) from then on."""

import jax

from torchish.program import infer
from torchish.program.composite import Composite
from torchish.program.stats import counters

FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
STORM = 12              # structures of one family that may become hot executables
WHOLE = 4               # this many unseen operations: compiling the program whole is quicker than one by one
NUMBER = 1 << 60        # operand code of a Python number

_programs = {}
_families = {}


class Entry:
    """One structure: how often it was seen and its executables."""

    __slots__ = ("seen", "rows", "exe", "baked", "promoted", "storm", "family")

    def __init__(self, code, live):
        self.seen, self.exe, self.baked = 0, None, None
        rows, self.promoted = decode(code)
        self.rows = needed(rows, live)
        self.family = hash(tuple(row[0].family for row in rows if row[0] is not None))
        self.storm = False


def decode(code):
    """The flat code as rows (signature, operand codes, result slots), and the numbers that always vary.

    A composite is replaced by its rows. A row without signature passes its operand on.
    """
    calls, i, slot, number, varying = [], 0, 0, 0, []
    while i < len(code):
        sig = infer.BY_ID[code[i]]
        codes = list(code[i + 1:i + 1 + len(sig.operands)])
        for k, c in enumerate(codes):
            if c == NUMBER:
                codes[k] = NUMBER + number
                if k in sig.varying:
                    varying.append(number)
                number += 1
        calls.append((sig, codes, range(slot, slot + len(sig.outs))))
        slot += len(sig.outs)
        i += 1 + len(sig.operands)
    rows = []
    for sig, codes, outs in calls:
        if sig.op.__class__ is Composite:
            slot = splice(rows, sig.op, codes, outs, slot)
        else:
            rows.append((sig, codes, outs))
    return rows, frozenset(varying)


def splice(rows, op, operands, outs, base):
    """Append a composite's rows with their slots from `base` on; returns the next free slot."""
    def moved(code):
        return None if code is None else operands[~code] if code < 0 else code + base
    top = base
    for sig, codes, slots in op.rows:
        slots = [s + base for s in slots]
        top = max(top, slots[-1] + 1)
        rows.append((sig, [moved(c) for c in codes], slots))
    for out, code in zip(outs, op.results):
        rows.append((None, [moved(code)], (out,)))
    return top


def needed(rows, live):
    """The rows on which the live slots depend."""
    want, kept = set(live), []
    for row in reversed(rows):
        if not want.isdisjoint(row[2]):
            kept.append(row)
            want.update(c for c in row[1] if c is not None and 0 <= c < NUMBER)
    return kept[::-1]


def interpret(rows, live, leaves, numbers, call):
    """Evaluate the rows with `call(sig, args)`; returns the live slots' arrays."""
    last = {c: r for r, (_, codes, _) in enumerate(rows) for c in codes if c is not None and 0 <= c < NUMBER}
    last.update(dict.fromkeys(live))
    slots = {}
    for r, (sig, codes, outs) in enumerate(rows):
        args = [None if c is None else leaves[~c] if c < 0 else slots[c] if c < NUMBER else numbers[c - NUMBER] for c in codes]
        slots.update(zip(outs, args if sig is None else call(sig, args)))
        for c in codes:
            if c in last and last[c] == r:
                slots.pop(c, None)
    return [slots[s] for s in live]


def cold_call(sig, args):
    exe = sig.cold
    if exe is None:
        counters.compiles += 1
        exe = sig.cold = jax.jit(lambda *xs: sig.call(xs), compiler_options=FAST)
    return exe(*args)


def compile_whole(entry, live, numbers, options):
    """One executable; numbers outside `entry.promoted` are constants in it."""
    counters.compiles += 1
    counters.hot_compiles += 1
    promoted = sorted(entry.promoted)
    entry.baked = numbers
    rows = entry.rows

    def program(leaves, promoted_numbers):
        ns = list(numbers)
        for i, x in zip(promoted, promoted_numbers):
            ns[i] = x
        return interpret(rows, live, leaves, ns, lambda sig, args: sig.call(args))

    entry.exe = jax.jit(program, compiler_options=options)


def baked_matches(entry, numbers):
    """True when the constants in the executable are these numbers; else promotes those that differ."""
    if entry.baked == numbers:
        return True
    differ = [i for i, (a, b) in enumerate(zip(entry.baked, numbers))
              if not (a == b or (a != a and b != b)) and i not in entry.promoted]
    if not differ:
        return True
    entry.promoted = entry.promoted | frozenset(differ)
    return False


def execute(code, leaves, numbers, live, eager_whole=False):
    """Arrays of the live slots."""
    counters.programs += 1
    key = (code, live)
    entry = _programs.get(key)
    if entry is None:
        entry = _programs[key] = Entry(code, live)
    entry.seen += 1
    with jax.enable_x64(True):
        if entry.exe is None and not wants_whole(entry, eager_whole):
            counters.cold += 1
            return interpret(entry.rows, live, leaves, numbers, cold_call)
        if entry.exe is None or not baked_matches(entry, numbers):
            compile_whole(entry, live, numbers, None)
        counters.hot += 1
        promoted = [numbers[i] for i in sorted(entry.promoted)] if entry.promoted else ()
        return entry.exe(leaves, promoted)


def wants_whole(entry, eager_whole):
    """Hot from the second sight on, or at once when compiling operation by operation would cost more."""
    if entry.storm or len(entry.rows) < 2:
        return False
    unseen = len({row[0].id for row in entry.rows if row[0] is not None and row[0].cold is None})
    if entry.seen < 2 and not eager_whole and (unseen < WHOLE or unseen * 3 < len(entry.rows)):
        return False
    n = _families[entry.family] = _families.get(entry.family, 0) + 1
    if n > STORM:
        entry.storm = True
        counters.storms += 1
        return False
    return True
