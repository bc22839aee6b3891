"""Floor 1: recorded programs. Knows jax.jit, not which operations exist."""

from torchish.program import memory  # before JAX is used
from torchish.program.composite import composite
from torchish.program.infer import use_table
from torchish.program.record import (append, constant, flush, from_numpy, mark, pending, record, recorded, set_immediate, signature,
                                     signature_of, to_dlpack, to_numpy, whole)
from torchish.program.stats import counters, stats
from torchish.program.value import Aval, Value, aval_of

__all__ = ["Aval", "Value", "append", "aval_of", "composite", "constant", "counters", "flush", "from_numpy", "mark", "pending",
           "record", "recorded", "set_immediate", "signature", "signature_of", "stats", "to_dlpack", "to_numpy", "use_table",
           "whole"]
