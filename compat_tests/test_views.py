"""Indexing, views and shapes: values from plain Python lists, texts from PyTorch."""

import numpy as np
import pytest
from checks import raises
from hypothesis import given
from hypothesis import strategies as st

LENGTH = 7


@given(st.slices(LENGTH).filter(lambda s: s.step is None or s.step > 0))
def test_slices_read_as_lists_do(torch, s):
    data = [float(i) for i in range(LENGTH)]
    x = torch.tensor(data)
    assert x[s].tolist() == data[s] and x[s]._is_view()


@given(st.slices(LENGTH).filter(lambda s: s.step is None or s.step > 0))
def test_slices_write_as_numpy_does(torch, s):
    x, a = torch.zeros(LENGTH), np.zeros(LENGTH, dtype=np.float32)
    x[s] = 1.0
    a[s] = 1.0
    assert x.tolist() == a.tolist()


ROWS = st.one_of(
    st.integers(-4, 3),
    st.none(),
    st.just(Ellipsis),
    st.slices(4).filter(lambda s: s.step is None or s.step > 0),
    st.lists(st.integers(-4, 3), min_size=1, max_size=3),
)


@given(ROWS)
def test_one_index_of_every_kind(torch, index):
    a = np.arange(20.0).reshape(4, 5)
    x = torch.arange(20.0, dtype=torch.float64).reshape(4, 5)
    assert x[index].tolist() == a[index].tolist()
    assert tuple(x[index].shape) == a[index].shape


MIXED = {
    "int_slice": lambda new: (1, slice(1, 3)),
    "column": lambda new: (slice(None), slice(0, 1)),
    "ellipsis": lambda new: (Ellipsis, 2),
    "none": lambda new: (slice(None), None, 1),
    "two_tensors": lambda new: (new([0, 2]), new([1, 3])),
    "tensor_slice": lambda new: (new([0, 2, 2]), slice(1, None, 2)),
    "slice_tensor": lambda new: (slice(1, None), new([3, 0])),
    "broadcast": lambda new: (new([[0], [2]]), new([1, 3])),
    "mask": lambda new: new([True, False, True]),
    "mask_int": lambda new: (new([True, False, True]), 1),
}


@pytest.mark.parametrize("make", MIXED.values(), ids=MIXED)
def test_mixed_indices_read_and_write_as_numpy(torch, make):
    a = np.arange(12.0).reshape(3, 4)
    x = torch.from_numpy(a.copy())
    assert x[make(torch.tensor)].tolist() == a[make(np.array)].tolist()
    x[make(torch.tensor)] = -1.0
    a[make(np.array)] = -1.0
    assert x.tolist() == a.tolist()


@pytest.mark.parametrize("make", MIXED.values(), ids=MIXED)
def test_the_gradient_of_an_index_is_a_mask(torch, make):
    a = np.zeros((3, 4))
    np.add.at(a, make(np.array), 1.0)
    x = torch.rand(3, 4, requires_grad=True)
    x[make(torch.tensor)].sum().backward()
    assert x.grad.tolist() == a.tolist()


def test_repeated_indices(torch):
    x = torch.zeros(3)
    x[[0, 0, 1]] += 1
    assert x.tolist() == [1.0, 1.0, 0.0]
    i = torch.tensor([0, 0, 1])
    x.zero_().index_put_((i,), torch.ones(3), accumulate=True)
    assert x.tolist() == [2.0, 1.0, 0.0]
    assert torch.zeros(3).index_add_(0, i, torch.ones(3)).tolist() == [2.0, 1.0, 0.0]
    assert torch.zeros(3).scatter_add_(0, i, torch.ones(3)).tolist() == [2.0, 1.0, 0.0]


def test_writes_cast_and_broadcast(torch):
    n = torch.zeros(2, 3, dtype=torch.long)
    n[0] = torch.tensor([2.9, -2.9, 1.0])
    n[:, 2] = torch.tensor([[7]])
    assert n.tolist() == [[2, -2, 7], [0, 0, 7]]


