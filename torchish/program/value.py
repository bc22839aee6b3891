"""Value: one array, concrete or still to be computed, and its interned aval."""

import numpy as np


class Aval:
    """Shape and dtype of an array; interned, so identity is equality.

    `traced`: True when it stands for a JAX tracer; the levels (index, size) when it is one entry of a batched Value.
    """

    __slots__ = ("shape", "dtype", "traced", "ndim", "size")

    def __init__(self, shape, dtype, traced):
        self.shape, self.dtype, self.traced = shape, dtype, traced
        self.ndim, self.size = len(shape), int(np.prod(shape, dtype=np.int64)) if shape else 1

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)}"


_interned = {}


def aval_of(shape, dtype, traced=False):
    key = (shape, dtype, traced)
    a = _interned.get(key)
    return a if a is not None else _interned.setdefault(key, Aval(tuple(map(int, shape)), np.dtype(dtype), traced))


def is_batched(a):
    return a.__class__ is Aval and a.traced.__class__ is tuple


class Value:
    """`array` is a jax.Array once computed; until then `program` and `slot` say where it comes from."""

    __slots__ = ("aval", "array", "program", "slot")

    def __init__(self, aval, array=None, program=None, slot=0):
        self.aval, self.array, self.program, self.slot = aval, array, program, slot

    def force(self):
        """The jax.Array; runs the pending program when it is not there yet."""
        if self.array is None:
            if self.program is None:
                raise RuntimeError("torchish: this tensor was never computed: the program that it belongs to failed")
            self.program.flush()
        return self.array
