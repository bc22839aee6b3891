"""Expensive rows: their backward uses what the forward computed."""

import jax
import numpy as np
import pytest

import torchish as torch
from torchish.autograd.graph import OpNode
from torchish.ops import TABLE
from torchish.program import Value

HEAVY = {"svd", "eigh", "cholesky", "lu", "qr", "geqrf", "eig", "schur", "householder_product"}
SORTING = {"sort", "quantile", "topk", "median"}     # elsewhere a sort inverts the permutation of an LU decomposition
B = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]], dtype=torch.float64)
CALLS = {
    "svd": lambda a: torch.linalg.svd(a)[1], "svdvals": torch.linalg.svdvals, "eigh": lambda a: torch.linalg.eigh(a)[0],
    "eigvalsh": torch.linalg.eigvalsh, "eig": lambda a: torch.linalg.eig(a)[0].abs(), "eigvals": lambda a: torch.linalg.eigvals(a).abs(),
    "cholesky": torch.linalg.cholesky, "qr": lambda a: torch.linalg.qr(a)[1], "solve": lambda a: torch.linalg.solve(a, B),
    "det": torch.linalg.det, "slogdet": lambda a: torch.linalg.slogdet(a)[1], "logdet": torch.logdet, "inv": torch.linalg.inv,
    "pinv": torch.linalg.pinv, "lstsq": lambda a: torch.linalg.lstsq(a, B)[0], "matrix_norm": lambda a: torch.linalg.matrix_norm(a, 2),
    "cond": torch.linalg.cond, "lu": lambda a: torch.linalg.lu(a)[2], "lu_factor": lambda a: torch.linalg.lu_factor(a)[0],
    "matrix_exp": torch.linalg.matrix_exp, "sort": lambda a: a.sort()[0], "quantile": lambda a: a.quantile(0.3),
    "topk": lambda a: a.topk(2)[0], "median": lambda a: a.median()}


def matrix():
    a = np.random.default_rng(0).standard_normal((3, 3))
    return torch.tensor(a @ a.T + np.eye(3)).requires_grad_()


def primitives(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for value in eqn.params.values():
            for inner in value if isinstance(value, (list, tuple)) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from primitives(inner)


def nodes(t):
    found, todo = set(), [t.grad_fn]
    while todo:
        node = todo.pop()
        if isinstance(node, OpNode) and node not in found:
            found.add(node)
            todo += [e[0] for e in node.edges if e is not None]
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_later_backward_does_not_decompose_again(name):
    y = CALLS[name](matrix())
    y.sum().item()
    used = set()
    for node in nodes(y):
        saved = node.opened()
        for op, picks, _ in node.pull.parts(tuple(range(len(node.edges))), False):
            cts = [torch.zeros(node.outs[i].shape, dtype=y.dtype) if node.outs[i].dtype == float else
                   torch.zeros(node.outs[i].shape, dtype=torch.complex128) for i in node.pull.float_outs]
            values = [x._value if isinstance(x, torch.Tensor) else x for x in (*[saved[i] for i in picks], *cts)]
            avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) if isinstance(v, Value) else v for v in values]
            with jax.enable_x64(True):
                used |= set(primitives(jax.make_jaxpr(lambda *xs, op=op: op.call(xs, ()))(*avals).jaxpr))
    assert used
    assert sorted(used & (HEAVY | {"sort"} if name in SORTING else HEAVY)) == []


@pytest.mark.parametrize("how", ["at once", "later", "live"])
@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_is_that_of_the_plain_row(name, how):
    def gradients():
        a = matrix()
        y = CALLS[name](a)
        if how == "live":
            y.grad_fn.register_hook(lambda *grads: None)
        s = (y * y).sum()
        if how == "later":
            s.item()
        return [torch.autograd.grad(s, a, retain_graph=True)[0], torch.autograd.grad(s, a, create_graph=True)[0]]

    kept = gradients()
    rows = [row for row in TABLE.values() if row.keeps]
    assert rows
    try:
        for row in rows:
            row.keeps = False
        plain = gradients()
    finally:
        for row in rows:
            row.keeps = True
    for a, b in zip(kept, plain):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_kept_with_vmap_hooks_and_freeing():
    batch = torch.stack([matrix().detach(), 2 * matrix().detach()])
    mapped = torch.vmap(torch.func.grad(lambda a: torch.logdet(a)))(batch)
    np.testing.assert_allclose(mapped.numpy(), torch.linalg.inv(batch).mT.numpy(), rtol=1e-9, atol=1e-12)
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        a = matrix()
        torch.linalg.det(a).backward()
    assert seen and a.grad is not None
    y = torch.linalg.det(matrix())
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
