"""Views that leave a custom Function: they can be read, and refuse writes that would lose the Function's backward."""

import pytest
from checks import raises

WHY = ("This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle view+inplace "
       "would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. "
       "You can fix this by cloning the output of the custom Function.")
MULTIPLE = "This view is the output of a function that returns multiple views."


def _function(torch, which):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return {"as is": lambda: x, "view": lambda: x.view(-1), "view of a result": lambda: (2 * x).view(-1)}[which]()

        @staticmethod
        def backward(ctx, g):
            return 3 * g.view(2, 2)
    return Same


def _several(torch):
    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x, 2 * x

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h
    return Several


@pytest.mark.parametrize("which", ["as is", "view", "view of a result"])
def test_writes_are_refused(torch, which):
    x = torch.ones(2, 2, requires_grad=True)
    y = _function(torch, which).apply(x * 1)
    assert y._is_view() and repr(y.grad_fn).startswith("<torch.autograd.function.SameBackward object")
    with raises(RuntimeError, "Output 0 of Same is a view and is being modified inplace. " + WHY):
        y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_its_history_is_gone_when_the_input_was_written(torch):
    x = torch.ones(2, 2, requires_grad=True) * 1
    y = _function(torch, "as is").apply(x)
    x.add_(1)
    with raises(RuntimeError, "Output 0 of Same is a view and its base or another view of its base has been modified inplace. " + WHY):
        _ = y.grad_fn


def test_one_of_several_outputs(torch):
    x, y = _several(torch).apply(torch.ones(2, requires_grad=True) * 1)
    y.add_(1)
    with raises(RuntimeError, "Output 0 of Several is a view and is being modified inplace. " + MULTIPLE):
        x.add_(1)


def test_without_gradient_it_is_a_plain_view(torch):
    x = torch.ones(2, 2)
    y = _function(torch, "as is").apply(x)
    y.add_(1)
    assert y is not x and y._is_view() and not y.requires_grad and x.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_function_may_change_a_view(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.add_(y)

        @staticmethod
        def backward(ctx, g):
            return g * 2, g * 3

    a, b = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    base = a.clone()
    view = base[1:]
    assert Add.apply(view, b) is view
    assert base.grad_fn.name() == "torch::autograd::CopySlices" and view.grad_fn.name() == "AsStridedBackward0"
    base.sum().backward()
    assert base.tolist() == [1, 2, 2] and a.grad.tolist() == [1, 2, 2] and b.grad.tolist() == [3, 3]


def test_changed_views_that_are_refused(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1), x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + h

    a = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="your Function cannot return more than one Tensor"):
        Two.apply(a.clone()[:1])
    with torch.no_grad():
        view = a.clone()[:1].requires_grad_()
    inner = view[:]
    with pytest.raises(RuntimeError, match="is a view of a view which was created in no_grad mode and is being modified inplace"):
        inner.add_(1)


@pytest.mark.parametrize("what, text", [
    ("copy", "but the jvp is not returning a view"), ("other", "not returning a view of the given grad input"),
    ("wrong", "an invalid number of forward gradients"), ("number", "expected Variable or None")])
def test_a_jvp_must_do_as_forward_does(torch, what, text):
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def jvp(ctx, t):
            t = t[:2]
            return {"copy": t.clone(), "other": t.clone()[:], "wrong": (t, t), "number": 3, "right": t}[what]

    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(RuntimeError, match=text):
            Part.apply(x)
