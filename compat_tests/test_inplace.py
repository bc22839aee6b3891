"""In-place writes: versions, views, refused targets."""

import pytest
from checks import raises

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation: "
MANY_VIEWS = "is a view and is being modified inplace. This view is the output of a function that returns multiple views."


def test_versions(torch):
    x = torch.zeros(3)
    view, detached, other = x[1:], x.detach(), x.clone()
    x.add_(1)
    x[0] = 5
    x.zero_()
    assert [t._version for t in (x, view, detached, other, x.data)] == [3, 3, 3, 0, 0]
    view += 1
    assert x._version == 4 and x.tolist() == [0.0, 1.0, 1.0]


def test_views_see_each_other(torch):
    base = torch.arange(6.0)
    grid, tail = base.view(2, 3), base[4:]
    grid[1] = torch.tensor([7.0, 8.0, 9.0])
    assert base.tolist() == [0.0, 1.0, 2.0, 7.0, 8.0, 9.0] and tail.tolist() == [8.0, 9.0]
    grid.t()[0].mul_(10)
    assert base.tolist() == [0.0, 1.0, 2.0, 70.0, 8.0, 9.0]
    base.fill_(float("nan"))
    grid[:, 1] = 0
    assert grid[:, 1].tolist() == [0.0, 0.0] and bool(grid[:, 0].isnan().all())


LEAF_WRITES = {
    "add_": lambda x: x.add_(1), "mul_": lambda x: x.mul_(2), "zero_": lambda x: x.zero_(),
    "relu_": lambda x: x.relu_(), "item": lambda x: x.__setitem__([0, 1], 1.0), "mask": lambda x: x.__setitem__(x > 0, 1.0),
    "iadd": lambda x: x.__iadd__(1),
}  # fmt: skip


@pytest.mark.parametrize("write", LEAF_WRITES.values(), ids=LEAF_WRITES)
def test_a_leaf_is_not_written(torch, write):
    x = torch.ones(3, requires_grad=True)
    with raises(RuntimeError, LEAF):
        write(x)
    assert x._version == 0 and x.tolist() == [1.0, 1.0, 1.0]
    with torch.no_grad():
        write(x)
    assert x._version == 1


def test_a_view_of_a_leaf_is_not_written(torch):
    x = torch.ones(3, requires_grad=True)
    with raises(RuntimeError, VIEW_OF_LEAF):
        x[0] = 1.0
    with raises(RuntimeError, VIEW_OF_LEAF):
        x.view(-1).mul_(2)


