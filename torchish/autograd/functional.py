"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, for functions of tensors."""

import math

from torchish.autograd import gradients
from torchish.autograd.dispatch import apply
from torchish.autograd.graph import AccumulateGrad, edge_of
from torchish.autograd.modes import enable_grad, set_grad_enabled, state
from torchish.ops import TABLE
from torchish.tensor import Tensor

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

OUTPUTS = "outputs of the user-provided function"

# what strict mode refuses: a quantity that does not require grad, by kind
CONSTANT = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
               "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is "
                   "not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
                "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
                "example).",
    "hessian": "The hessian of the user-provided function with respect to input {i} is independent of the input. This is not "
               "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian depends "
               "on the inputs.",
}
UNUSED = "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
# and a gradient that is missing, or (with create_graph) constant, by the stage that computed it
MISSING = {
    "back": UNUSED,
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
                  "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not "
                         "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}
NO_GRAPH = ("The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
            "create_graph=True.")


# --- arguments and results -------------------------------------------------------------------------------------------

def _tensors(x, what, function):
    """(whether a tuple was given, the tensors as a tuple)."""
    is_tuple = isinstance(x, tuple)
    x = x if is_tuple else (x,)
    for i, t in enumerate(x):
        if not isinstance(t, Tensor):
            where = f"value at index {i}" if is_tuple else f"given {what}"
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {where} has type "
                            f"{type(t)}.")
    return is_tuple, x


def _fresh(tensors, create_graph, requires_grad=True):
    """The tensors as new objects to differentiate by: connected to the caller's graph if a graph is to be created."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(requires_grad) for t in tensors)


def _result(tensors, is_tuple, create_graph):
    tensors = tensors if create_graph else tuple(t.detach() for t in tensors)
    return tensors if is_tuple else tensors[0]


def _table(rows, outputs_tuple, inputs_tuple, create_graph):
    """A Jacobian, a row an output: nested as the outputs and inputs are."""
    rows = tuple(_result(row, inputs_tuple, create_graph) for row in rows)
    return rows if outputs_tuple else rows[0]


def _vector(v, like, like_tuple, function, create_graph, needed):
    """The vector checked against what it multiplies; None stands for 1 where there is a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {needed} a single Tensor with a single element.")
        return None
    v = _fresh(_tensors(v, "v", function)[1], create_graph, False)
    if len(v) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}." if like_tuple else
                           "The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            entry = f"Entry {i} in " if like_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {b.size()} but got {a.size()}.")
    return v


def _need_grad(tensors, kind, strict):
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(UNUSED.format(i=i))
        if not t.requires_grad:
            raise RuntimeError(CONSTANT[kind].format(i=i))


