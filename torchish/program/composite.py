"""Composite: several recorded operations as one, planned once and replayed as a single record."""

import jax

from torchish.program.disk import digest
from torchish.program.infer import Sig


class Composite:
    """Rows (signature, operand codes, result slots); an operand code is a slot, ~position of an operand, or None.

    Executables see the rows, not the composite: `execute.decode` splices them into the program.
    """

    view = False
    saves = result = connects = keeps = underivable = None
    differentiable = True
    nondiff, attrs, nodes, guards = (), (), None, {}

    def __init__(self, name, node, rows, results):
        self.name, self.node, self.rows, self.results = name, node, rows, results
        # JAX keeps the trace and its derivatives: a pass through a pass through a pass would trace the innermost anew each time
        self._traced = jax.jit(self._run, inline=True)

    @property
    def digest(self):
        return digest(self.results, *[part for sig, codes, outs in self.rows for part in (sig.digest, (codes, outs))])

    def call(self, args, attrs):
        return self._traced(args)

    def _run(self, args):
        slots = {}

        def read(code):
            return None if code is None else args[~code] if code < 0 else slots[code]

        for sig, codes, outs in self.rows:
            slots.update(zip(outs, sig.call([read(c) for c in codes])))
        return tuple([read(c) for c in self.results])


def composite(name, node, rows, results, operands, outs):
    """The signature of a composite: `operands` and `outs` are avals (or number classes)."""
    traced = any(getattr(a, "traced", False) for a in operands)
    return Sig(Composite(name, node, rows, results), (), operands, outs, False, traced)
