"""Gradients as a whole: broadcasting, symmetry, the functional forms, and kinks beyond `test_numbers`."""

import numpy as np
import pytest
from checks import agree
from hypothesis import given
from hypothesis import strategies as st

shapes = st.lists(st.integers(1, 4), max_size=3).map(tuple)
numbers = st.floats(-3, 3, allow_subnormal=False).map(lambda v: round(v, 3))


def arrays(shape):
    size = int(np.prod(shape))
    return st.lists(numbers, min_size=size, max_size=size).map(lambda v: np.array(v).reshape(shape))


@given(data=st.data(), shape=shapes)
def test_broadcasting_and_its_gradient(torch, data, shape):
    thin = tuple(data.draw(st.sampled_from([1, n])) for n in shape)[data.draw(st.integers(0, len(shape))) :]
    a, b = data.draw(arrays(shape)), data.draw(arrays(thin))
    x, y = (torch.tensor(v, requires_grad=True) for v in (a, b))
    out = x * y + y
    agree(out.tolist(), (a * b + b).tolist(), rtol=4e-16, atol=4e-16)  # XLA may contract a * b + b into one rounding
    out.sum().backward()
    extra = tuple(range(len(shape) - len(thin)))
    back = (a + 1).sum(axis=extra)
    ones = tuple(i for i, n in enumerate(thin) if n == 1)
    agree(y.grad.tolist(), back.sum(axis=ones, keepdims=True).tolist() if ones else back.tolist(), rtol=1e-9, atol=1e-9)
    agree(x.grad.tolist(), np.broadcast_to(b, shape).tolist())


@given(a=arrays((3, 3)))
def test_second_derivatives_are_symmetric(torch, a):
    x = torch.tensor(a, requires_grad=True)
    f = (x @ x.t()).tanh().sum() + (x[0] * x[1]).sin().prod()
    (g,) = torch.autograd.grad(f, x, create_graph=True)
    (rows,) = torch.autograd.grad(g.reshape(-1), x, torch.eye(9, dtype=torch.float64).view(9, 9), is_grads_batched=True)
    hessian = rows.reshape(9, 9)
    assert torch.allclose(hessian, hessian.t(), atol=1e-9)


KINKS = {
    "max ties": lambda x: x.expand(3).max().view(1),
    "max(dim) ties": lambda x: x.expand(3).max(0).values.view(1),
    "median ties": lambda x: x.expand(4).median().view(1),
    "atan2 of equals": lambda x: x.atan2(x),
    "prod with zeros": lambda x: (x * x.expand(2)).prod().view(1),
    "masked pole": lambda x: x.new_zeros(1).where(x == 0, 1 / x),
    "fmod": lambda x: x.fmod(2),
    "clone and maximum": lambda x: x.clone().maximum(x.detach()),
}


@pytest.mark.parametrize("which", KINKS)
def test_kinks(torch, recorded, which):
    rows = []
    for point in (0.0, 1.0, -1.0):
        x = torch.tensor([point], requires_grad=True)
        y = KINKS[which](x)
        y.sum().backward()
        rows.append([y, x.grad])
    recorded(str([[v.tolist() for v in row] for row in rows]))


def test_functional(torch):
    def f(x):
        return (x**3).sum()

    x = torch.tensor([1.0, 2.0])
    assert torch.autograd.functional.hessian(f, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert torch.autograd.functional.jacobian(lambda v: v**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert torch.func.grad(f)(x).tolist() == [3.0, 12.0]
    assert torch.func.vmap(torch.func.grad(f))(x.view(2, 1)).tolist() == [[3.0], [12.0]]
    assert torch.autograd.gradcheck(lambda v: v.sin() * v, torch.tensor([0.3], dtype=torch.float64, requires_grad=True))


def test_the_graph_of_a_gradient_is_one_node():
    """Listed in docs/deviations.md: PyTorch has a node for each operation of the backward pass."""
    import torchish

    x = torchish.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torchish.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    assert g.requires_grad and {type(node).__name__ for node, _ in g.grad_fn.next_functions} <= {
        "AccumulateGrad", "SinBackward0", "MulBackward0"}
    agree(torchish.autograd.grad(g.sum(), x)[0].tolist(), (2 * x.cos() - x * x.sin()).tolist())