def _grad(outputs, inputs, vectors=None, create_graph=False, retain_graph=None, batched=False):
    """autograd.grad that leaves out what requires no grad; None where an input is not used."""
    pairs = [(o, v) for o, v in zip(outputs, vectors or (None,) * len(outputs)) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, vectors = zip(*pairs)
    return gradients.grad(outputs, inputs, vectors, retain_graph, create_graph, allow_unused=True, is_grads_batched=batched)


def _filled(grads, refs, strict, create_graph, stage):
    """Zeros for missing gradients; strict mode refuses those, and constant ones."""
    out = []
    for i, (g, ref) in enumerate(zip(grads, refs)):
        if g is None:
            if strict:
                raise RuntimeError(MISSING[stage].format(i=i))
            g = _zeros(ref)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(NO_GRAPH.format(what="hessian" if stage.startswith("double") else "jacobian", i=i))
        out.append(g)
    return tuple(out)


def _zeros(like, *leading):
    return like.new_zeros((*leading, *like.shape))


def _basis(tensors):
    """Unit vectors of the tensors laid end to end, one block of columns a tensor."""
    total, start, blocks = sum(t.numel() for t in tensors), 0, []
    for t in tensors:
        block = t.new_zeros((total, t.numel()))
        block.diagonal(-start).fill_(1)
        blocks.append(block)
        start += t.numel()
    return tuple(blocks)


# --- products --------------------------------------------------------------------------------------------------------

def _evaluate(func, inputs, function, create_graph, strict):
    """The function at fresh inputs: (inputs were a tuple, inputs, outputs are a tuple, outputs)."""
    inputs_tuple, inputs = _tensors(inputs, "inputs", function)
    inputs = _fresh(inputs, create_graph)
    outputs_tuple, outputs = _tensors(func(*inputs), OUTPUTS, function)
    _need_grad(outputs, "outputs", strict)
    return inputs_tuple, inputs, outputs_tuple, outputs


def _single(outputs, is_tuple, function):
    """Hessian products need a scalar function."""
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J) of `func` at `inputs`."""
    with enable_grad():
        inputs_tuple, inputs, outputs_tuple, outputs = _evaluate(func, inputs, "vjp", create_graph, strict)
        v = _vector(v, outputs, outputs_tuple, "vjp", create_graph, "the user-provided function returns")
    with set_grad_enabled(create_graph or state.grad):
        product = _filled(_grad(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return _result(outputs, outputs_tuple, create_graph), _result(product, inputs_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v) of `func` at `inputs`: u^T J is linear in u, and its derivative by u is J."""
    with enable_grad():
        given_tuple, given = _tensors(inputs, "inputs", "jvp")
        v = _vector(v, given, given_tuple, "jvp", create_graph, "the input to the user-provided function is")
        _, inputs, outputs_tuple, outputs = _evaluate(func, inputs, "jvp", create_graph, strict)
        u = tuple(_zeros(o).requires_grad_() for o in outputs)
        pulled = _grad(outputs, inputs, u, create_graph=True)
        _need_grad(pulled, "grad_inputs", strict)
    with set_grad_enabled(create_graph or state.grad):
        product = _filled(_grad(pulled, u, v, create_graph), outputs, strict, create_graph, "back_trick")
    return _result(outputs, outputs_tuple, create_graph), _result(product, outputs_tuple, create_graph)


def _hessian_product(func, inputs, v, create_graph, strict, function):
    """Both products; `hvp` goes through the transpose of the transpose, as PyTorch does."""
    with enable_grad():
        given_tuple, given = _tensors(inputs, "inputs", function)
        v = _vector(v, given, given_tuple, function, create_graph, "the input to the user-provided function is")
        inputs_tuple, inputs, outputs_tuple, outputs = _evaluate(func, inputs, function, create_graph, strict)
        _single(outputs, outputs_tuple, function)
        jac = _grad(outputs, inputs, create_graph=True)
        _need_grad(jac, "jacobian", strict)
        sources, targets, stage = jac, inputs, "double_back"
        if function == "hvp":
            u = tuple(_zeros(t).requires_grad_() for t in inputs)
            sources, targets, stage = _grad(jac, inputs, u, create_graph=True), u, "double_back_trick"
            _need_grad(jac, "hessian", strict)
    with set_grad_enabled(create_graph or state.grad):
        product = _filled(_grad(sources, targets, v, create_graph), inputs, strict, create_graph, stage)
    return _result(outputs, outputs_tuple, create_graph), _result(product, inputs_tuple, create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H) of a scalar function."""
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v) of a scalar function; `vhp` is cheaper and, H being symmetric, the same."""
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


# --- whole matrices --------------------------------------------------------------------------------------------------

