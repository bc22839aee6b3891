"""Copies of views, unsafe splits, diagonals, 0-dim masks, operations without a derivative."""

import pytest
from checks import agree

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
CALLS = {
    "alias": (), "as_strided": ((2, 2), (1, 2), 1), "detach": (), "diagonal": (1,), "expand": ((2, 2, 3),), "narrow": (1, 1, 2),
    "permute": ((1, 0),), "select": (1, 2), "split": (2, 1), "split_with_sizes": ([1, 2], 1), "squeeze": (), "t": (), "transpose": (0, 1),
    "unbind": (1,), "unfold": (1, 2, 1), "unsqueeze": (0,), "view": ((3, 2),)}


@pytest.mark.parametrize("name", CALLS)
def test_a_copy_shows_what_the_view_shows(torch, name):
    x = torch.tensor(X)
    copy = getattr(torch, name + "_copy")(x, *CALLS[name])
    view = x.view_as(x) if name == "alias" else getattr(x, name)(*CALLS[name])
    for a, b in zip(copy if isinstance(copy, tuple) else [copy], view if isinstance(view, tuple) else [view], strict=True):
        agree(a, b)
        a.zero_()
    agree(x, torch.tensor(X))


def test_copies_into_out(torch):
    x = torch.tensor(X)
    out = torch.empty(3, 2)
    assert torch.transpose_copy(x, 0, 1, out=out) is out
    agree(out, x.t())
    pieces = [torch.empty(3), torch.empty(3)]
    torch.unbind_copy(x, out=pieces)
    agree(pieces[1], x[1])


def test_unsafe_pieces_may_be_written(torch):
    x = torch.tensor(X, requires_grad=True)
    a, b = torch.unsafe_chunk(x, 2)
    a.mul_(2)
    (a + b).sum().backward()
    agree(x.grad, torch.tensor([[2.0] * 3, [1.0] * 3]))
    assert [t.shape for t in x.unsafe_split_with_sizes([1, 2], 1)] == [(2, 1), (2, 2)]
    assert [t.shape for t in torch.unsafe_split(x, 2, 1)] == [(2, 2), (2, 1)]


def test_masks_without_dimensions(torch):
    x, zero = torch.tensor(X), torch.tensor(0.0)
    assert x[torch.tensor(True)].shape == (1, 2, 3) and x[torch.tensor(False)].shape == (0, 2, 3)
    agree(torch.masked_select(torch.tensor(3.0), torch.tensor(True)), torch.tensor([3.0]))
    out = torch.empty(0)
    torch.masked_select(x, x > 4, out=out)
    agree(out, torch.tensor([5.0, 6.0]))
    assert torch.nonzero(zero).shape == (0, 0) and torch.argwhere(zero + 1).shape == (1, 0)
    agree(torch.nonzero_static(torch.tensor([1, 0, 2]), size=3), torch.tensor([[0], [2], [-1]]))


def test_diagonals_and_strides(torch):
    x = torch.zeros(5, 2)
    x.fill_diagonal_(1, wrap=True)
    agree(x.sum(1), torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0]))
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    y = torch.arange(6.0)
    y.as_strided_((2, 2), (1, 2), 1)
    agree(y, torch.tensor([[1.0, 3.0], [2.0, 4.0]]))


@pytest.mark.parametrize("call, message", [
    (lambda torch, x: torch.hsplit(x, 2), "attempted to split along dimension 1, but the size of the dimension 3 is not divisible"),
    (lambda torch, x: torch.dsplit(x, 1), "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with 2 dimensions!"),
    (lambda torch, x: torch.narrow(x.sum(), 0, 0, 1), "cannot be applied to a 0-dim tensor"),
    (lambda torch, x: torch.movedim(x, (0, 1), (0,)), "should contain the same number of dims as destination"),
    (lambda torch, x: torch.movedim(x, (0, 0), (0, 1)), r"movedim: repeated dim in `source` \(\[0, 0\]\)"),
    (lambda torch, x: torch.empty_permuted((2, 3), (0, 0)), "Duplicate dim not allowed"),
    (lambda torch, x: torch.hstack(()), "hstack expects a non-empty TensorList"),
    (lambda torch, x: torch.rot90(x, 1, (1, 1)), "expected rotation dims to be different, but got dim0 = 1 and dim1 = 1"),
    (lambda torch, x: x.masked_select(x > 0).renorm(1, 0, 1), "renorm: input needs at least 2 dimensions, got 1 dimensions"),
    (lambda torch, x: torch.nn.functional.max_pool1d(x, 0), r"max_pool1d\(\) kernel_size must be greater than zero, but got 0"),
    (lambda torch, x: torch.nn.functional.avg_pool1d(x, 2, padding=-1), "pad must be non-negative, but got pad: -1"),
    (lambda torch, x: torch.nn.functional.conv1d(x[None], x[None], stride=0), "non-positive stride is not supported"),
    (lambda torch, x: torch.nn.functional.rms_norm(x, (2,)), r"Given normalized_shape=\[2\], expected input with shape \[\*2\]"),
    (lambda torch, x: torch.nn.functional.multi_margin_loss(x, x), "target tensor should be 1-D with size equal to the number of input samples"),
])
def test_bad_input(torch, call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch, torch.tensor(X))


@pytest.mark.parametrize("x, target", [([0.1, 0.2, 0.3], 1), ([0.1, 0.2, 0.3], [1]), (0.5, 0)])
def test_a_margin_loss_of_one_sample(torch, x, target):
    x = torch.tensor(x)
    loss = torch.nn.functional.multi_margin_loss(x, torch.tensor(target))
    agree(loss, torch.tensor(2 / 3 if x.dim() else 0.0))


def test_operations_without_a_derivative(torch):
    x = torch.tensor([5.0, 7.0], requires_grad=True)
    for call, name in ((lambda: x // 2, "floor_divide"), (lambda: torch.floor_divide(x, x), "floor_divide"),
                       (lambda: (x * 1).floor_divide_(2), "floor_divide_")):
        y = call()
        assert y.grad_fn.name() == "torch::autograd::NotImplemented"
        with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
            y.sum().backward()
    torch.div(x, 2, rounding_mode="floor").sum().backward()
    agree(x.grad, torch.zeros(2))


def test_the_gradient_of_as_strided_scatter():
    import torchish as torch
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    src = torch.ones(2, 2, requires_grad=True)
    y = torch.as_strided_scatter(x, src, (2, 2), (1, 2), 0)
    w = torch.arange(1.0, 10).reshape(3, 3)
    dx, dsrc = torch.autograd.grad((y * w).sum(), [x, src])
    agree(dx, torch.tensor([[0.0, 0.0, 0.0], [0.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))
    agree(dsrc, torch.tensor([[1.0, 3.0], [2.0, 4.0]]))
