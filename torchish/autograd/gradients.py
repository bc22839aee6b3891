"""`backward` and `grad`: arguments checked as PyTorch checks them."""

import warnings

from torchish import program
from torchish.autograd.batching import enter, leave, level_of
from torchish.autograd.dispatch import CAST, apply
from torchish.autograd.engine import execute
from torchish.autograd.graph import AccumulateGrad, Node, edge_of
from torchish.autograd.modes import state
from torchish.autograd.saved_hooks import GradientEdge
from torchish.ops import TABLE
from torchish.tensor import Tensor

_CREATE_GRAPH = ("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
                 "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
                 "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
                 "the cycle and avoid the leak.")
warn_always = False
_warned = set()


def warn_once(text):
    """UserWarning, once a process unless `set_warn_always(True)`."""
    if warn_always or text not in _warned:
        _warned.add(text)
        warnings.warn(text, UserWarning, stacklevel=3)


def _as_tuple(x):
    x = (x,) if isinstance(x, (Tensor, GradientEdge)) or not hasattr(x, "__iter__") else x
    return tuple([_standing_for(t) if isinstance(t, GradientEdge) else t for t in x])


def _standing_for(edge):
    """The leaf of an edge, or a tensor without contents whose gradient goes there."""
    if isinstance(edge.node, AccumulateGrad):
        return edge.node.variable
    t = Tensor._wrap(None, edge.node.outs[edge.output_nr])
    t._fn, t._nr = edge[:2]
    return t


def _make_grads(outputs, grads, batched):
    made = []
    for i, (out, g) in enumerate(zip(outputs, grads)):
        if g is None:
            if out.requires_grad:
                if out.numel() != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if out.dtype.is_complex:
                    raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
                g = Tensor._of(program.record(TABLE["full"], (1.0,), (out._aval.shape, out.dtype))) if state.below is None else \
                    state.below.made("ones_like", out)
            made.append(g)
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        shape = g._aval.shape[1:] if batched else g._aval.shape
        if shape != out._aval.shape:
            if batched:
                raise RuntimeError(f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
                                   f"batch dimension. The sizes of the remaining dimensions are expected to match the shape of "
                                   f"corresponding output, but a mismatch was detected: grad_output[{i}] has a shape of "
                                   f"{g.shape} and output[{i}] has a shape of {out.shape}. If you only want some tensors in "
                                   f"`grad_output` to be considered batched, consider using vmap.")
            raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                               f"{out.shape}.")
        if out.dtype.is_complex != g.dtype.is_complex:
            raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
                               f"in dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {out.dtype}.")
        made.append(g)
    return made


def _roots(outputs):
    roots = []
    for i, out in enumerate(outputs):
        e = edge_of(out) if isinstance(out, Tensor) else None
        if e is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        roots.append(e)
    return roots


def _cast_to(outputs, grads):
    return [apply(CAST, (g,), (o.dtype,)) if g is not None and g.dtype is not o.dtype else g for o, g in zip(outputs, grads)]


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Sum of gradients of `tensors` into the leaves' `.grad` (SEMANTICS 2, 3)."""
    if state.transforms:
        raise RuntimeError("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                           "functorch.vjp instead or call backward() outside of functorch transforms.")
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        grad_tensors = grad_variables
    outputs = _as_tuple(tensors)
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    grads = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    grads = _make_grads(outputs, grads, False)
    if create_graph:
        warn_once(_CREATE_GRAPH)
    program.mark()
    roots = _roots(outputs)
    keep = create_graph if retain_graph is None else retain_graph
    grads = _cast_to(outputs, grads)
    capture = None
    if inputs is not None:
        capture = {}
        for t in inputs:
            if not t.requires_grad:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            if t.grad_fn is not None and not t._retains:
                t.retain_grad()
            capture.setdefault(edge_of(t), []).append(t)
    execute(roots, grads, capture, keep, create_graph, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """Gradients of the sum of `outputs` with respect to `inputs`: always a tuple, aligned with `inputs`."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if allow_unused is None:
        allow_unused = materialize_grads
    outputs = _as_tuple(outputs)
    given = tuple(inputs) if hasattr(inputs, "__iter__") and not isinstance(inputs, (Tensor, GradientEdge)) else (inputs,)
    inputs = _as_tuple(given)
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
                      "other parts of the graph, please use torch.autograd.backward.", FutureWarning, stacklevel=2)
    grad_outputs = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    if len(grad_outputs) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grad_outputs)} gradients")
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    grads = _make_grads(outputs, grad_outputs, is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outputs, inputs, grads, keep, create_graph, allow_unused, materialize_grads)
    roots = _roots(outputs)
    grads = _cast_to(outputs, grads)
    edges = []
    for t, source in zip(inputs, given):
        if isinstance(t, Node):
            edges.append((t, 0))
            continue
        if isinstance(source, GradientEdge):
            edges.append(source[:2])
            continue
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge_of(t))
    found = execute(roots, grads, dict.fromkeys(e for e in edges if e is not None), keep, create_graph, False)
    results = []
    for i, (t, e) in enumerate(zip(inputs, edges)):
        g = found.get(e)
        if g is None and not allow_unused:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                               "allow_unused=True if this is the desired behavior.")
        if g is None and materialize_grads:
            if isinstance(given[i], GradientEdge):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            g = Tensor._of(program.record(TABLE["full"], (0,), (t._aval.shape, t.dtype)))
            g._req = create_graph
        elif g is not None and not create_graph and g.requires_grad:
            g = g.detach()
        results.append(g)
    return tuple(results)


def _batched(outputs, inputs, grads, keep, create, allow_unused, materialize):
    """One pass for all entries of the batch."""
    n = next(g._aval.shape[0] for g in grads if g is not None)
    with level_of(n, "legacy") as level:
        found = grad(outputs, inputs, [None if g is None else enter(g, level, 0) for g in grads], retain_graph=keep,
                     create_graph=create, allow_unused=allow_unused, materialize_grads=materialize)
        return tuple([None if g is None else leave(g, level, 0) for g in found])