def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """d outputs / d inputs: shape of the output, then of the input; nested tuples where either is a tuple."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
                             'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
                             '"reverse-mode".')
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        inputs_tuple, inputs, outputs_tuple, outputs = _evaluate(func, inputs, "jacobian", create_graph, strict)
        if vectorize:
            if strict:
                raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                                   "together. Please either set `strict=False` or `vectorize=False`.")
            rows = _all_rows(outputs, inputs, create_graph)
        else:
            rows = [_rows(i, out, inputs, create_graph, strict) for i, out in enumerate(outputs)]
        return _table(rows, outputs_tuple, inputs_tuple, create_graph)


def _rows(number, out, inputs, create_graph, strict):
    """The Jacobians of one output by every input, one backward pass an element."""
    columns = [[] for _ in inputs]
    flat = out.reshape(-1)
    for j in range(out.numel()):
        for i, (column, g, t) in enumerate(zip(columns, _grad((flat[j],), inputs, None, create_graph, True), inputs)):
            if g is None and strict:
                raise RuntimeError(f"Output {number} of the user-provided function is independent of input {i}. This is not allowed "
                                   "in strict mode.")
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError(NO_GRAPH.format(what="jacobian", i=number))
            column.append(_zeros(t) if g is None else g)
    return tuple(apply(TABLE["stack"], column, (0,)).view(out.shape + t.shape) for column, t in zip(columns, inputs))


def _all_rows(outputs, inputs, create_graph):
    """The Jacobians of every output in one batched backward pass."""
    sizes = [o.numel() for o in outputs]
    pulled = _grad([o.reshape(-1) for o in outputs], inputs, _basis(outputs), create_graph, batched=True)
    pulled = [_zeros(t, sum(sizes)) if g is None else g for g, t in zip(pulled, inputs)]
    blocks = [g.split(sizes, 0) for g in pulled]
    return [tuple(b[i].reshape(o.shape + t.shape) for b, t in zip(blocks, inputs)) for i, o in enumerate(outputs)]


def _forward_jacobian(func, inputs, create_graph, strict, vectorize):
    """A column an input element: J v for every unit vector v, by the transposed pass that `jvp` uses."""
    for flag, on in (("create_graph=True", create_graph), ("strict=True", strict)):
        if on:
            kind = NotImplementedError if flag.startswith("create") else RuntimeError
            raise kind(f'torch.autograd.functional.jacobian: `{flag}` and `strategy="forward-mode"` are not supported together '
                       f'(yet). Please either set `{flag.replace("True", "False")}` or `strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                  "`vectorize=True`.")
    with enable_grad():
        inputs_tuple, inputs, outputs_tuple, outputs = _evaluate(func, inputs, "jacobian", True, False)
        u = tuple(_zeros(o).requires_grad_() for o in outputs)
        pulled = [g if g is not None else _zeros(t) for g, t in zip(_grad(outputs, inputs, u, create_graph=True), inputs)]
        columns = _all_rows(pulled, u, True)
        rows = [tuple(_transposed(column[i], t.ndim, o.shape + t.shape) for column, t in zip(columns, inputs))
                for i, o in enumerate(outputs)]
    own = {edge_of(t)[0] for t in (*inputs, *u)}
    rows = [tuple(t if _leads_outside(t, own) else t.detach() for t in row) for row in rows]
    return _table(rows, outputs_tuple, inputs_tuple, True)


def _leads_outside(t, own):
    """Whether a result depends on a leaf that is not one of our own."""
    edge = edge_of(t)
    stack = [] if edge is None else [edge[0]]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad) and node not in own:
            return True
        for e in node.edges:
            if e is not None and e[0] not in seen:
                seen.add(e[0])
                stack.append(e[0])
    return False


def _transposed(block, n, shape):
    """The first `n` dimensions moved behind the others."""
    return block.permute(*range(n, block.ndim), *range(n)).reshape(shape) if math.prod(shape) else block.new_zeros(shape)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Second derivatives of a scalar function: the Jacobian of its Jacobian."""
    inputs_tuple, inputs = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*xs):
        is_tuple, outputs = _tensors(func(*xs), OUTPUTS, "hessian")
        _need_grad(outputs, "outputs", strict)
        _single(outputs, is_tuple, "hessian")
        return outputs[0].squeeze()

    def first(*xs):
        jac = jacobian(scalar, xs, create_graph=True)
        _need_grad(jac, "jacobian", strict)
        return jac

    rows = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if inputs_tuple else rows[0][0]


# --- private names that public libraries import (pytorch-minimize) ----------------------------------------------------

def _construct_standard_basis_for(tensors, tensor_numels):
    return _basis(tensors)


def _as_tuple(inp, arg_name, fn_name):
    return _tensors(inp, arg_name, fn_name)


def _grad_postprocess(inputs, create_graph):
    """Without `create_graph`, the tensors (or tuples of tensors) detached."""
    if create_graph or not inputs:
        return inputs
    return tuple([_grad_postprocess(x, create_graph) if isinstance(x, tuple) else x.detach() for x in inputs])


def _tuple_postprocess(inp, to_unpack):
    """Tuples of one taken apart again; `to_unpack` says for each level whether it was a tuple before."""
    if isinstance(to_unpack, tuple):
        inner = tuple([_tuple_postprocess(x, to_unpack[1]) for x in inp])
        return inner if to_unpack[0] else inner[0]
    return inp if to_unpack else inp[0]
