"""torch.func.rearrange: a tensor's dimensions reordered, joined and split by a pattern."""

import functools
import math
import re

import torchish as torch

DOTS = "Expression may contain dots only inside ellipsis (...)"
UNDERSCORE = "axis name should should not start or end with underscore"


class DimensionBindError(Exception):
    """Sizes that a pattern does not fit."""


def _groups(side):
    """A side of a pattern as groups of axis names, an ellipsis being the group "..."."""
    if side.count(".") != 3 * side.count("..."):
        raise ValueError(DOTS)
    if side.count("...") > 1:
        raise ValueError(DOTS + "; only one ellipsis for tensor ")
    groups, inside, seen = [], None, set()
    for token in re.findall(r"\.\.\.|[()]|[^\s().]+", side):
        if token == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            if token != "1":
                _check_name(token, seen)
            name = [] if token == "1" else [token]
            if inside is None:
                groups.append(token if token == "..." else name)
            else:
                inside += name
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return groups, seen


def _check_name(name, seen):
    if name.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if name != "..." and (not name.isidentifier() or "_" in (name[0], name[-1])):
        raise ValueError(f"Invalid axis identifier: {name}\n{UNDERSCORE if name.isidentifier() else 'not a valid python identifier'}")
    if name in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    seen.add(name)


@functools.lru_cache
def _parsed(pattern):
    """(groups on the left, groups on the right, names)."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    (left, names), (right, others) = map(_groups, sides)
    if "..." in others - names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any("..." in group for group in left if isinstance(group, list)):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if names != others:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {names ^ others}")
    return left, right, names


def _split(group, size, known, labels):
    """The sizes of a group's axes, at most one of which is not known."""
    unknown = [n for n in group if n not in known]
    if len(unknown) > 1:
        raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {labels[unknown[0]]} and {labels[unknown[1]]}")
    product = math.prod(known[n] for n in group if n in known)
    if not unknown and product != size:
        raise DimensionBindError(f"Dimension sizes to do not match ({size} != {product}) when matching dimension pack "
                                 f"({', '.join(labels[n] for n in group)}{',' * (len(group) == 1)})")
    if unknown and (not product or size % product):
        raise DimensionBindError("inferred dimension does not evenly fit into larger dimension: "
                                 f"{size} vs {tuple(known.get(n, '?') for n in group)}")
    return {n: known[n] if n in known else size // product for n in group}


def rearrange(tensor, pattern, **axes_lengths):
    """The tensor (or several of one shape, stacked) with its dimensions as `pattern` says: "b (h w) c -> b c h w", with `h=3` or the like
    for what cannot be inferred; `...` stands for any number of dimensions, `1` and `()` for one of size 1.

    ValueError for a pattern that is none or has another number of dimensions, DimensionBindError for sizes that do not fit.
    """
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.stack(tensor)
    left, right, names = _parsed(pattern)
    if axes_lengths.keys() - names:
        raise ValueError(f"Identifiers not found in rearrange expression: {axes_lengths.keys() - names}")
    if not tensor.ndim:
        return tensor
    some = "..." in left
    if len(left) - some > tensor.ndim or not some and len(left) != tensor.ndim:
        raise ValueError(f"Number of dimensions in pattern ({len(left) - some}) must be {'less than or ' * some}equal to the number of "
                         f"dimensions in the tensor ({tensor.ndim})")
    between = [f"...{k}" for k in range(tensor.ndim - len(left) + 1)] if some else []

    def spelled(groups):
        """The groups with the dimensions that an ellipsis stands for."""
        out = []
        for group in groups:
            out += [[n] for n in between] if group == "..." else [[m for n in group for m in (between if n == "..." else (n,))]]
        return out
    left, right = spelled(left), spelled(right)
    labels = {n: f"d{k}" for k, n in enumerate(n for group in left for n in group)}
    sizes = {}
    for group, size in zip(left, tensor.shape):
        sizes |= _split(group, size, axes_lengths, labels)
    order = list(sizes)
    axes = [n for group in right for n in group]
    apart = tensor.reshape([sizes[n] for n in order]).permute([order.index(n) for n in axes])
    return apart.reshape([math.prod(sizes[n] for n in group) for group in right])
