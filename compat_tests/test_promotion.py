"""Promotion between tensors, 0-dim tensors and Python numbers, in both orders, over all pairs of dtypes."""

import itertools

import pytest
from checks import name, raises

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
NUMBERS = [True, 2, 1.5, 1j]
OPS = {
    "add": lambda t, a, b: a + b,
    "mul": lambda t, a, b: a * b,
    "div": lambda t, a, b: a / b,
    "pow": lambda t, a, b: a**b,
    "eq": lambda t, a, b: a == b,
    "lt": lambda t, a, b: a < b,
    "where": lambda t, a, b: t.where(t.ones(2, dtype=t.bool), a, b),
    "cat": lambda t, a, b: t.cat([a, b]),
    "result_type": lambda t, a, b: t.result_type(a, b),
}


def outcome(torch, op, a, b):
    """The dtype of the result, or the class of the error."""
    try:
        if name(torch.result_type(a, b)) == "complex32":
            return "complex32"
    except NotImplementedError as error:
        assert "torch.complex32" in str(error)  # torchish has no such dtype and says so
        return "complex32"
    try:
        result = OPS[op](torch, a, b)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    return name(result if op == "result_type" else result.dtype)


def kinds(torch, dtype):
    """A tensor with a dimension and one without."""
    made = torch.ones(2, dtype=getattr(torch, dtype))
    return {"tensor": made, "0-dim": made[0].clone()}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("first, second", list(itertools.product(["tensor", "0-dim"], repeat=2)))
def test_two_tensors(torch, recorded, op, first, second):
    recorded(
        {
            a: [outcome(torch, op, kinds(torch, a)[first], kinds(torch, b)[second]) for b in DTYPES]
            for a in DTYPES
        }
    )


@pytest.mark.parametrize("op", [op for op in OPS if op != "cat"])
@pytest.mark.parametrize("kind", ["tensor", "0-dim"])
def test_tensor_and_number(torch, recorded, op, kind):
    table = {}
    for dtype in DTYPES:
        x = kinds(torch, dtype)[kind]
        table[dtype] = [[outcome(torch, op, x, v) for v in NUMBERS], [outcome(torch, op, v, x) for v in NUMBERS]]
    recorded(table)


def test_the_default_dtype_takes_part(torch):
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.ones(2, dtype=torch.int32) * 1.5).dtype == torch.float64
        assert (torch.ones(2, dtype=torch.int32) / 2).dtype == torch.float64
        assert (torch.ones(2, dtype=torch.float32) * 1.5).dtype == torch.float32
        assert torch.tensor([1.0]).dtype == torch.float64 and torch.tensor([1j]).dtype == torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)


def test_integer_division_by_zero(torch):
    zero, x = torch.tensor([2, 0]), torch.tensor([5, 5])
    for divide in (
        lambda: x // zero,
        lambda: x % zero,
        lambda: torch.fmod(x, zero),
        lambda: 7 // zero,
        lambda: torch.div(x, zero, rounding_mode="floor"),
        lambda: x // 0,
        lambda: x.clone().floor_divide_(zero),
    ):
        with raises(RuntimeError, "ZeroDivisionError"):
            divide()
    assert (x.float() // zero).tolist() == [2.0, float("inf")]
