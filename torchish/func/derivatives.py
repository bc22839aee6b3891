"""Derivatives of functions, over the tape.

Each transform runs its function on fresh inputs and differentiates with a graph, so transforms nest. A result requires grad
only if something outside the transform does: an input, or a tensor that the function closes over.
"""

import functools

from torchish import autograd
from torchish.autograd.dual import check_size
from torchish.autograd.graph import AccumulateGrad
from torchish.tensor import Tensor
from torchish.utils._pytree import tree_flatten, tree_map, tree_unflatten

_GRAD = "grad_and_value(f)(*args)"


def _tensors(leaves, text="Thing passed to transform API must be Tensor, got {}", error=ValueError):
    for x in leaves:
        if not isinstance(x, Tensor):
            raise error(text.format(type(x)))
    return leaves


class _Level:
    """One run of a function: its fresh inputs, and what of its results belongs to the outside."""

    def __init__(self):
        self.outer = autograd.is_grad_enabled()
        self.fresh = {}    # id -> fresh leaf, alive for as long as the level is

    def open(self, x):
        """`x` as an input of this level, tied to its own history if it has one."""
        if self.outer and x.requires_grad:
            return x.view_as(x)
        leaf = x.detach().requires_grad_()
        self.fresh[id(leaf)] = leaf
        return leaf

    def close(self, x):
        """A result without the history that ends in this level alone."""
        if not isinstance(x, Tensor) or not x.requires_grad:
            return x
        return x if self.outer and self._from_outside(x) else x.detach()

    def _from_outside(self, x):
        if x.grad_fn is None:
            return id(x) not in self.fresh
        seen, todo = set(), [x.grad_fn]
        while todo:
            node = todo.pop()
            if isinstance(node, AccumulateGrad):
                if id(node.variable) not in self.fresh:
                    return True
                continue
            for below, _ in node.next_functions:
                if below is not None and below not in seen:
                    seen.add(below)
                    todo.append(below)
        return False


def _gradients(outputs, inputs, cotangents, **kw):
    """autograd.grad with a graph, zeros for what is not used."""
    pairs = [(y, ct) for y, ct in zip(outputs, cotangents) if y.requires_grad]
    if not pairs:
        batch = cotangents[0].shape[:1] if kw.get("is_grads_batched") else ()
        return [x.new_zeros((*batch, *x.shape)) for x in inputs]
    ys, cts = zip(*pairs)
    return autograd.grad(ys, inputs, cts, create_graph=True, materialize_grads=True, **kw)


def _chosen(argnums, args):
    """The positions, checked as PyTorch checks them."""
    many = isinstance(argnums, tuple)
    if not many and not isinstance(argnums, int):
        raise RuntimeError(f"argnum should be int or Tuple[int, ...], got: {argnums}")
    if many and not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = argnums if many else (argnums,)
    for k in places:
        if not -len(args) <= k < len(args):
            raise RuntimeError(f"Got argnum={k}, but only {len(args)} positional inputs")
    places = tuple(k % len(args) for k in places)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return places


def _opened(level, args, places):
    """(args with fresh tensors at the places, those tensors flat, the shape of args[places])."""
    leaves, spec = tree_flatten(tuple(args[k] for k in places))
    fresh = [level.open(x) for x in _tensors(leaves)]
    args = list(args)
    for k, new in zip(places, tree_unflatten(fresh, spec)):
        args[k] = new
    return args, fresh, spec


