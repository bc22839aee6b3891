"""Opt-in: the C allocator keeps its memory. `TORCHISH_KEEP_MEMORY=1`, read before JAX is used for the first time.

On CPU, XLA allocates its temporaries anew in each run; the allocator gives large ones back to the system, and the page faults
of the next run cost more than the arithmetic of a step on large arrays.
"""

import ctypes
import os

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3     # glibc's malloc.h
KEEP = 1 << 30


def keep_memory():
    """Tell glibc; False where there is no such allocator."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return all([mallopt(M_MMAP_THRESHOLD, KEEP), mallopt(M_TRIM_THRESHOLD, KEEP), mallopt(M_TOP_PAD, 1 << 26)])


if os.environ.get("TORCHISH_KEEP_MEMORY", "0") not in ("", "0"):
    keep_memory()
