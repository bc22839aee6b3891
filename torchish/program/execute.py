"""Run a recorded program: cold (operation by operation) at first, hot (one executable) when it keeps coming back.

Compiling a program costs as much as hundreds of its runs, and how often it will come back is not known. So a structure stays
with what is cheap to have (its operations' own executables, or one made in a hurry) until the time it spent so is a fair
share of what the compiler will take: a loop of thousands of steps loses little, a short script never waits for the compiler.
"""

import time
from collections import Counter

import jax

from torchish.program import infer
from torchish.program.composite import Composite
from torchish.program.disk import digest, exists, load, save
from torchish.program.stats import counters

FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
LIMIT = 4096            # structures that are remembered
STORM = 12              # structures of one family that may become hot executables
WHOLE = 4               # this many unseen operations: compiling the program whole is quicker than one by one
NUMBER = 1 << 60        # operand code of a Python number
PATIENCE = 0.2          # share of the expected compile time that a structure may spend in slower runs

_programs = {}
_families = {}
_pace = [1.0, 150]      # seconds that compiling took, and of how many operations; at first a guess


class Entry:
    """One structure: how often it was seen and its executables."""

    __slots__ = ("seen", "spent", "rows", "exe", "baked", "promoted", "storm", "family", "fast", "order", "donated", "kept")

    def __init__(self, code, live, leaves, spare):
        self.seen, self.spent, self.exe, self.baked = 0, 0.0, None, None
        rows, self.promoted = decode(code)
        self.rows = needed(rows, live)
        self.family = hash(tuple(row[0].family for row in rows if row[0] is not None))
        self.storm = self.fast = False
        self.donated = reusable(self.rows, live, leaves, spare)
        self.kept = [i for i in range(len(leaves)) if i not in self.donated]


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


def forget():
    """Drop the structures that never came back; all of them if that is not enough."""
    kept = {key: entry for key, entry in _programs.items() if entry.seen > 1}
    _programs.clear()
    if len(kept) < LIMIT // 2:
        _programs.update(kept)


def reusable(rows, live, leaves, spare):
    """Those spare leaves that have a result of the same shape and dtype to become."""
    results = {}
    for sig, _, outs in rows:
        if sig is not None:
            results.update((slot, (a.shape, a.dtype)) for slot, a in zip(outs, sig.outs))
    free = Counter(results.get(slot) for slot in live)
    chosen = []
    for i in spare:
        kind = leaves[i].shape, leaves[i].dtype
        if free[kind] > 0:
            free[kind] -= 1
            chosen.append(i)
    return chosen


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
        exe = sig.cold = executable(lambda *xs: sig.call(xs), args, FAST, sig.digest)
    return exe(*args)


def executable(fn, args, options, name, donate=()):
    """Compile `fn` for these arguments, or load it from an earlier process."""
    name = file_of(name, options)
    exe = load(name)
    if exe is None:
        counters.compiles += 1
        exe = jax.jit(fn, donate_argnums=donate, compiler_options=options or None).lower(*args).compile()
        save(name, exe)
    return exe


def file_of(name, options):
    """The digest under which an executable is kept; None where its program has no name."""
    return digest(name, sorted(options.items()))


def compile_whole(entry, leaves, numbers, live, hurry):
    """One executable, made in a hurry or in full (also where an earlier process left a full one); numbers outside
    `entry.promoted` are constants in it."""
    start, made = time.perf_counter(), counters.compiles
    promoted = sorted(entry.promoted)
    entry.baked = numbers
    rows, donated, kept = entry.rows, entry.donated, entry.kept

    def program(spare, others, promoted_numbers):
        leaves, ns = [None] * (len(donated) + len(kept)), list(numbers)
        for places, values, into in ((donated, spare, leaves), (kept, others, leaves), (promoted, promoted_numbers, ns)):
            for i, x in zip(places, values):
                into[i] = x
        return interpret(rows, live, leaves, ns, lambda sig, args: sig.call(args))

    name = name_of(entry, leaves, numbers, live)
    args = [leaves[i] for i in donated], [leaves[i] for i in kept], [numbers[i] for i in promoted]
    entry.fast = hurry and not exists(file_of(name, {}))
    entry.exe = executable(program, args, FAST if entry.fast else {}, name, (0,) if donated else ())
    entry.order = promoted
    counters.hot_compiles += 1
    if counters.compiles > made:
        _pace[0] += time.perf_counter() - start
        _pace[1] += len(rows)


