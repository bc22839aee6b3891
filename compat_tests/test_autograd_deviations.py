"""Where autograd differs from PyTorch on purpose (docs/deviations.md)."""

import pytest

import torchish as torch


def test_an_input_detached_later_still_differentiates():
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    c = b.sin()
    b.detach_()
    c.backward()        # PyTorch: Trying to use a saved tensor that has been detached in-place
    assert torch.allclose(a.grad, torch.tensor(1.0).cos())


def test_data_leaves_the_views_behind():
    x = torch.ones(2)
    view = x[:]
    x.data = torch.zeros(3)
    x.add_(1)
    assert (x._version, view._version) == (1, 0)        # PyTorch: both 1


def test_each_piece_has_a_node():
    a, b = torch.ones(2, requires_grad=True).unbind()
    assert a.grad_fn is not b.grad_fn and a.output_nr == b.output_nr == 0       # PyTorch: outputs 0 and 1 of one node
    assert a.grad_fn.name() == b.grad_fn.name() == "UnbindBackward0"


def test_the_gradient_of_a_write_through_views_of_another_dtype():
    """`view_as_real`, then `transpose_`, then a write: as without the underscore. PyTorch mixes the elements up."""
    def gradient(transposed):
        leaf = torch.zeros(2, 2, dtype=torch.complex64, requires_grad=True)
        view = transposed(torch.view_as_real(leaf.clone()))
        view += 1
        view.backward(torch.arange(8.0).reshape(2, 2, 2))
        return leaf.grad
    assert torch.equal(gradient(lambda t: t.transpose_(0, 1)), gradient(lambda t: t.transpose(0, 1)))


def test_dimensions_are_shown_as_they_were_normalised():
    x = torch.ones(2, 3, requires_grad=True)
    assert x.transpose(-1, 0).grad_fn._saved_dim0 == 1      # PyTorch: 2 ** 64 - 1
    assert not hasattr(torch.linalg.det(x[:, :2]).grad_fn, "_saved_LU")     # computed again in the backward


def test_a_composed_function_saves_its_inputs():
    x = torch.ones(2, 3, requires_grad=True)
    y = torch.nn.functional.cosine_similarity(x, torch.ones(2, 3))
    x.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):     # in PyTorch intermediate results are saved
        y.sum().backward()