BAD_INDEX = {
    "range": (IndexError, lambda t: t.ones(3)[3], "index 3 is out of bounds for dimension 0 with size 3"),
    "many": (IndexError, lambda t: t.ones(3, 2)[0, 0, 0], "too many indices for tensor of dimension 2"),
    "mask": (
        IndexError,
        lambda t: t.ones(5)[t.tensor([True, False])],
        "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [5] at index 0",
    ),
    "step": (ValueError, lambda t: t.ones(3)[::-1], "step must be greater than zero"),
    "float": (IndexError, lambda t: t.ones(3)[t.tensor([0.5])], "tensors used as indices must be long, int, byte or bool tensors"),
    "scalar": (IndexError, lambda t: t.tensor(1.0)[0], "invalid index of a 0-dim tensor. Use `tensor.item()` in Python"),
    "value": (
        RuntimeError,
        lambda t: t.ones(3).__setitem__([0, 1, 2], t.ones(2)),
        "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [3]",
    ),
}
BAD_SHAPE = {
    "add": (RuntimeError, lambda t: t.ones(3) + t.ones(4), "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"),
    "mm": (RuntimeError, lambda t: t.ones(2, 3) @ t.ones(2, 3), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    "view": (RuntimeError, lambda t: t.ones(6).view(4), "shape '[4]' is invalid for input of size 6"),
    "infer": (RuntimeError, lambda t: t.ones(6).view(-1, -1), "only one dimension can be inferred"),
    "dim": (IndexError, lambda t: t.ones(2, 2).sum(2), "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    "stack": (RuntimeError, lambda t: t.stack([t.ones(2), t.ones(3)]), "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1"),
    "cat": (
        RuntimeError,
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]),
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list.",
    ),
    "nothing": (ValueError, lambda t: t.cat([]), "torch.cat(): expected a non-empty list of Tensors"),
    "expand": (
        RuntimeError,
        lambda t: t.ones(2).expand(3),
        "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [3].  Tensor sizes: [2]",
    ),
    "dtype": (RuntimeError, lambda t: t.ones(2, 2) @ t.ones(2, 2).double(), "expected m1 and m2 to have the same dtype, but got: float != double"),
    "type": (TypeError, lambda t: t.relu([1.0]), "relu(): argument 'input' (position 1) must be Tensor, not list"),
    "attribute": (AttributeError, lambda t: t.ones(1).nothing_like_it, "'Tensor' object has no attribute 'nothing_like_it'"),
}


@pytest.mark.parametrize(("kind", "call", "text"), BAD_INDEX.values(), ids=BAD_INDEX)
def test_bad_indices(torch, kind, call, text):
    with raises(kind, text):
        call(torch)


@pytest.mark.parametrize(("kind", "call", "text"), BAD_SHAPE.values(), ids=BAD_SHAPE)
def test_bad_shapes_raise_at_the_call(torch, kind, call, text):
    with raises(kind, text):
        call(torch)


ALIAS = {
    "view": lambda x: x.view(12), "t": lambda x: x.t(), "slice": lambda x: x[1:], "expand": lambda x: x.expand(2, 3, 4),
    "detach": lambda x: x.detach(), "data": lambda x: x.data, "chunk": lambda x: x.chunk(2)[0], "narrow": lambda x: x.narrow(0, 0, 2),
    "diagonal": lambda x: x.diagonal(), "reshape": lambda x: x.reshape(2, 6), "unsqueeze": lambda x: x.unsqueeze(1),
    "flatten": lambda x: x.flatten(), "unbind": lambda x: x.unbind(0)[0], "permute": lambda x: x.permute(1, 0),
}  # fmt: skip
COPY = {
    "clone": lambda x: x.clone(), "mask": lambda x: x[x >= 0], "list": lambda x: x[[0, 1]], "flip": lambda x: x.flip(0),
    "repeat": lambda x: x.repeat(2, 1), "roll": lambda x: x.roll(1), "t_reshape": lambda x: x.t().reshape(-1),
    "double": lambda x: x.double(), "triu": lambda x: x.triu(),
    "result": lambda x: x + 0,
}  # fmt: skip


@pytest.mark.parametrize("make", ALIAS.values(), ids=ALIAS)
def test_aliases_see_writes(torch, make):
    x = torch.ones(3, 4)
    alias = make(x)
    x.fill_(5)
    assert set(alias.reshape(-1).tolist()) == {5.0}
    alias[0] = 6
    assert 6.0 in x.reshape(-1).tolist()


@pytest.mark.parametrize("make", COPY.values(), ids=COPY)
def test_copies_do_not(torch, make):
    x = torch.ones(3, 4)
    copy = make(x)
    x.fill_(5)
    assert 5.0 not in copy.reshape(-1).tolist()


