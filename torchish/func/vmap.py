"""vmap: a function of one example made a function of a batch."""

import functools

from torchish.api import random
from torchish.autograd.batching import enter, leave, level_of, levels_of, whole
from torchish.autograd.dispatch import apply
from torchish.ops import TABLE
from torchish.tensor import Tensor
from torchish.utils._pytree import broadcast_prefix, tree_flatten, tree_leaves, tree_structure, tree_unflatten


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` mapped over the dimensions `in_dims` of its arguments (None: the same for every entry)."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    return mapped_over(func, in_dims, out_dims, randomness, chunk_size)


def mapped_over(func, in_dims, out_dims, randomness, chunk_size=None):
    """`vmap` with checked options."""
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        for d in tree_leaves(out_dims):
            if not isinstance(d, int) and d is not None:
                raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                                 "collection of ints representing where in the outputs the vmapped dimension should appear.")
        leaves, dims, spec, size = mapped_inputs(func, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return run(func, leaves, dims, spec, size, out_dims, randomness, kwargs)
        return in_chunks(func, leaves, dims, spec, size, out_dims, randomness, kwargs, chunk_size)

    return wrapped


def name_of(func):
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def mapped_inputs(func, in_dims, args):
    """The arguments flat, the mapped dimension of each, their structure and the batch size."""
    start = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{start}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
                         f"{type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                         "over a function with no inputs. The latter is unsupported.")
    leaves, spec = tree_flatten(args)
    dims = broadcast_prefix(in_dims, args)
    if dims is None:
        raise ValueError(f"{start}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_structure(in_dims)} but inputs has structure {spec}.")
    for i, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(f"{start}Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(x, Tensor):
            raise ValueError(f"{start}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                             "arguments, please use None as the respective in_dim")
        if not -x.ndim <= d < x.ndim:
            raise ValueError(f"{start}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.ndim} so "
                             f"expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}.")
        dims[i] = d % x.ndim
    sizes = [x.size(d) for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
                         "dimension")
    return leaves, dims, spec, sizes[0]


def run(func, leaves, dims, spec, size, out_dims, randomness, kwargs):
    """One call of `func` on batched tensors."""
    with level_of(size, randomness) as level:
        entered = [x if d is None else enter(x, level, d) for x, d in zip(leaves, dims)]
        result = func(*tree_unflatten(entered, spec), **kwargs)
        outs, out_spec = tree_flatten(result)
        places = placed(func, out_dims, result)
        made = [left(func, x, level, d) for x, d in zip(outs, places)]
        for x, d, e in zip(leaves, dims, entered):
            if d is not None and e._version:
                x.copy_(leave(e, level, d))         # the function wrote to its argument
    arguments = {id(e): (x, d) for x, d, e in zip(leaves, dims, entered) if d is not None}
    for i, (out, dim) in enumerate(zip(outs, places)):
        if id(out) in arguments and dim is not None:
            made[i] = as_argument(*arguments[id(out)], dim % (out.ndim + 1))
    return tree_unflatten(made, out_spec)


def as_argument(x, source, dim):
    """An argument that comes back as it is: a view of the tensor that was given, and in an outer vmap that tensor itself."""
    return x.movedim(source, dim) if source != dim else x if levels_of(x._value) else x.view_as(x)


def placed(func, out_dims, result):
    """The mapped dimension of each output."""
    one = isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
    dims = broadcast_prefix(out_dims[0] if one else out_dims, result)
    if dims is None:
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
                         f"`outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure "
                         f"{tree_structure(result)}.")
    return dims


def left(func, x, level, dim):
    name = name_of(func)
    if dim is None:
        if isinstance(x, Tensor) and level in levels_of(x._value):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return x
    if not isinstance(x, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to "
                         "None for output?")
    if not -x.ndim - 1 <= dim <= x.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-x.ndim - 1}, {x.ndim}], but got {dim})")
    return leave(x, level, dim % (x.ndim + 1))


def in_chunks(func, leaves, dims, spec, size, out_dims, randomness, kwargs, chunk_size):
    """Some entries at a time; the results joined."""
    parts, stream = [], random.default_generator._stream
    start = stream.get_state()
    for begin in range(0, size, chunk_size):
        n = min(chunk_size, size - begin)
        if randomness == "same":
            stream.set_state(start)
        chunk = [x if d is None else x.narrow(d, begin, n) for x, d in zip(leaves, dims)]
        parts.append(run(func, chunk, dims, spec, n, out_dims, randomness, kwargs))
    columns = zip(zip(*map(tree_leaves, parts)), placed(func, out_dims, parts[0]))
    return tree_unflatten([apply(TABLE["cat"], column, (d,)) for column, d in columns], tree_structure(parts[0]))


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """`vmap` in so many parts; functorch's older name for `chunk_size`."""
    if chunks == 1:
        return vmap(func, in_dims, out_dims, randomness)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        size = mapped_inputs(func, in_dims, args)[3]
        return vmap(func, in_dims, out_dims, randomness, chunk_size=-(-size // chunks))(*args, **kwargs)
    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """All entries of a tensor seen under `vmap`, for a look at its values; any other tensor as it is."""
    return whole(tensor, recurse)
