"""repr and str, letter for letter."""

import pytest

TENSORS = {
    "floats": lambda t: t.tensor([1.0, 2.5, -3.25]),
    "whole": lambda t: t.tensor([1.0, 20.0]),
    "matrix": lambda t: t.arange(6.0).view(2, 3) / 3,
    "cube": lambda t: t.arange(8).view(2, 2, 2),
    "scalar": lambda t: t.tensor(3.14159265),
    "double": lambda t: t.tensor([0.1], dtype=t.float64),
    "half": lambda t: t.tensor([0.1], dtype=t.float16),
    "bool": lambda t: t.tensor([[True, False]]),
    "int32": lambda t: t.tensor([-1, 100], dtype=t.int32),
    "complex": lambda t: t.tensor([1 + 2j, -0.5j]),
    "empty": lambda t: t.empty(0, 3),
    "nan": lambda t: t.tensor([float("nan"), float("inf"), -1.0]),
    "wide_range": lambda t: t.tensor([1e-6, 1.0, 1e3]),
    "tiny": lambda t: t.tensor([1e-5]),
    "large": lambda t: t.tensor([1e9, 1.0]),
    "summary": lambda t: t.arange(2000),
    "summary2": lambda t: t.arange(4000.0).view(40, 100),
    "long_line": lambda t: t.arange(40.0) * 1.5,
    "leaf": lambda t: t.ones(2, requires_grad=True),
    "result": lambda t: t.ones(2, requires_grad=True) * 2,
    "wrapped": lambda t: t.arange(12.0, requires_grad=True).view(2, 6).double() * 1.23456,
    "parameter": lambda t: t.nn.Parameter(t.ones(1)),
    "size": lambda t: t.ones(2, 3).shape,
    "dtype": lambda t: t.float32,
    "device": lambda t: t.ones(1).device,
}  # fmt: skip


@pytest.mark.parametrize("which", TENSORS)
def test_repr(torch, recorded, which):
    recorded(repr(TENSORS[which](torch)).replace("torchish.", "torch."))


def test_formats(torch):
    x = torch.tensor(3.14159)
    assert f"{x:.2f} {x:8.3e}" == "3.14 3.142e+00" and f"{torch.tensor(3):03d}" == "003"
    assert str(torch.ones(2)) == "tensor([1., 1.])" and f"{torch.ones(2)}" == "tensor([1., 1.])"
    assert str(torch.ones(2, 3).size()) == "torch.Size([2, 3])"


def test_print_options(torch, recorded):
    x = torch.arange(30.0) / 7
    try:
        torch.set_printoptions(precision=2, threshold=10, edgeitems=2, sci_mode=False)
        recorded([repr(x), repr(x[:3])])
    finally:
        torch.set_printoptions(profile="default")
