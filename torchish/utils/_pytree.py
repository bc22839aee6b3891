"""Nested tuples, lists and dicts of leaves."""

import collections
import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass
class _Kind:
    """How one container type is taken apart, and put together again with what `open` returned beside the children."""

    open: Callable
    close: Callable


def _close_named(fields, children):
    return fields(*children)


SUPPORTED_NODES = {
    tuple: _Kind(lambda x: (list(x), None), lambda context, children: tuple(children)),
    list: _Kind(lambda x: (list(x), None), lambda context, children: list(children)),
    dict: _Kind(lambda x: (list(x.values()), list(x)), lambda keys, children: dict(zip(keys, children))),
    collections.OrderedDict: _Kind(lambda x: (list(x.values()), list(x)),
                                   lambda keys, children: collections.OrderedDict(zip(keys, children))),
    collections.deque: _Kind(lambda x: (list(x), x.maxlen), lambda maxlen, children: collections.deque(children, maxlen)),
}
_NAMED = _Kind(lambda x: (list(x), type(x)), _close_named)


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    """Teach the functions here a container: `flatten_fn(x) -> (children, context)`, `unflatten_fn(children, context) -> x`."""
    SUPPORTED_NODES[cls] = _Kind(flatten_fn, lambda context, children: unflatten_fn(children, context))


def _kind(x):
    return SUPPORTED_NODES.get(type(x)) or (_NAMED if isinstance(x, tuple) and hasattr(x, "_fields") else None)


@dataclasses.dataclass(repr=False)
class TreeSpec:
    """The shape of a tree: None stands for a leaf's type."""

    type: Any
    context: Any
    children_specs: list

    @property
    def num_leaves(self):
        return 1 if self.type is None else sum(c.num_leaves for c in self.children_specs)

    def is_leaf(self):
        return self.type is None

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        children = f",\n{' ' * (indent + 2)}".join(c.__repr__(indent + 2) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


LEAF = TreeSpec(None, None, [])


def tree_flatten(tree, is_leaf=None):
    """(leaves in order, TreeSpec)."""
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        leaves.append(tree)
        return LEAF
    children, context = kind.open(tree)
    return TreeSpec(type(tree), context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves, treespec):
    """The tree of that shape over these leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                         f"holds {treespec.num_leaves} items ({treespec}).")
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    return SUPPORTED_NODES.get(spec.type, _NAMED).close(spec.context, [_unflatten(leaves, c) for c in spec.children_specs])


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of `func(leaf, *leaves of the rests)`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten(map(func, leaves, *(tree_leaves(r, is_leaf) for r in rests)), spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call `func` for its effect on each leaf; returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(types, func, tree, is_leaf=None):
    """`func` on the leaves of these types."""
    return tree_map(lambda x: func(x) if isinstance(x, types) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    return any(map(pred, tree_leaves(tree, is_leaf)))


def broadcast_prefix(prefix, tree):
    """One leaf of `prefix` for every leaf of `tree` below it, or None where the prefix does not fit."""
    kind = _kind(prefix)
    if kind is None:
        return [prefix] * len(tree_leaves(tree))
    if type(prefix) is not type(tree):
        return None
    (mine, context), (theirs, other) = kind.open(prefix), kind.open(tree)
    if len(mine) != len(theirs) or context != other:
        return None
    parts = [broadcast_prefix(a, b) for a, b in zip(mine, theirs)]
    return None if any(p is None for p in parts) else [x for p in parts for x in p]
