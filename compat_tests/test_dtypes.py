"""Which dtype comes out: promotion over all pairs and categories, defaults, conversions."""

import itertools

import numpy as np
import pytest
from checks import name, raises, warnings_of
from hypothesis import given
from hypothesis import strategies as st

REAL = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
DTYPES = [*REAL, "complex64", "complex128"]
PYTHON = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


def outcome(function):
    try:
        return name(function().dtype)
    except (RuntimeError, TypeError) as error:
        if "torch.complex32" in str(error) or "ComplexHalf" in str(error):
            return "complex32"  # torchish has no such dtype and says so
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


PAIR_OPS = ["add", "sub", "mul", "true_divide", "floor_divide", "remainder", "pow", "maximum", "atan2", "eq", "bitwise_and"]


@pytest.mark.parametrize("op", PAIR_OPS)
def test_pairs_of_tensors(torch, recorded, op):
    function = getattr(torch, op)
    table = {}
    for a, b in itertools.product(DTYPES, repeat=2):
        x, y = (torch.ones(2, dtype=getattr(torch, d)) for d in (a, b))
        result = outcome(lambda x=x, y=y: function(x, y))
        table.setdefault(a, []).append(result.split(":")[0])
    recorded(table)


@pytest.mark.parametrize("op", ["add", "mul", "true_divide", "pow"])
def test_numbers_and_0_dim_tensors(torch, recorded, op):
    function = getattr(torch, op)
    table = {}
    for a in DTYPES:
        x = torch.ones(2, dtype=getattr(torch, a))
        small = [torch.ones((), dtype=getattr(torch, b)) for b in DTYPES]
        table[a] = {
            "number": [outcome(lambda x=x, v=v: function(x, v)) for v in PYTHON.values()],
            "number first": [outcome(lambda x=x, v=v: v * x) for v in PYTHON.values()],
            "0-dim": [outcome(lambda x=x, v=v: function(x, v)) for v in small],
        }
    recorded(table)


UNARY_OPS = ["sin", "exp", "sqrt", "abs", "neg", "floor", "sigmoid", "square", "sign", "isnan", "reciprocal"]
REDUCTIONS = ["sum", "prod", "mean", "amax", "cumsum", "std", "logsumexp", "any", "argmax"]


@pytest.mark.parametrize("op", UNARY_OPS)
def test_one_tensor(torch, recorded, op):
    function = getattr(torch, op)
    recorded([outcome(lambda d=d: function(torch.ones(2, dtype=getattr(torch, d)))) for d in DTYPES])


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(torch, recorded, op):
    function = getattr(torch, op)
    recorded([outcome(lambda d=d: function(torch.ones(2, dtype=getattr(torch, d)), 0)) for d in DTYPES])


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_in_place_keeps_the_destination_or_refuses(torch, a, b):
    x, y = (torch.ones(2, dtype=getattr(torch, d)) for d in (a, b))
    if torch.can_cast(torch.result_type(x, y), x.dtype):
        assert x.add_(y).dtype == getattr(torch, a)
    else:
        with raises(RuntimeError, "result type "):
            x.add_(y)