def _split_aux(out, has_aux, what):
    if not has_aux:
        return out, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise RuntimeError(f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True")
    _tensors(tree_flatten(out[1])[0], "Expected tensors, got unsupported type {}", RuntimeError)
    return out


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradients of the scalar `func`, its value or (value, aux))."""
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = _Level()
        with autograd.enable_grad():
            places = _chosen(argnums, args)
            opened, fresh, spec = _opened(level, args, places)
            out, aux = _split_aux(func(*opened, **kwargs), has_aux, _GRAD)
            if not isinstance(out, Tensor):
                raise RuntimeError(f"{_GRAD}: Expected f(*args) to return a Tensor, got {type(out)}")
            if out.dim():
                raise RuntimeError(f"{_GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} dims. Maybe you "
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


def vjp(func, *primals, has_aux=False):
    """(func(*primals), function from cotangents to gradients[, aux])."""
    level = _Level()
    with autograd.enable_grad():
        opened, fresh, spec = _opened(level, primals, range(len(primals)))
        out, aux = _split_aux(func(*opened), has_aux, "vjp(f, *primals)")
        outs, out_spec = tree_flatten(out)
        _tensors(outs, "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {}", RuntimeError)

    def pullback(cotangents, retain_graph=True, create_graph=None):
        """Gradients in the primals for these cotangents (a tuple of one primal is opened)."""
        cts, ct_spec = tree_flatten(cotangents)
        if ct_spec != out_spec:
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {ct_spec}, primal output: {out_spec}")
        level.outer = autograd.is_grad_enabled() if create_graph is None else create_graph
        with autograd.enable_grad():
            grads = _gradients(outs, fresh, cts, retain_graph=True)
        grads = tree_unflatten(map(level.close, grads), spec)
        return grads

    value = tree_unflatten(map(level.close, outs), out_spec)
    return (value, pullback, tree_map(level.close, aux)) if has_aux else (value, pullback)


def _same_structure(primals, tangents):
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    xs, spec = tree_flatten(primals)
    ts, other = tree_flatten(tangents)
    if spec != other:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
                           "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{spec} and tangents with structure {other}")
    for x, t in zip(_tensors(xs), _tensors(ts)):
        check_size(x, t)
    return ts


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative along the tangents[, aux]), as the derivative of a vjp in its cotangent."""
    ts = _same_structure(primals, tangents)
    level = _Level()
    with autograd.enable_grad():
        opened, fresh, _ = _opened(level, primals, range(len(primals)))
        out, aux = _split_aux(func(*opened), has_aux, "jvp(f, primals, tangents)")
        outs, spec = tree_flatten(out)
        _tensors(outs, "jvp(f, primals, tangents): Expected f(*primals) to return only tensors, got unsupported type {}", RuntimeError)
        along = _push(level, outs, fresh, ts)
    value, along = (tree_unflatten(map(level.close, leaves), spec) for leaves in (outs, along))
    return (value, along, tree_map(level.close, aux)) if has_aux else (value, along)


def _push(level, outs, fresh, tangents):
    cotangents = [level.open(y.new_zeros(y.shape)) for y in outs]
    pulled = _gradients(outs, fresh, cotangents)
    return _gradients(pulled, cotangents, tangents)


def linearize(func, *primals):
    """(func(*primals), the linear function from tangents to derivatives there)."""
    def push(*tangents):
        return jvp(func, primals, tangents)[1]
    return func(*primals), push


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func` in the arguments `argnums`: output's shape, then the input's."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = _Level()
        with autograd.enable_grad():
            places = _chosen(argnums, args)
            opened, fresh, spec = _opened(level, args, places)
            out, aux = _split_aux(func(*opened, **kwargs), has_aux, "jacrev(f, *args)")
            outs, out_spec = tree_flatten(out)
            _tensors(outs, "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {}", RuntimeError)
            rows = [_jacobian(y, fresh) for y in outs]
        made = []
        for row in rows:
            row = tree_unflatten(map(level.close, row), spec)
            made.append(row if isinstance(argnums, tuple) else row[0])
        jacobian = tree_unflatten(made, out_spec)
        return (jacobian, tree_map(level.close, aux)) if has_aux else jacobian
    return wrapper


def _jacobian(y, inputs):
    from torchish import eye
    basis = eye(y.numel(), dtype=y.dtype, device=y.device).reshape(-1, *y.shape)
    grads = _gradients([y], inputs, [basis], is_grads_batched=True)
    return [g.reshape(*y.shape, *x.shape) for g, x in zip(grads, inputs)]


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The same Jacobian as jacrev's, which computes it: a reverse pass is one program here, whichever way it is asked for."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    """A function that returns the second derivatives of `func`."""
    return jacfwd(jacrev(func, argnums), argnums)
