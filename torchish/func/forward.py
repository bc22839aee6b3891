"""Forward-mode derivatives of functions: each run is a dual level of its own."""

import functools

from torchish.autograd import dual
from torchish.autograd.modes import state, transformed
from torchish.func.arguments import JVP, chosen, only_real, outputs, split_aux, tensors
from torchish.func.reverse import jacrev, pullback_of
from torchish.func.vmap import vmap
from torchish.utils._pytree import tree_flatten, tree_map, tree_unflatten


def _directions(primals, tangents):
    """(flat primals, flat tangents, the primals' structure)."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    xs, spec = tree_flatten(primals)
    ts, other = tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple "
                           f"of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {other}")
    for name, leaves in ("primals", xs), ("tangents", ts):
        if not leaves:
            raise RuntimeError(f"{JVP}: Expected {name} to contain at least one Tensor.")
        tensors(leaves, f"{JVP}: Expected {name} to only contain Tensors, got {{}}", RuntimeError)
    return xs, ts, spec


def _derivative(level, y, strict):
    """(a result without its tangent, the tangent)."""
    along = level.tangent(y)
    if along is not None:
        return dual.end(level, y)
    if strict:
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
                           "with strict=True.")
    return y, y.new_zeros(y.shape)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative along the tangents[, aux])."""
    xs, ts, spec = _directions(primals, tangents)
    if state.level is not None and state.level not in state.transforms:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")     # PyTorch has one kind of level for both
    with dual.opened() as level, transformed((*state.transforms, level)):
        duals = [dual.begin(level, x, t) for x, t in zip(xs, ts)]
        out, aux = split_aux(func(*tree_unflatten(duals, spec)), has_aux, JVP)
        outs, out_spec = outputs(out, JVP)
        pairs = [_derivative(level, y, strict) for y in outs]
        aux = tree_map(lambda y: dual.end(level, y)[0], aux) if has_aux else None
    value, along = (tree_unflatten(list(column), out_spec) for column in zip(*pairs))
    return (value, along, aux) if has_aux else (value, along)


def linearize(func, *primals):
    """(func(*primals), the linear function from tangents to derivatives there), in one run of `func`.

    The function is the transpose of a vjp: its graph is kept, and `func` never runs again.
    """
    xs, spec = tree_flatten(primals)
    value, transposed = pullback_of(func, primals)

    def push(*tangents):
        """The derivative along tangents of the primals' structure, shapes and dtypes."""
        ts, given = tree_flatten(tangents)
        if given != spec:
            raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {spec}")
        for i, (x, t) in enumerate(zip(xs, ts)):
            for name in "shape", "dtype":
                if getattr(t, name) != getattr(x, name):
                    raise RuntimeError(f"tangent:{i} with {name} {getattr(t, name)} in flattened pytree doesn't match the {name} "
                                       f"{getattr(x, name)} of the corresponding primal.")
        return transposed(ts)

    return value, push


def _basis(xs):
    """For each tensor its part of the unit vectors of all of them: (all elements, *shape)."""
    from torchish import cat, eye, zeros
    sizes, total, start, made = [x.numel() for x in xs], sum(x.numel() for x in xs), 0, []
    for x, n in zip(xs, sizes):
        kw = {"dtype": x.dtype, "device": x.device}
        rows = [zeros(start, n, **kw), eye(n, **kw), zeros(total - start - n, n, **kw)]
        made.append((cat(rows) if n != total else rows[1]).reshape(total, *x.shape))
        start += n
    return made, sizes


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of `func` in the arguments `argnums`, as jacrev does, by pushing unit vectors."""
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        places = chosen(argnums, args)
        picked = tuple(args[k] for k in places)
        xs, spec = tree_flatten(picked)
        only_real("jacfwd", "inputs", xs)
        basis, sizes = _basis(tensors(xs))

        def called(*inputs):
            full = list(args)
            for k, x in zip(places, inputs):
                full[k] = x
            return func(*full, **kwargs)

        def push(tangents):
            out = jvp(called, picked, tree_unflatten(tangents, spec), has_aux=has_aux)
            return (out[1], out[2]) if has_aux else out[1]

        out = vmap(push, randomness=randomness)(basis)
        columns, aux = out if has_aux else (out, None)
        ys, out_spec = tree_flatten(columns)
        only_real("jacfwd", "outputs", ys)
        made = []
        for y in ys:
            parts = [part.movedim(0, -1).reshape(*y.shape[1:], *x.shape) for part, x in zip(y.split(sizes), xs)]
            row = tree_unflatten(parts, spec)
            made.append(row if isinstance(argnums, tuple) else row[0])
        jacobian = tree_unflatten(made, out_spec)
        return (jacobian, tree_map(lambda t: t[0], aux)) if has_aux else jacobian
    return wrapper


def hessian(func, argnums=0):
    """A function that returns the second derivatives of `func`: forward over reverse."""
    return jacfwd(jacrev(func, argnums), argnums)