@given(st.permutations(range(4)), st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_permuted_strides(torch, order, shape):
    x = torch.zeros(shape).permute(order)
    a = np.zeros(shape, dtype=np.float32).transpose(order)
    assert tuple(x.shape) == a.shape
    assert [s * 4 for s, n in zip(x.stride(), x.shape, strict=True) if n > 1] == [
        s for s, n in zip(a.strides, a.shape, strict=True) if n > 1
    ]
    assert x.is_contiguous() == a.flags["C_CONTIGUOUS"]


def test_results_are_contiguous():
    torchish = pytest.importorskip("torchish")
    x = torchish.ones(2, 3).t()
    assert x.stride() == (1, 3) and (x + 1).stride() == x.clone().stride() == (2, 1)


def test_writes_through_views_of_parts(torch):
    z = torch.zeros(2, dtype=torch.complex64)
    torch.view_as_real(z).add_(1)
    z.real.mul_(3)
    z.imag[0] = 7
    assert z.tolist() == [3 + 7j, 3 + 1j]
    pairs = torch.zeros(2, 2)
    torch.view_as_complex(pairs).add_(2 + 1j)
    assert pairs.tolist() == [[2.0, 1.0], [2.0, 1.0]]


def test_gradient_of_a_write_to_the_parts(torch):
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    y = z * 1
    y.real.mul_(3)
    y.imag.add_(1)
    y.abs().pow(2).sum().backward()
    assert z.grad.tolist() == [18 + 2j, 18 + 2j]


def test_chunks_of_nothing(torch):
    assert [tuple(t.shape) for t in torch.zeros(2, 0).chunk(3, 1)] == [(2, 0)] * 3


def test_as_strided_reads_the_views_dtype(torch):
    c = torch.view_as_complex(torch.arange(8.).view(4, 2))
    assert c.as_strided((2,), (2,)).tolist() == [1j, 4 + 5j] and c[1:].as_strided((2,), (1,)).tolist() == [2 + 3j, 4 + 5j]
    r = torch.view_as_real(torch.tensor([1 + 2j, 3 + 4j]))
    assert r.as_strided((4,), (1,)).tolist() == [1, 2, 3, 4]
    assert torch.ones(4).view(torch.int32).as_strided((2, 2), (1, 1)).tolist() == [[1065353216] * 2] * 2
    z = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    torch.view_as_real(z * 1).as_strided((3,), (1,)).pow(2).sum().backward()
    assert z.grad.tolist() == [2 + 4j, 6]


@pytest.mark.parametrize("make, text", [
    ("torch.tensor(2.)", "Input tensor must have one or more dimensions"), ("torch.ones(3)", "Tensor must have a last dimension of size 2"),
    ("torch.ones(2, 2).t()", "Tensor must have a last dimension with stride 1"),
    ("torch.ones(3, 3).as_strided((2, 2), (1, 1))", "Tensor must have a stride divisible by 2 for all but last dimension"),
    ("torch.ones(6)[1:5].view(2, 2)", "Tensor must have a storage_offset divisible by 2")])
def test_view_as_complex_needs_pairs(torch, make, text):
    with pytest.raises(RuntimeError, match=text):
        torch.view_as_complex(eval(make))


def test_no_elements_as_another_dtype(torch):
    assert torch.zeros(0, 5, 8).view(torch.float64).shape == (0, 5, 4) and torch.zeros(0, 5, 8).view(torch.uint8).stride() == (160, 32, 1)


def test_a_view_as_a_dtype_has_no_gradient(torch):
    a = torch.ones(2, requires_grad=True)
    assert not any(x.view(d).requires_grad for x in (a, a * 1) for d in (torch.float32, torch.int32, torch.float64))


def test_view_replay(torch):
    x = torch.ones(2, 2, requires_grad=True)

    def written():
        view = x.clone().view(-1)
        view.add_(1)
        return view.grad_fn.name()
    assert written() == "AsStridedBackward0" and not torch.autograd.is_view_replay_enabled()
    with torch.autograd._force_original_view_tracking(True):
        assert written() == "ViewBackward0" and torch.autograd.is_view_replay_enabled()
    assert written() == "AsStridedBackward0"


def test_versions_that_are_set(torch):
    x, y = torch.ones(2), torch.ones(2)
    with torch.autograd._unsafe_preserve_version_counter((x, y)):
        x.mul_(2)
        y[0] = 3
    assert (x._version, y._version, x.tolist()) == (0, 0, [2, 2])
    torch._C._autograd._unsafe_set_version_counter((x,), (7,))
    assert x._version == 7
    with raises(RuntimeError, "Cannot set a version_counter to a value below 0: -1"):
        torch._C._autograd._unsafe_set_version_counter((x,), (-1,))
