"""Reverse-mode derivatives of functions, over the tape.

Each transform runs its function on fresh inputs and differentiates with a graph, so transforms nest. A result requires grad
only if something outside the transform does: an input, or a tensor that the function closes over.
"""

import contextlib
import functools

from torchish import autograd
from torchish.autograd import graph
from torchish.autograd.dual import detached
from torchish.autograd.graph import AccumulateGrad
from torchish.autograd.modes import state, suspended, transformed
from torchish.func.arguments import GRAD, VJP, chosen, only_real, outputs, split_aux, tensors
from torchish.func.vmap import vmap
from torchish.tensor import Tensor
from torchish.utils._pytree import tree_flatten, tree_map, tree_unflatten

_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


class _Level:
    """One run of a function: its fresh inputs, and what of its results belongs to the outside."""

    def __init__(self):
        self.outer = autograd.is_grad_enabled()
        self.fresh = {}         # id -> fresh leaf, alive for as long as the level is
        self.entries = set()    # nodes of the inputs that have a history outside

    @contextlib.contextmanager
    def running(self):
        """The function runs inside, with a graph."""
        with autograd.enable_grad(), graph.disable_saved_tensors_hooks(_HOOKS), transformed((*state.transforms, self)):
            yield

    def open(self, x):
        """`x` as an input of this level, tied to its own history if it has one."""
        if x.requires_grad:
            entry = x.view_as(x)
            self.entries.add(entry.grad_fn)
            return entry
        with transformed(()):
            leaf = detached(x).requires_grad_()
        self.fresh[id(leaf)] = leaf
        return leaf

    def close(self, x):
        """A result without the history that ends in this level alone; so are its tangents."""
        if not isinstance(x, Tensor):
            return x
        keep = not x.requires_grad or self.outer and self._from_outside(x)
        if state.level is None:
            return x if keep else x.detach()
        with suspended():
            out = x.view_as(x) if keep else x.detach()
        state.level.share(out, x, self.close)
        return out

    def tracks(self, x):
        """Whether a tensor depends on the inputs of this level."""
        return x.requires_grad and (id(x) in self.fresh or any(
            n in self.entries or isinstance(n, AccumulateGrad) and id(n.variable) in self.fresh for n in _history(x)))

    def _from_outside(self, x):
        if x.grad_fn is None:
            return id(x) not in self.fresh
        return any(isinstance(n, AccumulateGrad) and id(n.variable) not in self.fresh for n in _history(x))


def _history(x):
    """The nodes that lead to a tensor."""
    seen, todo = set(), [x.grad_fn] if x.grad_fn is not None else []
    while todo:
        node = todo.pop()
        yield node
        for below, _ in node.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                todo.append(below)


def _gradients(outputs, inputs, cotangents, **kw):
    """autograd.grad with a graph, zeros for what is not used."""
    pairs = [(y, ct) for y, ct in zip(outputs, cotangents) if y.requires_grad]
    if not pairs:
        return [x.new_zeros(x.shape) for x in inputs]
    ys, cts = zip(*pairs)
    return autograd.grad(ys, inputs, cts, create_graph=True, materialize_grads=True, **kw)


