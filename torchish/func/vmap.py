"""vmap: a function of one example, over a batch."""

import functools

from torchish.api import random
from torchish.tensor import Tensor
from torchish.utils._pytree import broadcast_prefix, tree_flatten, tree_structure, tree_unflatten

_RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
           "flags on vmap or perform the randomness operation out of vmap")


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` over the dimensions `in_dims` of its arguments, results stacked at `out_dims`.

    The examples are recorded one after the other and compiled as one program: right to every order of derivative, and best
    where the batch is small. A function that broadcasts by itself is faster called on the batch.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        leaves, dims, spec, size = _inputs(func, in_dims, args)
        rows = [None if d is None else x.unbind(d) for x, d in zip(leaves, dims)]
        before = random.get_rng_state() if randomness != "different" else None
        results = []
        for i in range(size):
            if i and randomness == "same":
                random.set_rng_state(before)
            example = tree_unflatten([x if row is None else row[i] for x, row in zip(leaves, rows)], spec)
            results.append(func(*example, **kwargs))
        if randomness == "error" and bool((random.get_rng_state() != before).any()):
            raise RuntimeError(_RANDOM)
        return _stacked(func, results, out_dims)
    return wrapper


def _name(func):
    return getattr(func, "__name__", repr(func))


def _inputs(func, in_dims, args):
    """(leaves, the dimension of each or None, their tree, the batch size), checked as PyTorch checks them."""
    name = _name(func)
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                         f"{type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                         "function with no inputs. The latter is unsupported.")
    leaves, spec = tree_flatten(args)
    dims = broadcast_prefix(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args)
    if dims is None:
        raise ValueError(f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_structure(in_dims)} but inputs has structure {spec}.")
    for x, d in zip(leaves, dims):
        if d is not None and not isinstance(x, Tensor):
            raise ValueError(f"{call}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                             "arguments, please use None as the respective in_dim")
        if d is not None and not -x.dim() <= d < x.dim():
            raise ValueError(f"{call}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.dim()} so expected "
                             f"in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}.")
    sizes = list(dict.fromkeys(x.shape[d] for x, d in zip(leaves, dims) if d is not None))
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(sizes) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{[x.shape[d] for x, d in zip(leaves, dims) if d is not None]} for the mapped dimension")
    return leaves, dims, spec, sizes[0]


def _stacked(func, results, out_dims):
    from torchish import stack
    flat, specs = zip(*map(tree_flatten, results))
    dims = broadcast_prefix(out_dims, results[0])
    if dims is None:
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
                         f"`outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure {specs[0]}.")
    made = []
    for column, d in zip(zip(*flat), dims):
        if d is None:
            made.append(column[0])
            continue
        if not isinstance(column[0], Tensor):
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(column[0])}. Did you "
                             "mean to set out_dims= to None for output?")
        made.append(stack(column, d))
    return tree_unflatten(made, specs[0])
