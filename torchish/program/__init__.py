"""Floor 1: recorded programs. Knows jax.jit, not which operations exist."""

from torchish.program.infer import use_table
from torchish.program.record import append, constant, flush, from_numpy, mark, pending, record, set_immediate, signature, to_numpy
from torchish.program.stats import counters, stats
from torchish.program.value import Aval, Value, aval_of

__all__ = ["Aval", "Value", "append", "aval_of", "constant", "counters", "flush", "from_numpy", "mark", "pending", "record",
           "set_immediate", "signature", "stats", "to_numpy", "use_table"]