def test_a_saved_tensor_was_modified(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = (y * 2).sum()
    y += 1
    with raises(RuntimeError, MODIFIED + "[torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected version 0 instead."):
        z.backward()
    a = torch.ones(2, requires_grad=True)
    w = torch.ones(2)
    loss = (a * w).sum()
    w.add_(1)
    with raises(RuntimeError, MODIFIED + "[torch.FloatTensor [2]] is at version 1; expected version 0 instead."):
        loss.backward()


def refused(torch, f, written, needing=None):
    """Whether the backward of `f` minds a write to tensor `written` of (x, y, result). `needing`: the only input that needs a gradient."""
    x, y = torch.tensor([[0.5, 1.5], [2.0, 3.0]]), torch.tensor([[2.0, 0.25], [1.5, 1.0]])
    for k, t in enumerate((x, y)):
        t.requires_grad_(needing in (None, k))
    out = f(torch, x, y)
    place = (x, y, out)[written].detach()
    place.copy_(place.clone())
    try:
        out.sum().backward()
    except RuntimeError as e:
        assert "modified by an inplace operation" in str(e)
        return True
    return False


SAVED = {       # what PyTorch saves: of x, y, the result
    "add": (lambda t, x, y: x + y, ""),
    "hypot": (lambda t, x, y: t.hypot(x, y), "xyr"),
    "copysign": (lambda t, x, y: t.copysign(x, y), "xr"),
    "ldexp": (lambda t, x, y: t.ldexp(x, y), "yr"),
    "complex": (lambda t, x, y: t.complex(x, y).real, "xy"),
    "div by trunc": (lambda t, x, y: t.div(x, y, rounding_mode="trunc"), "xy"),
    "index_add": (lambda t, x, y: x.index_add(0, t.tensor([0, 1]), y), "y"),
    "put": (lambda t, x, y: x.put(t.tensor([0, 1, 2, 3]), y), "y"),
    "cdist": (lambda t, x, y: t.cdist(x, y), "xyr"),
    "avg_pool1d": (lambda t, x, y: t.nn.functional.avg_pool1d(x, 1), "x"),
    "reflection": (lambda t, x, y: t.nn.functional.pad(x, (1, 0), mode="reflect"), "x"),
    "kl_div": (lambda t, x, y: t.nn.functional.kl_div(x, y, reduction="none"), "xy"),
    "kl_div of logarithms": (lambda t, x, y: t.nn.functional.kl_div(x, y, reduction="none", log_target=True), ""),
    "l1_loss": (lambda t, x, y: t.nn.functional.l1_loss(x, y), ""),
    "nll_loss": (lambda t, x, y: t.nn.functional.nll_loss(x, t.tensor([0, 1])), "x"),
    "eigvalsh": (lambda t, x, y: t.linalg.eigvalsh(x), "r"),
    "cholesky": (lambda t, x, y: t.linalg.cholesky(x @ x.T + 1), "xr"),
    "nuclear norm": (lambda t, x, y: t.linalg.matrix_norm(x, "nuc"), ""),
    "masked_select": (lambda t, x, y: x.masked_select(x > 1), "x"),
    "rfft": (lambda t, x, y: t.fft.rfft(x).abs(), "x"),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_an_operation_saves(torch, name):
    f, saved = SAVED[name]
    assert "".join("xyr"[k] for k in range(3) if refused(torch, f, k)) == saved


def test_saved_for_the_other_gradient_only(torch):
    def hypot(t, x, y):
        return t.hypot(x, y)
    assert not refused(torch, hypot, 1, needing=0) and refused(torch, hypot, 0, needing=0)

    def index_add(t, x, y):
        return x.index_add(0, t.tensor([0, 1]), y)
    assert not refused(torch, index_add, 1, needing=0) and refused(torch, index_add, 1, needing=1)


def test_a_mask_is_saved(torch):
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    picked = x[mask].sum()
    mask.zero_()
    with raises(RuntimeError, MODIFIED):
        picked.backward()


def test_slices_of_tensor_split_can_be_written(torch):
    x = torch.ones(4, requires_grad=True)
    a, b = torch.tensor_split(x * 1, 2)
    a.mul_(3)
    (a.sum() + b.sum()).backward()
    assert a.grad_fn.name() == "AsStridedBackward0" and x.grad.tolist() == [3, 3, 1, 1]
    with raises(RuntimeError, "Output 0 of Split"):
        torch.split(x * 1, 2)[0].mul_(3)


def test_running_averages_change_unseen(torch):
    x, mean, var = torch.tensor([[1.0], [3.0]], requires_grad=True), torch.zeros(1), torch.ones(1)
    first = torch.nn.functional.batch_norm(x, mean, var, training=True)
    second = torch.nn.functional.batch_norm(x, mean, var, training=True)
    (first + second).sum().backward()
    assert mean._version == var._version == 0 and abs(mean.item() - 0.38) < 1e-6
    third = torch.nn.functional.batch_norm(x, mean, var, training=True)
    mean.zero_()
    with raises(RuntimeError, MODIFIED):
        third.sum().backward()


def test_only_what_is_needed_is_saved(torch):
    x = torch.ones(2, requires_grad=True)
    h = x + 0
    y = (h * torch.full((2,), 3.0)).sum()
    h.mul_(5)
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_writing_a_view_of_a_result(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1] = 10.0
    assert type(y.grad_fn).__name__ == "CopySlices" and y.tolist() == [2.0, 10.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]


def test_a_written_value_gets_the_gradient_of_its_slot(torch):
    v = torch.tensor(4.0, requires_grad=True)
    base = torch.zeros(3)
    base[1] = v
    assert base.requires_grad
    (base * torch.tensor([1.0, 7.0, 1.0])).sum().backward()
    assert v.grad.item() == 7.0


def test_in_place_chain(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    y.mul_(3).add_(x)
    view = y[0]
    view.mul_(2)
    y.sum().backward()
    assert y.tolist() == [8.0, 8.0] and x.grad.tolist() == [8.0, 4.0]


def test_pieces_of_several_views_are_not_written(torch):
    y = torch.ones(2, 2, requires_grad=True) * 1
    for function, node in ((torch.unbind, "Unbind"), (lambda t: t.split(1), "Split")):
        piece = function(y)[0]
        with raises(RuntimeError, f"Output 0 of {node} {MANY_VIEWS}"):
            piece.add_(1)


def test_refused_destinations(torch):
    n = torch.ones(2, dtype=torch.long)
    with raises(RuntimeError, "result type Float can't be cast to the desired output type Long"):
        n.add_(0.5)
    with raises(RuntimeError, "output with shape [1, 3] doesn't match the broadcast shape [2, 3]"):
        torch.ones(1, 3).add_(torch.ones(2, 3))
    with raises(RuntimeError, "unsupported operation: more than one element of the written-to tensor refers to a single memory location."):
        torch.ones(1, 3).expand(2, 3).add_(1)
    x = torch.ones(2, requires_grad=True)
    with raises(
        RuntimeError,
        "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.",
    ):
        torch.add(x, 1, out=torch.ones(2))


def test_detach_and_data(torch):
    x = torch.ones(2, requires_grad=True)
    x.detach().mul_(5)
    assert x.tolist() == [5.0, 5.0] and x._version == 1
    x.data.add_(1)
    assert x.tolist() == [6.0, 6.0] and x._version == 1
    x.data = torch.zeros(3)
    assert x.shape == (3,) and x.requires_grad
    y = x * 2
    with raises(RuntimeError, "Can't detach views in-place. Use detach() instead."):
        y[0:1].detach_()


def test_base_and_strides(torch):
    x = torch.arange(12.0).reshape(3, 4)
    v = x[1:].t()
    assert x._base is not None and v._base is x._base and v._is_view()
    assert v.stride() == (1, 4) and v.storage_offset() == 4 and not v.is_contiguous()
    assert v.contiguous().stride() == (2, 1)
    with raises(
        RuntimeError,
        "view size is not compatible with input tensor's size and stride "
        "(at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
    ):
        v.view(-1)
    assert v.reshape(-1).tolist() == v.flatten().tolist()
    assert x.detach()._base is None


def test_nodes_of_in_place_functions(torch):
    x, f = torch.full((2,), 2.0, requires_grad=True), torch.nn.functional
    for name, write in (("Celu", torch.celu_), ("Elu", f.elu_), ("LeakyRelu", f.leaky_relu_), ("Threshold", lambda t: torch.threshold_(t, 1, 1)),
                        ("Acosh", torch.acosh_), ("Exp", torch.exp_)):
        assert write(x * 1).grad_fn.name() == f"{name}Backward{int(name != 'Exp')}"
    for name in ("acosh", "asinh", "atanh"):
        with pytest.raises(NotImplementedError, match=f"the derivative for 'inplace version of {name}' is not implemented."):
            getattr(torch, name + "_")(x / 4 if name == "atanh" else x * 1).sum().backward()


def test_distinct_elements_by_their_first_names(torch):
    x = torch.tensor([3.0, 1.0, 3.0], requires_grad=True)
    found, inverse = torch._unique(x)
    assert found.tolist() == [1, 3] and inverse.numel() == 0 and found.grad_fn.name() == "UniqueBackward0"
    assert [t.tolist() for t in torch._unique2(x, return_counts=True)] == [[1, 3], [], [1, 2]]
    assert [t.tolist() for t in torch._VF.unique_dim(x, 0)] == [[1, 3], [1, 0, 1], [1, 2]]