def name_of(entry, leaves, numbers, live):
    """The name of a whole program's executable on disk, but for the compiler's options."""
    constants = [None if i in entry.promoted else n for i, n in enumerate(numbers)]
    parts = [part for sig, codes, outs in entry.rows for part in (sig.digest if sig is not None else "", (codes, tuple(outs)))]
    return digest("program", live, entry.donated, repr(constants), repr([(x.shape, x.dtype, x.weak_type) for x in leaves]), *parts)


def baked_matches(entry, numbers):
    """True when the numbers are those of the first run, which are constants in the executable; else promotes those that differ."""
    if entry.baked is None:
        entry.baked = numbers
    if entry.baked == numbers:
        return True
    differ = [i for i, (a, b) in enumerate(zip(entry.baked, numbers))
              if not (a == b or (a != a and b != b)) and i not in entry.promoted]
    if not differ:
        return True
    entry.promoted = entry.promoted | frozenset(differ)
    return False


def execute(code, leaves, numbers, live, spare=(), whole=False):
    """Arrays of the live slots. `spare`: leaves whose buffers may be reused; `whole`: one fully optimized executable at
    first sight."""
    counters.programs += 1
    key = (code, live, tuple(spare))
    entry = _programs.get(key)
    if entry is None:
        if len(_programs) >= LIMIT:
            forget()
        entry = _programs[key] = Entry(code, live, leaves, spare)
    entry.seen += 1
    with jax.enable_x64(True):
        same, full = baked_matches(entry, numbers), whole or due(entry)
        if not hot(entry, full, leaves, numbers, live):
            counters.cold += 1
            return timed(entry, interpret, entry.rows, live, leaves, numbers, cold_call)
        if entry.exe is None or not same or entry.fast and full:
            compile_whole(entry, leaves, numbers, live, hurry=not full)
        counters.hot += 1
        args = [leaves[i] for i in entry.donated], [leaves[i] for i in entry.kept], [numbers[i] for i in entry.order]
        return timed(entry, entry.exe, *args) if entry.fast else entry.exe(*args)


def timed(entry, fn, *args):
    """fn(*args), whose time is counted but for the first sight, when it loads and compiles."""
    start = time.perf_counter()
    out = fn(*args)
    if entry.seen > 1:
        jax.block_until_ready(out)
        entry.spent += time.perf_counter() - start
    return out


def due(entry):
    """Whether the structure came back often enough to be worth the compiler's time."""
    return entry.spent > PATIENCE * len(entry.rows) * _pace[0] / _pace[1]


def hot(entry, full, leaves, numbers, live):
    """Whether one executable runs the program: in full when that is due, if one is kept on disk, or at once when compiling
    operation by operation would cost more (then quickly, without optimization)."""
    if entry.exe is not None:
        return True
    if entry.storm or len(entry.rows) < 2:
        return False
    wanted = full or entry.seen == 1 and many_unseen(entry)
    if not wanted and not (entry.seen == 2 and exists(file_of(name_of(entry, leaves, numbers, live), {}))):
        return False
    n = _families[entry.family] = _families.get(entry.family, 0) + 1
    if n > STORM:
        entry.storm = True
        counters.storms += 1
        return False
    return True


def many_unseen(entry):
    """Whether most of the operations have no executable of their own yet."""
    unseen = len({row[0].id for row in entry.rows if row[0] is not None and row[0].cold is None})
    return unseen >= WHOLE and unseen * 3 >= len(entry.rows)
