"""Reading and writing by index in three dimensions, against NumPy."""

import numpy as np
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
