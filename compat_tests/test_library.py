"""torch.library.custom_op: Python functions as operators."""

import importlib

import pytest
from checks import raises


@pytest.fixture
def sine(torch):
    """An operator k * sin(x), its number of runs in `sine.runs`."""
    runs = []

    def sine(x, k=2.0, *, flip=False):
        runs.append(torch.is_grad_enabled())
        return (-x if flip else x).sin() * k

    sine.__annotations__ = {"x": torch.Tensor, "k": float, "flip": bool, "return": torch.Tensor}
    with torch.library._scoped_library("torchish_test", "FRAGMENT"):
        yield torch.library.custom_op("torchish_test::sine", sine, mutates_args=()), runs


def derive(op):
    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k, ctx.sign = inputs[1], -1 if keyword_only_inputs["flip"] else 1

    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos() * ctx.k * ctx.sign, None

    op.register_autograd(backward, setup_context=setup_context)


def test_an_operator(torch, sine):
    op, runs = sine
    x = torch.tensor([0.3, 0.7], requires_grad=True)
    overload = torch.ops.torchish_test.sine.default
    assert str(overload) == "torchish_test.sine.default" and overload is op._opoverload and repr(op) == "<CustomOpDef(torchish_test::sine)>"
    out = op(x)
    assert runs == [False] and out.grad_fn.name() == "GeneratedBackwardFor_torchish_test_sine_defaultBackward"
    with raises(RuntimeError, "Trying to backward through torchish_test.sine.default but no autograd formula was registered. Please use "
                              "register_autograd to add one."):
        out.sum().backward()
    derive(op)
    for call in op, torch.ops.torchish_test.sine, overload:
        assert torch.allclose(torch.autograd.grad(call(x, 3.0, flip=True).sum(), x)[0], -3 * x.cos())
    assert not op(x.detach()).requires_grad
    torch.library.register_vmap("torchish_test::sine", lambda info, dims, x, k=2.0, flip=False: (op(x, k, flip=flip), dims[0]))
    assert torch.allclose(torch.vmap(op)(x.detach()[None]), 2 * x.detach().sin()[None])


def test_a_dispatch_mode_and_a_policy_see_the_operator(torch, sine):
    op, runs = sine
    derive(op)
    mode, seen = importlib.import_module(torch.__name__ + ".utils._python_dispatch").TorchDispatchMode, []

    class Log(mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.tensor([0.3, 0.7], requires_grad=True)
    with Log():
        op(x)
    assert seen == [op._opoverload]
    runs.clear()
    tools = torch.utils.checkpoint
    out = tools.checkpoint(lambda x: op(x).exp(), x, use_reentrant=False,
                           context_fn=lambda: tools.create_selective_checkpoint_contexts([op._opoverload]))
    assert torch.allclose(torch.autograd.grad(out.sum(), x)[0], 2 * x.cos() * (2 * x.sin()).exp()) and len(runs) == 1


def test_calls_and_functions_that_are_refused(torch, sine):
    op, _ = sine
    schema = "torchish_test::sine(Tensor x, float k=2., *, bool flip=False) -> Tensor"
    x = torch.ones(2, requires_grad=True)
    with raises(RuntimeError, f"torchish_test::sine() takes 2 positional argument(s) but 3 was/were given.  Declaration: {schema}"):
        op(x, 1.0, 2.0)
    with raises(RuntimeError, f"torchish_test::sine() is missing value for argument 'x'. Declaration: {schema}"):
        op()
    with raises(RuntimeError, f"Unknown keyword argument 'z' for operator 'torchish_test::sine'. Schema: {schema}"):
        op(x, z=1)
    with raises(RuntimeError, "torchish_test::sine() Expected a value of type 'Tensor' for argument 'x' but instead found type 'str'."):
        op("a")
    make = torch.library.custom_op
    with raises(ValueError, "infer_schema(func): Parameter x must have a type annotation."):
        make("torchish_test::a", lambda x: x, mutates_args=())

    def same(x):
        return x.view(-1)

    same.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    with pytest.raises(RuntimeError, match="The output of this custom operator \\(1\\) must not also be an input to this custom operator"):
        make("torchish_test::same", same, mutates_args=())(torch.ones(2))
    with pytest.raises(ValueError, match="{'q'} in mutates_args were not found in the custom op's signature"):
        make("torchish_test::q", same, mutates_args={"q"})
    with raises(AttributeError, "'_OpNamespace' 'torchish_test' object has no attribute 'nothing'"):
        torch.ops.torchish_test.nothing


def test_lists_and_writes(torch):
    def total(xs):
        return xs[0] + xs[1]

    def fill(x):
        x.fill_(1)

    total.__annotations__ = {"xs": list[torch.Tensor], "return": torch.Tensor}
    fill.__annotations__ = {"x": torch.Tensor, "return": None}
    with torch.library._scoped_library("torchish_test", "FRAGMENT"):
        op = torch.library.custom_op("torchish_test::total", total, mutates_args=())
        x = torch.ones(2, requires_grad=True)
        op.register_autograd(lambda ctx, g: ([g, 2 * g],))
        assert torch.autograd.grad(op([x, x]).sum(), x)[0].tolist() == [3.0, 3.0]
        op.register_autograd(lambda ctx, g: (g, g))
        with pytest.raises(RuntimeError, match="Expected the return from backward to be of the same structure as the inputs."):
            op([x, x]).sum().backward()
        op, y = torch.library.custom_op("torchish_test::fill", fill, mutates_args={"x"}), torch.zeros(2)
        op(y)
        assert y.tolist() == [1.0, 1.0] and y._version > 0
        with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
            op.register_autograd(lambda ctx, g: g)

        @op.register_kernel("cpu")
        def _(x):
            x.fill_(7)

        op(y)
        assert y.tolist() == [7.0, 7.0]
