"""Which tensors are leaves, and who requires gradients."""

import pytest
from checks import raises


def flags(t):
    return t.is_leaf, t.requires_grad, t.grad_fn is None


def test_leaves_and_results(torch):
    x = torch.ones(3, requires_grad=True)
    assert flags(torch.ones(3)) == (True, False, True)
    assert flags(x) == (True, True, True)
    assert flags(x * 2) == (False, True, False)
    assert flags(torch.ones(3) * 2) == (True, False, True)
    assert flags((x * 2).detach()) == (True, False, True)
    assert flags(x.data) == (True, False, True)
    assert flags(x.clone()) == (False, True, False)


def test_a_conversion_that_does_nothing_is_the_same_object(torch):
    x = torch.ones(3, requires_grad=True)
    for same in (x.float(), x.to(torch.float32), x.cpu(), x.contiguous()):
        assert same is x
    assert flags(x.double()) == (False, True, False)


@pytest.mark.parametrize("op", ["__gt__", "argmax", "isnan", "long", "bool"])
def test_results_without_a_gradient(torch, op):
    x = torch.ones(3, requires_grad=True)
    result = x > 0 if op == "__gt__" else getattr(x, op)()
    assert flags(result) == (True, False, True)


@pytest.mark.parametrize("op", ["sign", "floor", "round", "trunc", "ceil"])
def test_steps_have_a_zero_gradient(torch, op):
    x = torch.tensor([0.3, -1.7], requires_grad=True)
    getattr(x, op)().sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_nothing_is_recorded_under_no_grad(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert flags(x * 2) == (True, False, True)
        assert flags(torch.ones(2, requires_grad=True)) == (True, True, True)
    assert (x * 2).requires_grad
    with torch.no_grad(), torch.enable_grad():
        assert (x * 2).requires_grad


def test_grad_modes_as_decorators(torch):
    x = torch.ones(1, requires_grad=True)

    @torch.no_grad()
    def quiet():
        return x * 2

    @torch.no_grad
    def bare():
        return x * 2

    assert not quiet().requires_grad and not bare().requires_grad and torch.is_grad_enabled()
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)


def test_factories_do_not_inherit(torch):
    x = torch.ones(3, requires_grad=True)
    for made in (torch.zeros_like(x), x.new_zeros(2), torch.ones_like(x), torch.empty_like(x)):
        assert not made.requires_grad


def test_flags_that_may_not_change(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with raises(RuntimeError, "you can only change requires_grad flags of leaf variables."):
        y.requires_grad = False
    assert y.requires_grad_() is y
    with pytest.raises(AttributeError):
        y.is_leaf = True
    n = torch.arange(3)
    with raises(RuntimeError, "only Tensors of floating point and complex dtype can require gradients"):
        n.requires_grad = True
    with raises(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        n.requires_grad_()
    with raises(RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
        torch.tensor([1, 2], requires_grad=True)


def test_node_names(torch):
    x = torch.ones(2, 2, requires_grad=True)
    expected = {
        "AddBackward0": x + 1, "MulBackward0": x * 2, "RsubBackward1": 1 - x, "PowBackward0": x**2,
        "SumBackward0": x.sum(), "SumBackward1": x.sum(0), "MeanBackward0": x.mean(), "MmBackward0": x @ x,
        "TBackward0": x.t(), "SelectBackward0": x[0], "SliceBackward0": x[:, 0:1], "ViewBackward0": x.view(4),
        "TanhBackward0": x.tanh(), "DivBackward0": x / 2, "NegBackward0": -x, "CatBackward0": torch.cat([x, x]),
        "IndexBackward0": x[x > 0], "ToCopyBackward0": x.double(), "CloneBackward0": x.clone(),
        "PermuteBackward0": x.permute(1, 0), "UnsqueezeBackward0": x.unsqueeze(0), "ExpBackward0": x.exp(),
    }  # fmt: skip
    assert {key: t.grad_fn.name() for key, t in expected.items()} == {key: key for key in expected}
    names = {
        "RemainderBackward0": x % 2, "RemainderBackward1": x % torch.ones(2), "PowBackward1": x ** torch.ones(2), "PowBackward2": 2 ** x,
        "MaskedFillBackward0": x.masked_fill(x > 0, 2.0), "MaskedFillBackward1": x.masked_fill(x > 0, torch.tensor(2.0)),
        "FillBackward0": torch.fill(x, 2.0), "FillBackward2": x.clone().fill_(2.0), "FillBackward3": x.clone().fill_(torch.tensor(2.0)),
        "torch::autograd::NotImplemented": 2 % x,
    }  # fmt: skip
    assert {key: t.grad_fn.name() for key, t in names.items()} == {key: key for key in names}
    (edge,) = [next_fn for next_fn, _ in (x * 2).grad_fn.next_functions if next_fn is not None]
    assert type(edge).__name__ == "AccumulateGrad" and edge.variable is x


def test_node_names_of_writes_by_operators(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    a, b, c = x.clone(), x.clone(), x.clone()
    a %= y
    b **= y
    c %= 2
    assert [t.grad_fn.name() for t in (a, b, c)] == ["RemainderBackward1", "PowBackward1", "RemainderBackward0"]


def test_remainder_of_a_number_has_no_derivative(torch):
    x = torch.ones(2, requires_grad=True)
    with raises(RuntimeError, "derivative for aten::remainder is not implemented"):
        (2.0 % x).sum().backward()
