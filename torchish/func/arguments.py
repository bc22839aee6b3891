"""What the transforms ask of their arguments and of what functions return, in PyTorch's words."""

from torchish.tensor import Tensor
from torchish.utils._pytree import tree_flatten

GRAD, VJP, JVP = "grad_and_value(f)(*args)", "vjp(f, *primals)", "jvp(f, primals, tangents)"


def tensors(leaves, text="Thing passed to transform API must be Tensor, got {}", error=ValueError):
    """The leaves, all of them tensors."""
    for x in leaves:
        if not isinstance(x, Tensor):
            raise error(text.format(type(x)))
    return leaves


def chosen(argnums, args):
    """The positions that `argnums` names."""
    many = isinstance(argnums, tuple)
    if not many and not isinstance(argnums, int):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if many and not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = argnums if many else (argnums,)
    for k in places:
        if not isinstance(k, int):
            raise RuntimeError(f"argnum must be int, got: {type(k)}")
        if not -len(args) <= k < len(args):
            raise RuntimeError(f"Got argnum={k}, but only {len(args)} positional inputs")
    places = tuple(k % len(args) for k in places)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {places}")
    return places


def sliced(args, argnums, as_tuple=True):
    """The arguments that `argnums` names: a tuple; with one number and not `as_tuple`, the argument itself."""
    found = tuple(args[k] for k in chosen(argnums, args))
    return found if as_tuple or isinstance(argnums, tuple) else found[0]


def split_aux(out, has_aux, what):
    """(output, aux) of what a function returned."""
    if not has_aux:
        return out, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise RuntimeError(f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True")
    tensors(tree_flatten(out[1])[0], "Expected tensors, got unsupported type {}", RuntimeError)
    return out


def outputs(out, what):
    """(the tensors of a function's output, their structure)."""
    outs, spec = tree_flatten(out)
    if outs in ([], [None]):
        raise RuntimeError(f"{what}: Expected f to be a function that has non-empty output (got output = {outs})")
    return tensors(outs, what + ": expected f(*primals) to return only tensors, got unsupported type {}", RuntimeError), spec


def only_real(name, kind, leaves):
    """Refuse complex tensors: a Jacobian is of real numbers."""
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor) and x.is_complex():
            raise RuntimeError(f"{name}: Expected all {kind} to be real but received complex tensor at flattened input idx: {i}")
