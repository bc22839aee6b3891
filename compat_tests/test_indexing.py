"""Reading and writing by index in three dimensions, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SHAPE = (3, 4, 5)


def one_index(size):
    return st.one_of(
        st.integers(-size, size - 1),
        st.builds(slice, *[st.none() | st.integers(-size - 1, size + 1)] * 2, st.none() | st.integers(1, 3)),
    )


basic = st.tuples(*map(one_index, SHAPE)).flatmap(
    lambda full: st.integers(0, 3).flatmap(
        lambda keep: st.sampled_from([full[:keep], (Ellipsis, *full[:keep]), (None, *full[:keep]), (*full[:keep], None)])
    )
)


def filled(torch):
    return torch.arange(60.0).reshape(SHAPE), np.arange(60.0).reshape(SHAPE)


@given(index=basic)
def test_basic_reads_are_views(torch, index):
    t, a = filled(torch)
    if Ellipsis in index and len(index) == 4:
        index = index[1:]
    got = t[index]
    assert got.tolist() == a[index].tolist() and tuple(got.shape) == a[index].shape
    if got.numel():
        assert got.data_ptr() - t.data_ptr() == 4 * got.storage_offset()


@given(index=basic, value=st.integers(-9, 9))
def test_basic_writes(torch, index, value):
    t, a = filled(torch)
    if Ellipsis in index and len(index) == 4:
        index = index[1:]
    t[index], a[index] = value, value
    assert t.tolist() == a.tolist()


@given(rows=st.lists(st.integers(-3, 2), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_integer_and_boolean_tensors(torch, rows, seed):
    t, a = filled(torch)
    picked = np.random.default_rng(seed).integers(0, 4, len(rows))
    mask = np.random.default_rng(seed).random(SHAPE[:2]) > 0.5
    index, mask_t, picked_t = torch.tensor(rows), torch.tensor(mask), torch.tensor(picked)
    for got, expected in (
        (t[index], a[rows]), (t[:, picked_t], a[:, picked]), (t[index, picked_t], a[rows, picked]),
        (t[index, :, picked_t], a[rows, :, picked]), (t[mask_t], a[mask]), (t[1, picked_t, 2:4], a[1, picked, 2:4]),
        (t[mask_t[:, 0]], a[mask[:, 0]]), (t[..., picked_t], a[..., picked]), (t[index, None], a[rows, None]),
    ):  # fmt: skip
        assert got.tolist() == expected.tolist()
    t[mask_t], a[mask] = -1.0, -1.0
    t[index, 0] = torch.full((5,), 7.0)
    a[rows, 0] = 7.0
    assert t.tolist() == a.tolist()


def test_gradients_through_reads(torch):
    x = torch.ones(2, 3, requires_grad=True)
    (x[[0, 0, 1]].sum() + 2 * x[:, 1].sum() + 3 * x[1, 2:].sum()).backward()
    assert x.grad.tolist() == [[2.0, 4.0, 2.0], [1.0, 3.0, 4.0]]


@pytest.mark.parametrize("index, place, size", [((0, 5), 1, 5), ((4, 5), 0, 2), ((0, 1, 15), 2, 10), ((slice(None), slice(None), 12), 2, 10),
                                                ((None, 0, 5), 2, 5), ((..., 12), 1, 10)])
def test_integers_out_of_range_name_their_place(torch, index, place, size):
    x = torch.arange(100).view(2, 5, 10)
    with pytest.raises(IndexError, match=rf"index \d+ is out of bounds for dimension {place} with size {size}$"):
        x[index]
    with pytest.raises(IndexError, match=rf"for dimension {place} with size {size}$"):
        x[index] = 1


def test_index_tensors_out_of_range(torch):
    x = torch.arange(100).view(2, 5, 10)
    with pytest.raises(IndexError, match="index 77 is out of bounds for dimension 1 with size 10"):
        x[torch.tensor([0]), :, torch.tensor([77])]
    with pytest.raises(IndexError, match="index is out of bounds for dimension with size 0"):
        torch.empty(10, 0)[:, [0, 1]]


@pytest.mark.parametrize("index, kind, text", [
    (slice("0", "1"), TypeError, "slice indices must be integers or None or have an __index__ method"),
    (slice(None, 2.0), TypeError, "slice indices must be integers"), (slice(None, None, 0), ValueError, "slice step cannot be zero"),
    (slice(None, None, -1), ValueError, "step must be greater than zero"), ((0, "a"), TypeError, r"new\(\): invalid data type 'str'")])
def test_what_is_no_index(torch, index, kind, text):
    with pytest.raises(kind, match=text):
        torch.arange(16).view(4, 4)[index]


def test_two_ellipses(torch):
    x = torch.arange(16).view(4, 4)
    assert torch.equal(x[..., ...], x) and x[0, ..., ..., 0].item() == 0 and x[..., 0, ...].tolist() == [0, 4, 8, 12]


def test_byte_masks_warn(torch):
    y, m = torch.ones(4, 3), torch.tensor([1, 0, 0, 1], dtype=torch.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."):
        assert y[m].shape == (2, 3)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        torch.where(m[:, None], y, 0 * y)
    with pytest.raises(RuntimeError, match="masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"):
        y[m] = 1


def test_take_along_dim_checks(torch):
    t, zeros = torch.arange(24.).view(2, 3, 4), lambda *s: torch.zeros(s, dtype=torch.long)
    with pytest.raises(RuntimeError, match="should have the same number of dimensions, but got 3 dimensions for input, and 2 dimensions"):
        torch.take_along_dim(t, zeros(2, 3), 0)
    with pytest.raises(RuntimeError, match="dtype of indices should be Long but got Int"):
        torch.take_along_dim(t, zeros(2, 3, 4).int(), 1)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(5\)"):
        torch.take_along_dim(t, zeros(5, 3, 1), 1)
    with pytest.raises(RuntimeError, match="index 30 is out of bounds for dimension 0 with size 24"):
        torch.take_along_dim(t, torch.tensor([30]))
    assert torch.equal(torch.take_along_dim(t, zeros(2, 3, 4) - 1, 1), t[:, -1:].expand(2, 3, 4))


@pytest.mark.parametrize("indices, shape, kind, text", [
    ([0.5], (2, 2), TypeError, "expected 'indices' to be integer dtype, but got torch.float32"),
    ([1], 2.0, TypeError, "expected 'shape' to be int or sequence of ints, but got <class 'float'>"),
    ([1], (1, 2.0), TypeError, "expected 'shape' sequence to only contain ints, but got <class 'float'>"),
    ([1], (2, -3), ValueError, r"'shape' cannot have negative values, but got \(2, -3\)")])
def test_unravel_index_checks(torch, indices, shape, kind, text):
    with pytest.raises(kind, match=text):
        torch.unravel_index(torch.tensor(indices), shape)


def test_strides_of_new_dimensions(torch):
    t = torch.rand(5)
    assert t.expand(1, 1, 5).stride() == (5, 5, 1) and t.expand(2, 1, 5).stride() == (0, 5, 1) and torch.tensor(1.).expand(1, 1).stride() == (0, 0)


def test_what_is_written_at_index_tensors_has_the_dtype(torch):
    a, b = torch.ones(5, dtype=torch.int32), torch.tensor([1.5])
    text = "Index put requires the source and destination dtypes match, got Int for the destination and Float for the source."
    for index in ([0], torch.tensor([0, 1]), torch.tensor([True] * 5)):
        with pytest.raises(RuntimeError, match=text):
            a[index] = torch.ones(5)[:len(index)]
    with pytest.raises(RuntimeError, match=text):
        a.index_put_((torch.tensor([0]),), b)
    with pytest.raises(RuntimeError, match=text):
        a[[0, 1]] = b[0]
    a[torch.tensor([True, False, False, False, False])] = torch.tensor(3.5)     # one number at a mask: as masked_fill
    a[[1]], a[2] = 4.5, torch.tensor(5.5)
    assert a.tolist() == [3, 4, 5, 1, 1]


def test_boolean_alpha(torch):
    for a, b in ((1, 1), (torch.ones(1), 1)):
        with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
            torch.add(a, b, alpha=True)
    assert torch.add(torch.ones(1).bool(), True, alpha=True).tolist() == [True]


def test_boundaries_and_values_of_any_sizes(torch):
    assert torch.bucketize(torch.arange(5), torch.tensor([0, 3])).tolist() == [0, 1, 1, 1, 2]
    assert torch.searchsorted(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[0, 2], [3, 4]])).tolist() == [[0, 1], [2, 3]]
    assert torch.searchsorted(torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[2, 9], [4, 6]]), right=True).tolist() == [[2, 3], [1, 3]]


@pytest.mark.parametrize("place", [0, 3])
def test_an_index_of_no_dimension_is_one_of_one(torch, place):
    x, i = torch.arange(4.0, requires_grad=True), torch.tensor(place)
    picked = x.gather(0, i)
    assert picked.shape == () and picked == place
    picked.backward()
    assert x.grad.tolist() == [float(k == place) for k in range(4)]
    zeros = torch.zeros(4)
    for written in (zeros.scatter(0, i, torch.tensor(2.0)), zeros.scatter(0, i, 2.0), zeros.scatter_add(0, i, torch.tensor(2.0)),
                    zeros.scatter_reduce(0, i, torch.tensor(2.0), "sum")):
        assert written.tolist() == [2.0 * (k == place) for k in range(4)]
    with pytest.raises(RuntimeError, match="must have the same number of dimensions"):
        torch.zeros(2, 2).gather(0, i)
