"""Values and gradients of operations, against NumPy and against differences of the values."""

import math

import numpy as np
import pytest
from checks import agree
from hypothesis import given
from hypothesis import strategies as st

UNARY = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "expm1": np.expm1, "tanh": np.tanh, "sinh": np.sinh,
    "cosh": np.cosh, "atan": np.arctan, "asinh": np.arcsinh, "square": np.square, "abs": np.abs, "neg": np.negative,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "exp2": np.exp2, "sinc": np.sinc, "sign": np.sign, "floor": np.floor,
}  # fmt: skip
POSITIVE = {
    "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda a: a**-0.5, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "reciprocal": lambda a: 1 / a,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum, "atan2": np.arctan2,
    "hypot": np.hypot, "pow": np.power, "fmod": np.fmod, "remainder": np.mod, "logaddexp": np.logaddexp,
}  # fmt: skip
FLOAT = st.floats(-3, 3, allow_subnormal=False)
SHAPES = st.sampled_from([((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((4,), ()), ((2, 1, 3), (2, 1))])


@pytest.mark.parametrize("op", UNARY)
@given(values=st.lists(FLOAT, min_size=1, max_size=4))
def test_unary(torch, op, values):
    a = np.array(values)
    agree(getattr(torch, op)(torch.from_numpy(a)).tolist(), UNARY[op](a).tolist(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("op", POSITIVE)
@given(values=st.lists(st.floats(0.01, 50), min_size=1, max_size=4))
def test_unary_of_positive(torch, op, values):
    a = np.array(values)
    agree(getattr(torch, op)(torch.from_numpy(a)).tolist(), POSITIVE[op](a).tolist(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("op", BINARY)
@given(shapes=SHAPES, seed=st.integers(0, 9))
def test_binary_broadcasts(torch, op, shapes, seed):
    rng = np.random.default_rng(seed)
    a, b = (np.asarray(rng.uniform(0.2, 3, shape)) for shape in shapes)
    got = getattr(torch, op)(torch.from_numpy(a), torch.from_numpy(b))
    agree(got.tolist(), BINARY[op](a, b).tolist(), rtol=1e-9, atol=1e-12)


REDUCE = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min, "argmax": np.argmax, "cumsum": np.cumsum, "prod": np.prod}


@pytest.mark.parametrize("op", REDUCE)
@given(dim=st.integers(-3, 2), seed=st.integers(0, 9))
def test_reductions(torch, op, dim, seed):
    a = np.random.default_rng(seed).standard_normal((2, 3, 4))
    agree(getattr(torch, op)(torch.from_numpy(a), dim).tolist(), REDUCE[op](a, dim).tolist(), rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 9), unbiased=st.booleans())
def test_spread(torch, seed, unbiased):
    a = np.random.default_rng(seed).standard_normal((3, 4))
    t = torch.from_numpy(a)
    agree(t.std(dim=1, unbiased=unbiased).tolist(), a.std(1, ddof=int(unbiased)).tolist(), rtol=1e-9)
    agree(t.var().item(), a.var(ddof=1), rtol=1e-9)
    agree(t.norm().item(), float(np.linalg.norm(a)), rtol=1e-9)
    agree(torch.linalg.vector_norm(t, 1, dim=0).tolist(), np.abs(a).sum(0).tolist(), rtol=1e-9)


MATRIX = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 1))]


@pytest.mark.parametrize("shapes", MATRIX, ids=str)
def test_matmul(torch, shapes):
    a, b = (np.random.default_rng(0).standard_normal(shape) for shape in shapes)
    agree((torch.from_numpy(a) @ torch.from_numpy(b)).tolist(), (a @ b).tolist(), rtol=1e-9)


def test_einsum_and_linalg(torch):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 3, 3))
    s, t = torch.from_numpy(a), torch.from_numpy(b)
    agree(torch.einsum("bij,bkj->bik", s, t).tolist(), np.einsum("bij,bkj->bik", a, b).tolist(), rtol=1e-9)
    agree(torch.linalg.det(s).tolist(), np.linalg.det(a).tolist(), rtol=1e-9)
    agree(torch.linalg.solve(s, t).tolist(), np.linalg.solve(a, b).tolist(), rtol=1e-7)
    agree(torch.inverse(s).tolist(), np.linalg.inv(a).tolist(), rtol=1e-7)


