"""vmap on tensors: mapped dimensions are entered, left, and summed over, each with its node in the graph."""

import contextlib
from typing import NamedTuple

from torchish.autograd.graph import BackwardNode, edge_of
from torchish.autograd.modes import state, transformed
from torchish.ops import TABLE
from torchish.program import record
from torchish.program.batched import Level, batched, by_index, levels_of, physical
from torchish.tensor import Tensor

INPLACE = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
           "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
           "Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being called inside the "
           "PyTorch framework, please file a bug report instead.")


@contextlib.contextmanager
def level_of(size, randomness="error"):
    """A new mapped dimension, as long as the block runs."""
    level = Level(size, randomness)
    with transformed((*state.transforms, level)):
        yield level


def running():
    """The levels of the vmaps that run in this thread, outermost first."""
    return [t for t in state.transforms if t.__class__ is Level]


def outside():
    """What runs inside is in no vmap."""
    return transformed(tuple([t for t in state.transforms if t.__class__ is not Level]))


class LevelNode(BackwardNode):
    """The node of a change of levels; `transposed(gradient, *args)` is the opposite change."""

    plain = False

    def __init__(self, t, out, transposed, *args):
        super().__init__((edge_of(t),), (out._aval,))
        self.transposed, self.args = transposed, args

    def run(self, cts, needed):
        return [None if cts[0] is None else self.transposed(cts[0], *self.args)]


class EnterBatchBackward(LevelNode):
    pass


class LeaveBatchBackward(LevelNode):
    pass


class SumBatchBackward(LevelNode):
    pass


def _made(t, value, change, node, transposed, *args):
    """The tensor of a `change` of levels, with its node and its tangents."""
    out = Tensor._of(value)
    out._device = t._device
    if state.grad and t.requires_grad:
        out._fn = node(t, out, transposed, *args)
    if state.level is not None:
        state.level.share(out, t, change)
    return out


def _moved(value, source, destination):
    if source == destination:
        return value
    dims = list(range(value.aval.ndim))
    dims.insert(destination, dims.pop(source))
    return record(TABLE["permute"], (value,), (tuple(dims),))


def enter(t, level, dim):
    """`t` seen one entry of dimension `dim` at a time."""
    outer = levels_of(t._value)
    levels = tuple(sorted((*outer, level), key=by_index))
    value = _moved(physical(t._value), len(outer) + dim, levels.index(level))
    out = _made(t, batched(value, levels), lambda along: enter(along, level, dim), EnterBatchBackward, leave, level, dim)
    out._entered = level, dim
    return out


def leave(t, level, dim):
    """All entries of `t` again, along a new dimension `dim`; equal ones where `t` is not mapped."""
    levels = levels_of(t._value)
    if level not in levels:
        t = spread(t, level)
        levels = levels_of(t._value)
    rest = tuple(other for other in levels if other is not level)
    value = _moved(physical(t._value), levels.index(level), len(rest) + dim)
    return _made(t, batched(value, rest), lambda along: leave(along, level, dim), LeaveBatchBackward, enter, level, dim)


def spread(t, level):
    """`t` as a mapped tensor with equal entries."""
    outer = levels_of(t._value)
    levels = tuple(sorted((*outer, level), key=by_index))
    k = levels.index(level)
    value = physical(t._value)
    shape = value.aval.shape
    value = record(TABLE["view"], (value,), (shape[:k] + (1,) + shape[k:],))
    value = record(TABLE["expand"], (value,), (shape[:k] + (level.size,) + shape[k:],))
    return _made(t, batched(value, levels), lambda along: spread(along, level), EnterBatchBackward, summed, (level,))


def summed(t, levels):
    """The sum over mapped dimensions, which the result no longer has."""
    mine = levels_of(t._value)
    gone = tuple(k for k, level in enumerate(mine) if level in levels)
    if not gone:
        return t
    value = record(TABLE["sum"], (physical(t._value),), (gone, False, None))
    left = tuple(level for level in mine if level not in levels)
    return _made(t, batched(value, left), lambda along: summed(like(along, t), levels), SumBatchBackward, _same)


def _same(t):
    return t


def gradient_for(g, aval):
    """A gradient that reaches what is not mapped, in a pass outside of the vmap: the sum of the entries' gradients."""
    if g._aval.traced.__class__ is not tuple:
        return g
    known = aval.traced if aval.traced.__class__ is tuple else ()
    return summed(g, tuple(level for level in levels_of(g._value)
                           if level not in state.transforms and (level.index, level.size) not in known))


def like(t, source):
    """A tensor mapped over the levels of `source` too, so that mapped values can be written into it."""
    if source._aval.traced.__class__ is tuple:
        mine = levels_of(t._value)
        for level in levels_of(source._value):
            if level not in mine:
                t = spread(t, level)
    return t


# --- custom Functions --------------------------------------------------------------------------------------------------


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the map."""

    batch_size: int
    randomness: str


def dim_of(x, level):
    """The dimension of `x` that the level maps; None where it maps none."""
    if not isinstance(x, Tensor) or level not in levels_of(x._value):
        return None
    return x._entered[1] if x._entered is not None and x._entered[0] is level else 0


def anywhere(args, level):
    """Whether a tensor among the arguments, or in containers there, is mapped by the level."""
    return any(dim_of(x, level) is not None for x in args) or any(
        dim_of(x, level) is not None for a in args if isinstance(a, (list, tuple, dict)) for x in _pytree().tree_leaves(a))


def _pytree():
    from torchish.utils import _pytree  # of floor 5, but on its own
    return _pytree


def by_rule(rule, level, args, kwargs):
    """The result of a Function's `vmap` staticmethod, called outside of the level, seen one entry at a time."""
    tree = _pytree()
    leaves, spec = tree.tree_flatten(args)
    dims = [dim_of(x, level) for x in leaves]
    opened = [x if d is None else leave(x, level, d) for x, d in zip(leaves, dims)]
    result = rule(VmapInfo(level.size, level.randomness), tree.tree_unflatten(dims, spec), *tree.tree_unflatten(opened, spec), **kwargs)
    if not isinstance(result, tuple) or len(result) != 2:
        got = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
                           f"with the output. Got {got} instead")
    out, out_dims = result
    outs, out_spec = tree.tree_flatten(out)
    dims = tree.broadcast_prefix(out_dims, out)
    if dims is None:
        raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                           f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
                           f"{tree.tree_structure(out_dims)} but output has structure {out_spec}. For more details, please see "
                           "https://pytorch.org/docs/main/notes/extending.func.html")
    given = {id(x): leaf for x, leaf in zip(opened, leaves)}        # an input that comes back is what it was
    made = [given[id(x)] if id(x) in given else x if d is None else enter(x, level, d % x.ndim) for x, d in zip(outs, dims)]
    return tree.tree_unflatten(made, out_spec)


def whole(t, recurse=True):
    """All entries of a mapped tensor, along leading dimensions (of the innermost level alone without `recurse`)."""
    levels = levels_of(t._value)
    return Tensor._of(batched(physical(t._value), () if recurse else levels[:-1])) if levels else t
