"""torch.masked: what a mask leaves out changes nothing, neither values nor gradients."""

import math

import pytest
from checks import agree

MASK = [[True, False, True], [False, False, False]]


def given(torch, **kw):
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **kw), torch.tensor(MASK)


@pytest.mark.parametrize(("name", "row", "nothing"), [
    ("sum", 4.0, 0.0), ("prod", 3.0, 1.0), ("amax", 3.0, -math.inf), ("amin", 1.0, math.inf), ("argmax", 2.0, 0.0),
    ("mean", 2.0, math.nan), ("median", 1.0, math.nan), ("var", 2.0, math.nan), ("std", math.sqrt(2), math.nan),
    ("logsumexp", 3 + math.log(1 + math.exp(-2)), -math.inf),
])  # fmt: skip
def test_reductions(torch, name, row, nothing):
    x, mask = given(torch)
    agree(getattr(torch.masked, name)(x, 1, mask=mask), [row, nothing])
    agree(getattr(torch.masked, name)(x, 1, keepdim=True, mask=mask), [[row], [nothing]])


def test_norms(torch):
    x, mask = given(torch)
    agree(torch.masked.norm(x, 2.0, 1, mask=mask), [math.sqrt(10), 0.0])
    agree(torch.masked.norm(x, -math.inf, 1, mask=mask), [1.0, math.inf])
    agree(torch.masked.normalize(x, 1.0, 1, mask=mask), [[0.25, 0.0, 0.75], [0.0, 0.0, 0.0]])


def test_scans_and_softmax(torch):
    x, mask = given(torch)
    agree(torch.masked.cumsum(x, 1, mask=mask), [[1.0, 1.0, 4.0], [0.0, 0.0, 0.0]])
    agree(torch.masked.cumprod(x, 1, mask=mask), [[1.0, 1.0, 3.0], [1.0, 1.0, 1.0]])
    p = 1 / (1 + math.exp(-2))
    agree(torch.masked.softmax(x, 1, mask=mask)[0], [1 - p, 0.0, p])
    agree(torch.masked.softmin(x, 1, mask=mask)[0], [p, 0.0, 1 - p])
    agree(torch.masked.logaddexp(x, x, input_mask=mask)[0], [1 + math.log(2), 2.0, 3 + math.log(2)])


def test_gradients_stay_out_of_what_is_masked(torch):
    x, mask = given(torch, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.masked.mean(x, 1, mask=mask)[0], x)
    agree(slope, [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
    (slope,) = torch.autograd.grad(torch.masked.amax(x, 1, mask=mask)[0], x)
    agree(slope, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def test_dtypes_of_integers(torch):
    x, mask = given(torch)
    x = x.to(torch.int32)
    assert torch.masked.sum(x, 1, mask=mask).dtype == torch.int64
    assert torch.masked.argmax(x, 1, mask=mask).dtype == torch.int32
    agree(torch.masked.amax(x, 1, mask=mask), [3, -(2**31)])
    assert torch.masked.var(x, 1, mask=mask).dtype == torch.float32


def test_refusals(torch):
    x, mask = given(torch)
    with pytest.raises(IndexError, match="expected broadcastable mask"):
        torch.masked.sum(x, mask=mask[None])
    with pytest.raises(ValueError, match="mean\\(\\): Could not infer output dtype"):
        torch.masked.mean(x.long(), 1, mask=mask)
    with pytest.raises(NotImplementedError, match="identity of amax on torch.bool input"):
        torch.masked.amax(x > 1, 1, mask=mask)
    with pytest.raises(RuntimeError, match="dim=0 appears multiple times in the list of dims"):
        torch.masked.sum(x, (0, 0))


def test_there_is_no_masked_tensor():
    import torchish

    with pytest.raises(NotImplementedError, match="torchish has no MaskedTensor"):
        torchish.masked.masked_tensor(torchish.ones(2), torchish.ones(2) > 0)
