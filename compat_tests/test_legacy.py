"""torch.Tensor(...), torch.IntTensor(...) and randint: what their arguments mean."""

import collections

import numpy as np
import pytest
from checks import raises

OF_DATA = [range(3), (4, 5), [[1, 2], [3, 4]], np.array([1, 2]), collections.deque([1, 2]), memoryview(b"ab")]


@pytest.mark.parametrize("data", OF_DATA, ids=lambda d: type(d).__name__)
def test_tensors_of_data(torch, data):
    for kind, dtype in ((torch.IntTensor, torch.int32), (torch.Tensor, torch.float32), (torch.zeros(1, dtype=torch.int64).new, torch.int64)):
        made = kind(data)
        assert made.dtype is dtype and made.tolist() == np.asarray(data).tolist()


def test_tensors_of_sizes(torch):
    for kind in (torch.IntTensor, torch.Tensor, torch.zeros(1).new):
        assert kind().shape == (0,) and kind(2, 3).shape == kind(torch.Size([2, 3])).shape == kind(size=(2, 3)).shape == (2, 3)
        assert kind(np.int64(2)).shape == (2,) and kind(2, torch.tensor(3)).shape == (2, 3)


def test_tensors_of_tensors_and_storages(torch):
    t = torch.tensor([1, 2], dtype=torch.int32)
    made = torch.IntTensor(t)
    made[0] = 5
    assert t.tolist() == [5, 2] and torch.Tensor(t).dtype is torch.int32
    options = "TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    with raises(TypeError, f"expected {options.format('int')} (got {options.format('float')})"):
        torch.IntTensor(torch.ones(2))
    made = torch.IntTensor(t.storage())
    made[1] = 7
    assert t.tolist() == [5, 7]
    with raises(RuntimeError, "Expected a Storage of type Float or an UntypedStorage, but got type Int for argument 1 'storage'"):
        torch.FloatTensor(t.storage())


@pytest.mark.parametrize(("given", "error", "text"), [
    ("a", TypeError, "new(): invalid data type 'str'"), (None, TypeError, "new(): data must be a sequence (got NoneType)"),
    (2.5, TypeError, "new(): data must be a sequence (got float)"), (True, TypeError, "new(): data must be a sequence (got bool)"),
    ({1: 2}, TypeError, "new(): data must be a sequence (got dict)"), (-1, RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    (np.float32(2), TypeError, "new(): data must be a sequence (got numpy.float32)")])
def test_what_makes_no_tensor(torch, given, error, text):
    for kind in (torch.Tensor, torch.IntTensor):
        with raises(error, text):
            kind(given)


def test_randint_by_keywords(torch):
    for make in (lambda: torch.randint(high=5, size=(3,)), lambda: torch.randint(0, 5, (3,)), lambda: torch.randint(5, size=(3,)),
                 lambda: torch.randint(low=0, high=5, size=(3,)), lambda: torch.randint_like(torch.zeros(3, dtype=torch.int64), high=5)):
        torch.manual_seed(0)
        assert make().tolist() == [4, 4, 3]
    with raises(TypeError, "randint() "):
        torch.randint(size=(3,))