def _opened(level, args, places):
    """(args with fresh tensors at the places, those tensors flat, the shape of args[places])."""
    leaves, spec = tree_flatten(tuple(args[k] for k in places))
    fresh = [level.open(x) for x in tensors(leaves)]
    args = list(args)
    for k, new in zip(places, tree_unflatten(fresh, spec)):
        args[k] = new
    return args, fresh, spec


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradients of the scalar `func`, its value or (value, aux))."""
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = _Level()
        with level.running():
            places = chosen(argnums, args)
            opened, fresh, spec = _opened(level, args, places)
            out, aux = split_aux(func(*opened, **kwargs), has_aux, GRAD)
            if not isinstance(out, Tensor):
                raise RuntimeError(f"{GRAD}: Expected f(*args) to return a Tensor, got {type(out)}")
            if out.dim():
                raise RuntimeError(f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} dims. Maybe you "
                                   "wanted to use the vjp or jacrev APIs instead?")
            grads = _gradients([out], fresh, [out.new_ones(())])
        grads = tree_unflatten(map(level.close, grads), spec)
        out, aux = level.close(out), tree_map(level.close, aux)
        return grads if isinstance(argnums, tuple) else grads[0], (out, aux) if has_aux else out
    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of the scalar `func` in the arguments `argnums`, or (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads
    return wrapper


def _differentiable(y, what):
    if not (y.is_floating_point() or y.is_complex()):
        raise RuntimeError(f"{what}: All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {y.dtype}")


def vjp(func, *primals, has_aux=False):
    """(func(*primals), function from cotangents to gradients[, aux])."""
    level = _Level()
    with level.running():
        opened, fresh, spec = _opened(level, primals, range(len(primals)))
        out, aux = split_aux(func(*opened), has_aux, VJP)
        outs, out_spec = outputs(out, VJP)
        for y in outs:
            _differentiable(y, "vjp(f, ...)")

    def pullback(cotangents, retain_graph=True, create_graph=None):
        """Gradients in the primals for these cotangents (a tuple of one primal is opened)."""
        cts, ct_spec = tree_flatten(cotangents)
        if ct_spec != out_spec:
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {ct_spec}, primal output: {out_spec}")
        level.outer = autograd.is_grad_enabled() if create_graph is None else create_graph
        with autograd.enable_grad():
            grads = _gradients(outs, fresh, cts, retain_graph=True)
        return tree_unflatten(map(level.close, grads), spec)

    value = tree_unflatten(map(level.close, outs), out_spec)
    return (value, pullback, tree_map(level.close, aux)) if has_aux else (value, pullback)


def pullback_of(func, primals):
    """(func(*primals), function from flat tangents to the derivative along them): a vjp, and its vjp in the cotangents."""
    level = _Level()
    with level.running():
        opened, fresh, _ = _opened(level, primals, range(len(primals)))
        outs, spec = tree_flatten(func(*opened))
        smooth = [y for y in outs if isinstance(y, Tensor) and y.requires_grad]
        cotangents = [level.open(y.new_zeros(y.shape)) for y in smooth]
        pulled = _gradients(smooth, fresh, cotangents) if smooth else []

    def transposed(tangents):
        with autograd.enable_grad():
            along = iter(_gradients(pulled, cotangents, tangents, retain_graph=True) if smooth else ())
        made = [next(along) if isinstance(y, Tensor) and y.requires_grad else y.new_zeros(y.shape) for y in outs]
        return tree_unflatten(map(level.close, made), spec)

    return tree_unflatten(map(level.close, outs), spec), transposed


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func` in the arguments `argnums`: output's shape, then the input's."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = _Level()
        with level.running():
            places = chosen(argnums, args)
            opened, fresh, spec = _opened(level, args, places)
            out, aux = split_aux(func(*opened, **kwargs), has_aux, VJP)
            outs, out_spec = outputs(out, VJP)
            only_real("jacrev", "inputs", fresh)
            only_real("jacrev", "outputs", outs)
            for y in outs:
                _differentiable(y, "vjp(f, ...)")
        with autograd.enable_grad():
            rows = [_jacobian(y, fresh, chunk_size) for y in outs]
        made = []
        for row in rows:
            row = tree_unflatten(map(level.close, row), spec)
            made.append(row if isinstance(argnums, tuple) else row[0])
        jacobian = tree_unflatten(made, out_spec)
        return (jacobian, tree_map(level.close, aux)) if has_aux else jacobian
    return wrapper


def _jacobian(y, inputs, chunk_size):
    from torchish import eye
    basis = eye(y.numel(), dtype=y.dtype, device=y.device).reshape(-1, *y.shape)
    if chunk_size == 1:         # no vmap: what can't be mapped works too
        from torchish import stack
        grads = map(stack, zip(*[_gradients([y], inputs, [row]) for row in basis]))
    else:
        grads = vmap(lambda row: _gradients([y], inputs, [row]), chunk_size=chunk_size)(basis)
    return [g.reshape(*y.shape, *x.shape) for g, x in zip(grads, inputs)]
