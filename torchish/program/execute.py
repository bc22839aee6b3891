"""Run a recorded program: cold (operation by operation) at first sight, hot (one executable) from then on."""

import jax

from torchish.program import infer
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

    def __init__(self, code):
        self.seen, self.exe, self.baked, self.promoted = 0, None, None, frozenset()
        self.rows = decode(code)
        self.family = hash(tuple(s.family for s, _ in self.rows))
        self.storm = False


def decode(code):
    """The flat code as rows (signature, operand codes)."""
    rows, i, by_id = [], 0, infer.BY_ID
    while i < len(code):
        sig = by_id[code[i]]
        n = len(sig.operands)
        rows.append((sig, code[i + 1:i + 1 + n]))
        i += 1 + n
    return rows


def needed(rows, live):
    """Which rows the live slots depend on."""
    starts, slot = [], 0
    for sig, _ in rows:
        starts.append(slot)
        slot += len(sig.outs)
    want = bytearray(slot)
    for s in live:
        want[s] = 1
    keep = [False] * len(rows)
    for r in range(len(rows) - 1, -1, -1):
        sig, codes = rows[r]
        if any(want[starts[r]:starts[r] + len(sig.outs)]):
            keep[r] = True
            for c in codes:
                if c is not None and 0 <= c < NUMBER:
                    want[c] = 1
    return keep, starts


def interpret(rows, live, leaves, numbers, call):
    """Evaluate the rows with `call(sig, args)`; returns the live slots' arrays."""
    keep, starts = needed(rows, live)
    slots = {}
    k = 0
    last = {}
    for r, (sig, codes) in enumerate(rows):
        if keep[r]:
            for c in codes:
                if c is not None and 0 <= c < NUMBER:
                    last[c] = r
    alive = set(live)
    for r, (sig, codes) in enumerate(rows):
        args = []
        for c in codes:
            if c is None:
                args.append(None)
            elif c == NUMBER:
                args.append(numbers[k])
                k += 1
            else:
                args.append(leaves[~c] if c < 0 else slots.get(c))
        if not keep[r]:
            continue
        for j, out in enumerate(call(sig, args)):
            slots[starts[r] + j] = out
        for c in codes:
            if c is not None and 0 <= c < NUMBER and last[c] == r and c not in alive:
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
        entry = _programs[key] = Entry(code)
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
    unseen = len({s.id for s, _ in entry.rows if s.cold is None})
    if entry.seen < 2 and not eager_whole and (unseen < WHOLE or unseen * 3 < len(entry.rows)):
        return False
    n = _families[entry.family] = _families.get(entry.family, 0) + 1
    if n > STORM:
        entry.storm = True
        counters.storms += 1
        return False
    return True