DIFFERENTIABLE = {
    "product": lambda t, x: (x.sin() * x.cos()).sum(),
    "power": lambda t, x: (x**3 - 2 * x**1.5 + 2**x).sum(),
    "quotient": lambda t, x: (x / (1 + x**2)).mean(),
    "softmax": lambda t, x: (x.softmax(0) * t.arange(4.0, dtype=x.dtype)).sum(),
    "logsumexp": lambda t, x: t.logsumexp(x, 0),
    "norm": lambda t, x: x.norm() * x.std(),
    "matmul": lambda t, x: (x.view(2, 2) @ x.view(2, 2).t().exp()).sum(),
    "index": lambda t, x: (x[[0, 0, 3]] * x[1:]).sum() * x[2],
    "where": lambda t, x: t.where(x > 0.8, x**2, 3 * x).sum(),
    "cat": lambda t, x: t.cat([x, x.flip(0) * x]).cumsum(0).prod(),
    "stack": lambda t, x: t.stack([x, x.roll(1)]).var(0).sum(),
    "max": lambda t, x: x.max() * x.min() + x.max(0)[0],
    "clamp": lambda t, x: (x.clamp(0.6, 1.1) ** 2).sum(),
    "erf": lambda t, x: (t.erf(x) + t.lgamma(x) + t.atan2(x, 1 + x)).sum(),
    "solve": lambda t, x: t.linalg.solve(x.view(2, 2), x[:2]).sum(),
    "in place": lambda t, x: x.clone().mul_(x).add_(x.exp()).sum(),
    "slots": lambda t, x: _with_slots(x).pow(2).sum(),
    "norm_layer": lambda t, x: (t.nn.functional.layer_norm(x, (4,)) * x).sum(),
    "gelu": lambda t, x: (t.nn.functional.gelu(x) + t.nn.functional.silu(x) + t.nn.functional.softplus(x)).sum(),
    "outer": lambda t, x: (t.outer(x, x).tril() * x).sum(),
}


def _with_slots(x):
    y = x * 2
    y[1] = x[0] * x[3]
    y[2:] *= x[1]
    return y


@pytest.mark.parametrize("function", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_gradients_are_the_slopes(torch, function):
    """First and second derivative along a direction, against central differences."""
    at = torch.tensor([0.5, 1.2, 0.9, 1.4], dtype=torch.float64)
    v = torch.tensor([0.3, -0.5, 0.2, 0.7], dtype=torch.float64)
    h = 1e-4

    def slope(shift):
        x = (at + shift * v).requires_grad_()
        (g,) = torch.autograd.grad(function(torch, x), x, create_graph=True)
        return x, (g * v).sum()

    x, first = slope(0.0)
    agree(first.item(), (function(torch, at + h * v) - function(torch, at - h * v)).item() / (2 * h), rtol=1e-5, atol=1e-6)
    second = (torch.autograd.grad(first, x)[0] * v).sum().item() if first.requires_grad else 0.0
    agree(second, (slope(h)[1] - slope(-h)[1]).item() / (2 * h), rtol=1e-5, atol=1e-6)


INF, NAN = math.inf, math.nan
KINKS = {
    "sqrt(0)": (lambda t, x: x.sqrt(), 0.0, INF),
    "times 0": (lambda t, x: x.sqrt() * 0, 0.0, NAN),
    "norm(0)": (lambda t, x: x.norm(), 0.0, 0.0),
    "abs(0)": (lambda t, x: x.abs(), 0.0, 0.0),
    "relu(0)": (lambda t, x: x.relu(), 0.0, 0.0),
    "relu6(6)": (lambda t, x: t.nn.functional.relu6(x), 6.0, 0.0),
    "hardtanh(1)": (lambda t, x: t.nn.functional.hardtanh(x), 1.0, 0.0),
    "leaky_relu(0)": (lambda t, x: t.nn.functional.leaky_relu(x, 0.1), 0.0, 0.1),
    "elu(0)": (lambda t, x: t.nn.functional.elu(x), 0.0, 1.0),
    "softplus(0)": (lambda t, x: t.nn.functional.softplus(x), 0.0, 0.5),
    "clamp at a bound": (lambda t, x: x.clamp(0, 1), 1.0, 1.0),
    "x**0": (lambda t, x: x**0, 0.0, 0.0),
    "x**0.5": (lambda t, x: x**0.5, 0.0, INF),
    "maximum tie": (lambda t, x: t.maximum(x, t.tensor([2.0])), 2.0, 0.5),
    "fmax tie": (lambda t, x: t.fmax(x, t.tensor([2.0])), 2.0, 1.0),
    "log(0)": (lambda t, x: x.log(), 0.0, INF),
    "x log x": (lambda t, x: x * x.log(), 0.0, NAN),
    "where inside": (lambda t, x: t.where(x > 0, x.sqrt(), x), 0.0, NAN),
    "std of equals": (lambda t, x: t.cat([x, x]).std(), 1.0, 0.0),
    "acos(1)": (lambda t, x: x.acos(), 1.0, -INF),
    "sign": (lambda t, x: x.sign(), 0.0, 0.0),
}


@pytest.mark.parametrize(("function", "at", "slope"), KINKS.values(), ids=KINKS)
def test_kinks(torch, function, at, slope):
    x = torch.tensor([at], requires_grad=True)
    function(torch, x).sum().backward()
    agree(x.grad.item(), slope, rtol=1e-6)


def test_ties(torch):
    x = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
    shares = []
    for function in (lambda: x.max(), lambda: x.max(0)[0], lambda: x.amax(0), lambda: x.sort(descending=True, stable=True)[0][0]):
        (g,) = torch.autograd.grad(function(), x)
        shares.append(g.tolist())
    assert shares == [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]


def test_subnormals_count_as_zero():
    torchish = pytest.importorskip("torchish")
    assert torchish.sign(torchish.tensor([1e-310], dtype=torchish.float64)).tolist() == [0.0]


def test_values_that_pytorch_refuses_give_nan_or_inf():
    torchish = pytest.importorskip("torchish")
    one = torchish.tensor([1.0])
    assert torchish.nn.functional.binary_cross_entropy(one * 1.5, one).isnan()
