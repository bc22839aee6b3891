"""What a node shows of what it saved: `grad_fn._saved_*` by PyTorch's names, and what can be read after the graph was freed."""

import pytest


def shown(x):
    return x.tolist() if hasattr(x, "tolist") else [shown(y) for y in x] if isinstance(x, tuple) else str(x).replace("torchish", "torch")


CASES = {
    "mul": (lambda t, x: x * x, "self other"),
    "mul by a constant": (lambda t, x: x * t.full((2, 3), 2.0), "other"),
    "exp": (lambda t, x: x.exp(), "result"),
    "tanh": (lambda t, x: x.tanh(), "result"),
    "sin": (lambda t, x: x.sin(), "self"),
    "pow": (lambda t, x: x ** 3, "self exponent"),
    "sum": (lambda t, x: x.sum(), "self_sym_sizes"),
    "sum of a dimension": (lambda t, x: x.sum(1), "dim keepdim self_sym_sizes"),
    "mean": (lambda t, x: x.mean(), "self_sym_sizes"),
    "amax": (lambda t, x: x.amax(0), "self result dim keepdim"),
    "softmax": (lambda t, x: x.softmax(1), "result dim"),
    "cumsum": (lambda t, x: x.cumsum(1), "dim"),
    "view": (lambda t, x: x.view(3, 2), "self_sym_sizes"),
    "expand": (lambda t, x: x[:, :1].expand(2, 4), "self_sym_sizes"),
    "unsqueeze": (lambda t, x: x.unsqueeze(1), "dim"),
    "transpose": (lambda t, x: x.transpose(0, 1), "dim0 dim1"),
    "clamp": (lambda t, x: x.clamp(min=0.5), "self min max"),
    "max": (lambda t, x: x.max(1)[0], "indices dim keepdim"),
    "sort": (lambda t, x: x.sort(1)[0], "indices dim"),
    "leaky_relu": (lambda t, x: t.nn.functional.leaky_relu(x, 0.2), "self negative_slope"),
    "threshold": (lambda t, x: t.nn.functional.threshold(x, 1, 1), "self threshold"),
}


@pytest.mark.parametrize("name", CASES)
def test_saved_attributes(torch, recorded, name):
    f, names = CASES[name]
    x = torch.tensor([[0.25, 1.5, -1.0], [2.0, 0.75, 3.0]], requires_grad=True)
    node = f(torch, x).grad_fn
    recorded([shown(getattr(node, "_saved_" + n)) for n in names.split()])


def test_the_names_that_dir_lists(torch):
    x = torch.ones(2, 3, requires_grad=True)
    for y, names in ((x.exp(), "result"), (x.sum(1), "dim keepdim self_sym_sizes"), (x + 1, "alpha"), (x.clone(), ""),
                     (torch.addmm(x, x @ x.T, x), "alpha beta mat1 mat1_sym_sizes mat1_sym_strides mat2 mat2_sym_sizes mat2_sym_strides")):
        assert " ".join(n[7:] for n in dir(y.grad_fn) if n.startswith("_saved_")) == names
    with pytest.raises(AttributeError, match="has no attribute '_saved_self'"):
        x.exp().grad_fn._saved_self


def test_what_only_another_gradient_needs_is_none(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    assert (x * y).grad_fn._saved_self is None and (x * y).grad_fn._saved_other.tolist() == [1, 1]
    node = torch.hypot(x, y).grad_fn
    assert node._saved_self.tolist() == [1, 1] and node._saved_other is None


def test_facts_outlive_the_graph(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x.amax(-1)
    y.sum().backward()
    assert y.grad_fn._saved_dim == (2 ** 64 - 1,)
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._saved_self
