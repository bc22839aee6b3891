"""Random numbers under vmap, whose `randomness` says whether its entries draw the same numbers, different ones or none.

Different numbers are drawn in one go, as for a tensor with the mapped dimensions in front.
"""

import functools

import numpy as np

from torchish.autograd import batching
from torchish.autograd.batching import INPLACE, enter, leave, levels_of, like, outside
from torchish.autograd.modes import state
from torchish.tensor import Tensor

REFUSED = {
    "error": "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
             "vmap or perform the randomness operation out of vmap",
    "legacy": "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of vmap as a "
              "workaround"}
SAME_BATCHED = ("Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch")
UNBATCHED = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is "
             "necessary for your usage, please file an issue with functorch.")


def memory_order(t):
    """The dimensions from the slowest to the fastest in memory, or None where that is their own order."""
    if t._view is None:
        return None
    strides = t._view.strides
    order = sorted((d for d, n in enumerate(t._aval.shape) if n > 1), key=lambda d: -strides[d])
    return None if order == sorted(order) else order + [d for d, n in enumerate(t._aval.shape) if n == 1]


def in_memory_order(array, t):
    """Drawn numbers in the shape of `t`: PyTorch fills the memory from its start."""
    order, shape = memory_order(t), t._aval.shape
    return array.reshape(shape) if order is None else array.reshape([shape[d] for d in order]).transpose(np.argsort(order))


def as_in_memory(array, t):
    """The opposite: an array in the shape of `t` as a flat one."""
    order = memory_order(t)
    return (array if order is None else array.transpose(order)).reshape(-1)


def drawing_levels():
    """The running vmaps whose entries draw numbers of their own, outermost first."""
    running = batching.running()
    for level in running:
        if level.randomness in REFUSED:
            raise RuntimeError(REFUSED[level.randomness])
    return [level for level in running if level.randomness == "different"]


def mapped(t, levels):
    """`t`, whose leading dimensions belong to the levels, seen one entry at a time."""
    for level in levels:
        t = enter(t, level, 0)
    return t


def _whole(t, levels):
    """The opposite of `mapped`."""
    for level in reversed(levels):
        t = leave(t, level, 0)
    return t


def _refuse_batched(tensors):
    """The same numbers for all entries need the same parameters for all entries."""
    same = {level for level in batching.running() if level.randomness == "same"}
    if any(same.intersection(levels_of(t._value)) for t in tensors):
        raise RuntimeError(SAME_BATCHED)


def of_parameters(fn):
    """A function that draws numbers with tensors as parameters."""
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not batching.running():
            return fn(*args, **kwargs)
        levels = drawing_levels()
        _refuse_batched([a for a in args if isinstance(a, Tensor)])
        args = [_whole(a, levels) if isinstance(a, Tensor) else a for a in args]
        with outside():
            out = fn(*args, **kwargs)
        return mapped(out, levels)
    return wrapper


def in_place(fn):
    """A method that fills a tensor with random numbers."""
    @functools.wraps(fn)
    def wrapper(self, *args, **kwargs):
        if state.below is not None and not (state.grad and self.requires_grad):
            return state.below.made(fn.__name__, self, *args, **kwargs)
        if not batching.running():
            return fn(self, *args, **kwargs)
        levels, parameters, mine = drawing_levels(), [a for a in args if isinstance(a, Tensor)], levels_of(self._value)
        _refuse_batched(parameters)
        if any(level not in mine for p in parameters for level in levels_of(p._value)):
            raise RuntimeError(INPLACE)
        if any(level not in mine for level in levels):
            raise RuntimeError(UNBATCHED)
        args = [_whole(a.expand(self.shape), levels) if isinstance(a, Tensor) else a for a in args]
        numbers = self.new_empty((*[level.size for level in levels], *self.shape))
        with outside():
            fn(numbers, *args, **kwargs)
        return self.copy_(like(mapped(numbers, levels), self))
    return wrapper