def test_defaults(torch):
    made = {
        "float32": [torch.tensor([]), torch.tensor(1.5), torch.ones(1), torch.linspace(0, 1, 3), torch.arange(3.0), torch.tensor([1, 2.0])],
        "int64": [torch.tensor(1), torch.arange(3), torch.tensor([True, 2]), torch.ones(2).argmax(), torch.randperm(3)],
        "bool": [torch.tensor(True), torch.ones(1) > 0],
        "complex64": [torch.tensor(1j)],
        "float64": [torch.from_numpy(np.ones(2)), torch.tensor(np.ones(2)), torch.tensor(np.float64(1))],
    }
    assert {key: {name(t.dtype) for t in tensors} for key, tensors in made.items()} == {key: {key} for key in made}
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.ones(1).dtype == torch.tensor(1.5).dtype == torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@given(st.integers(-300, 300), st.integers(-12, 12).filter(bool))
def test_integer_division_is_pythons(torch, a, b):
    x, y = torch.tensor(a), torch.tensor(b)
    assert (x // y).item() == a // b and (x % y).item() == a % b
    assert torch.div(x, y, rounding_mode="trunc").item() == int(a / b)
    assert (x / y).dtype == torch.float32


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers_wrap(torch, a, b):
    with np.errstate(over="ignore"):
        expected = (np.array([a]) * np.array([b]) + np.array([b])).tolist()
    assert (torch.tensor([a]) * torch.tensor([b]) + torch.tensor([b])).tolist() == expected


def test_refused(torch):
    with raises(RuntimeError, "ZeroDivisionError"):
        torch.tensor([1]) // torch.tensor([0])
    with raises(RuntimeError, "Subtraction, the `-` operator, with two bool tensors is not supported."):
        torch.tensor([True]) - torch.tensor([True])
    with raises(
        RuntimeError,
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long",
    ):
        torch.arange(3).mean()


def test_conversions(torch):
    assert torch.tensor([2.9, -2.9]).long().tolist() == [2, -2]
    assert torch.tensor([0.5, 1.5, 2.5]).round().tolist() == [0.0, 2.0, 2.0]
    assert torch.tensor([0.0, 0.3, float("nan")]).bool().tolist() == [False, True, True]
    assert torch.ones(2).type() == "torch.FloatTensor" and torch.ones(2).to(torch.int64).type() == "torch.LongTensor"
    assert str(torch.float32) == "torch.float32" and torch.double is torch.float64


def test_python_scalars(torch):
    assert float(torch.tensor([[1.5]])) == 1.5 and int(torch.tensor(2.7)) == 2 and bool(torch.tensor([0.0])) is False
    assert torch.tensor(3).item() == 3 and [10, 20][torch.tensor(1)] == 20
    with raises(RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"):
        torch.ones(2).item()
    with raises(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        bool(torch.ones(2))
    with raises(TypeError, "len() of a 0-d tensor"):
        len(torch.tensor(1))
    with raises(TypeError, "iteration over a 0-d tensor"):
        list(torch.tensor(1))
    with raises(ValueError, "expected sequence of length 2 at dim 1 (got 1)"):
        torch.tensor([[1, 2], [3]])


def test_numpy(torch):
    a = np.arange(3.0)
    t = torch.from_numpy(a)
    a[0] = 7
    assert t.tolist() == [7.0, 1.0, 2.0]
    t.numpy()[1] = 8
    t[2] = 9
    assert a.tolist() == [7.0, 8.0, 9.0] and torch.tensor(a) is not a
    x = torch.ones(2, requires_grad=True)
    with raises(RuntimeError, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."):
        x.numpy()
    assert np.asarray(x.detach()).dtype == np.float32
    assert [kind for kind, _ in warnings_of(lambda: torch.tensor(torch.ones(2)))] == ["UserWarning"]


def test_no_complex32():
    torchish = pytest.importorskip("torchish")
    with raises(NotImplementedError, "PyTorch gives torch.complex32 here"):
        torchish.ones(2, dtype=torchish.float16) * 1j


def test_dlpack_is_a_copy():
    """Listed in docs/deviations.md."""
    import torchish

    t = torchish.ones(3)
    a = np.from_dlpack(t)
    t.mul_(2)
    assert a.tolist() == [1.0] * 3 and t.tolist() == [2.0] * 3


def test_the_forms_of_to(torch):
    x = torch.ones(2, requires_grad=True)
    for args in ((torch.float32,), ("cpu",), ("cpu", torch.float32, True), (x, False), (None,)):
        assert x.to(*args) is x
    for args in ((torch.float32, False, True), ("cpu", torch.float32, False, True), (x, False, True)):
        assert x.to(*args) is not x and x.to(*args).grad_fn.name() == "ToCopyBackward0"
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments - got \(torch.dtype, int\)"):
        x.to(torch.float64, 1)
    with pytest.raises(TypeError, match=r"to\(\) takes from 0 to 4 positional arguments but 5 were given"):
        x.to("cpu", torch.float64, False, True, None)
