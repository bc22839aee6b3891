"""NumPy scalars count as Python numbers, numpy.float64 (a float by inheritance) among them."""

import numpy as np
import pytest

KINDS = [np.float64(2), np.float32(2), np.int64(2)]


@pytest.mark.parametrize("number", KINDS, ids=lambda n: type(n).__name__)
def test_fills_and_choices(torch, number):
    ones = torch.ones(2)
    results = [torch.ones(2).fill_(number), torch.fill(ones, number), torch.full_like(ones, number),
               torch.nn.init.constant_(torch.empty(2), number), torch.where(ones > 0, number, ones).float()]  # fmt: skip
    assert [r.tolist() for r in results] == [[2.0, 2.0]] * 5


@pytest.mark.parametrize("number", KINDS, ids=lambda n: type(n).__name__)
def test_powers_are_tensors(torch, number):
    x = torch.tensor([3.0], requires_grad=True)
    y = x**number
    assert isinstance(y, torch.Tensor) and y.dtype is torch.float32 and y.item() == 9.0
    y.backward()
    assert x.grad.item() == 6.0
