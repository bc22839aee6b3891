"""TorchDispatchMode, the operators that it is told, and selective checkpointing."""

import functools
import importlib
import weakref

import pytest
from checks import raises


def modes(torch):
    return importlib.import_module(torch.__name__ + ".utils._python_dispatch")


def logging(torch, log, change=lambda func, out: out):
    """A mode that notes every operation."""
    class Mode(modes(torch).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(str(func))
            return change(func, func(*args, **(kwargs or {})))
    return Mode()


def seen(torch, fn):
    """The operations of `fn`, without the detaching that PyTorch does between modes."""
    log = []
    with logging(torch, log):
        fn()
    return [name for name in log if name != "aten.detach.default"]


CALLS = {
    "x + 1": "add.Tensor", "1 - x": "rsub.Scalar", "x * y": "mul.Tensor", "x / 2": "div.Tensor", "x ** 2": "pow.Tensor_Scalar",
    "2 ** x": "pow.Scalar", "x == 1": "eq.Scalar", "x > y": "gt.Tensor", "x @ y.t()": "t.default mm.default", "x.mv(y[0])": "select.int mv.default",
    "x.sum()": "sum.default", "x.sum(0)": "sum.dim_IntList", "x.mean(1, keepdim=True)": "mean.dim", "x.max()": "max.default",
    "x.max(1)": "max.dim", "x.softmax(1)": "_softmax.default", "x[0]": "select.int", "x[:, 1:3]": "slice.Tensor",
    "x[torch.arange(2)]": "arange.default index.Tensor", "x.reshape(4, 3)": "view.default", "x.squeeze(0)": "squeeze.dim",
    "x[None].expand(2, 3, 4)": "unsqueeze.default expand.default", "torch.cat([x, y])": "cat.default", "x.double()": "_to_copy.default",
    "x.clone()": "clone.default", "torch.where(x > 0, x, y)": "gt.Scalar where.self", "torch.var_mean(x)": "var_mean.correction",
    "y.clone().mul_(y)": "clone.default mul_.Tensor", "y.clone().zero_()": "clone.default zero_.default",
    "y.clone().uniform_()": "clone.default uniform_.default", "torch.zeros(2, 3)": "zeros.default", "torch.ones_like(x)": "ones_like.default",
    "torch.nn.functional.linear(x, w, b)": "t.default addmm.default", "torch.nn.functional.linear(x, w)": "t.default mm.default",
    "torch.nn.functional.linear(x[None], w, b)": "unsqueeze.default view.default t.default addmm.default view.default",
    "torch.nn.functional.conv2d(x[None, None], y[None, None])": "unsqueeze.default " * 4 + "convolution.default",
    "x.sin().sum().backward()": "sin.default sum.default ones_like.default expand.default cos.default mul.Tensor",
    "(x * y).sum().backward()": "mul.Tensor sum.default ones_like.default expand.default mul.Tensor",
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_mode_is_told(torch, call):
    x, y = torch.rand(3, 4, requires_grad=True), torch.rand(3, 4)
    space = {"torch": torch, "x": x, "y": y, "w": torch.rand(5, 4), "b": torch.rand(5)}
    assert seen(torch, lambda: eval(call, space)) == ["aten." + name for name in CALLS[call].split()]


def test_what_is_whole():
    import torchish as torch
    fn, x, y = torch.nn.functional, torch.rand(3, 4, requires_grad=True), torch.rand(3, 4)
    step = torch.optim.SGD([x], lr=0.1).step
    x.grad = y
    for call, names in ((lambda: fn.layer_norm(x, (4,)), ["layer_norm"]), (lambda: torch.tensor([1.0]).item(), []), (step, ["fused_sgd_"]),
                        (lambda: fn.scaled_dot_product_attention(x, x, x), ["scaled_dot_product_attention"]),
                        (lambda: x.tan().backward(y), ["tan", "tan_backward", "add_"])):
        assert [name.split(".")[1] for name in seen(torch, call)] == names


def test_overloads(torch):
    aten = torch.ops.aten
    sin, add = aten.sin.default, aten.add.Tensor
    assert sin is aten.sin.default and {sin: 1}[aten.sin.default] == 1 and sin != aten.cos.default
    assert (str(sin), sin.name(), add.name(), sin.__name__) == ("aten.sin.default", "aten::sin", "aten::add.Tensor", "sin.default")
    assert (repr(sin), repr(aten.sin)) == ("<OpOverload(op='aten.sin', overload='default')>", "<OpOverloadPacket(op='aten.sin')>")
    assert (str(aten.sin), aten.sin.__name__, add.overloadpacket, add._overloadname) == ("aten.sin", "sin", aten.add, "Tensor")
    x = torch.tensor([[0.3, 0.7]])
    assert torch.equal(sin(x), x.sin()) and torch.equal(add(x, 1, alpha=2), x + 2) and torch.equal(aten.slice.Tensor(x, 1, 1, 2), x[:, 1:])
    with raises(AttributeError, "The underlying op of 'aten.sin' has no overload name 'nothing'"):
        aten.sin.nothing


def test_what_a_mode_returns_is_the_result(torch):
    x = torch.ones(2, requires_grad=True)
    with logging(torch, [], lambda func, out: out + 1 if func is torch.ops.aten.exp.default else out):
        y = x.exp()
    assert y.tolist() == (x.exp() + 1).tolist() and y.grad_fn.name() == "ExpBackward0"
    y.sum().backward()                      # the derivative of exp is its result
    assert x.grad.tolist() == y.tolist()


def test_modes_inside_each_other(torch):
    m, log = modes(torch), []

    class Twice(m.TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append((self.name, str(func), [mode.name for mode in m._get_current_dispatch_mode_stack()]))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Twice("outer") as outer, Twice("inner") as inner:
        assert m._get_current_dispatch_mode() is inner and m._get_current_dispatch_mode_stack() == [outer, inner]
        x.sin()
        assert log == [("inner", "aten.sin.default", ["outer"]), ("outer", "aten.sin.default", [])]
        log.clear()
        with m._pop_mode_temporarily() as popped:
            x.cos()
        assert popped is inner and log == [("outer", "aten.cos.default", [])]
        log.clear()
        with m._disable_current_modes():
            x.cos()
        assert not log and m._get_current_dispatch_mode_stack() == [outer, inner] and m.is_in_torch_dispatch_mode()
    assert m._get_current_dispatch_mode() is None and not m.is_in_torch_dispatch_mode()
    with pytest.raises(NotImplementedError), m.TorchDispatchMode():
        x.sin()
    x.sin()


def test_a_mode_below_autocast_and_forward_mode(torch):
    fwd, x = torch.autograd.forward_ad, torch.ones(2, 2)
    log = []
    with logging(torch, log):
        with torch.autocast("cpu"):
            assert x.mm(x).dtype is torch.bfloat16
        assert log.pop() == "aten.mm.default"
        with fwd.dual_level():
            dual = fwd.make_dual(x, x).sin()
            assert torch.allclose(fwd.unpack_dual(dual).tangent, x.cos())
        assert "aten.sin.default" in log
    with fwd.dual_level():
        with logging(torch, log):
            dual = fwd.make_dual(x, x).sin()
        assert torch.allclose(fwd.unpack_dual(dual.exp()).tangent, x.cos() * x.sin().exp())


def test_writes_and_views_in_a_mode_belong_to_the_graph(torch):
    def fn(x):
        y = x * 1
        y[0].mul_(3)
        y.t().add_(1)
        y[:, 1] = 2
        return (y.view(-1) * torch.arange(4.)).sum()

    want = torch.autograd.grad(fn(x := torch.ones(2, 2, requires_grad=True)), x)[0]
    with logging(torch, []):
        out = fn(x)
    assert torch.equal(torch.autograd.grad(out, x)[0], want)
    with logging(torch, []):
        assert torch.equal(torch.autograd.grad(fn(x), x)[0], want)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
            x.add_(1)


def test_training_in_a_mode(torch):
    def run(inside):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
        optimizer, log = torch.optim.Adam(net.parameters()), []
        x, y = torch.randn(6, 4), torch.randn(6, 2)
        for _ in range(3):
            with logging(torch, log) if inside else torch.enable_grad():
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(net(x), y).backward()
                optimizer.step()
        assert not inside or log.count("aten.addmm.default") == 6
        return [p.tolist() for p in net.parameters()]

    for a, b in zip(run(True), run(False)):
        assert torch.allclose(torch.tensor(a), torch.tensor(b), atol=1e-6)


def test_the_node_that_runs(torch):
    nodes, current = [], torch._C._current_autograd_node

    class Mode(modes(torch).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nodes.append((str(func), type(current()).__name__ if current() else None))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Mode():
        out = x.mul(2).div(3).sum()
        nodes.clear()
        out.backward()
    assert nodes == [("aten.ones_like.default", None), ("aten.expand.default", "SumBackward0"), ("aten.div.Tensor", "DivBackward0"),
                     ("aten.mul.Tensor", "MulBackward0"), ("aten.detach.default", "AccumulateGrad")]
    nodes.clear()
    with Mode(), importlib.import_module(torch.__name__ + ".utils._mode_utils").no_dispatch():
        x.sin()
    assert not nodes


# -- selective checkpointing --------------------------------------------------------------------------------------------

def selective(torch, fn, x, policy, **options):
    contexts = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, policy, **options)
    return torch.utils.checkpoint.checkpoint(fn, x, use_reentrant=False, context_fn=contexts)


@pytest.mark.parametrize("policy", ["list", "bool", "save", "prefer"])
def test_saved_results_are_not_computed_again(torch, policy):
    aten, kinds = torch.ops.aten, torch.utils.checkpoint.CheckpointPolicy
    w = torch.rand(4, 4, requires_grad=True)

    def fn(x):
        return x.cos().mm(w).sin().mm(w).sin().sum()

    def decide(context, op, *args, **kwargs):
        assert not context.is_recompute and isinstance(context.op_output, torch.Tensor)
        save = op == aten.mm.default
        return save if policy == "bool" else (kinds.PREFER_SAVE if policy == "prefer" else kinds.MUST_SAVE) if save else \
            kinds.PREFER_RECOMPUTE

    x = torch.rand(4, 4, requires_grad=True)
    out = selective(torch, fn, x, [aten.mm.default] if policy == "list" else decide)
    log = []
    with logging(torch, log):
        out.backward()
    got = x.grad, w.grad
    want = torch.autograd.grad(fn(x), (x, w))
    assert all(map(torch.allclose, got, want))
    assert log.count("aten.mm.default") == 4 and log.count("aten.sin.default") == 2     # those of the derivatives, and the first sin again


def test_what_selective_checkpointing_refuses(torch):
    aten = torch.ops.aten
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    with raises(ValueError, "Expected op in `op_list` to be an OpOverload but got: 2 of type <class 'int'>. "):
        make([2])
    with pytest.raises(ValueError, match="Please update the OpOverloadPacket to a specific OpOverload"):
        make([aten.sin])
    with raises(TypeError, "policy_fn_or_list must be either a function or a list of ops."):
        make(2)
    x = torch.ones(2, requires_grad=True)

    def writes(x):
        return x.sin().mul_(2).cos().exp()

    with raises(RuntimeError, "Tensor cached during selective activation checkpoint has been mutated"):
        selective(torch, writes, x, [aten.sin.default]).sum().backward()
    selective(torch, writes, x, [aten.sin.default], allow_cache_entry_mutation=True).sum().backward()
    out = selective(torch, lambda x: x.sin().cos().exp(), x, [aten.sin.default])
    out.sum().backward(retain_graph=True)
    with raises(RuntimeError, "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                              "selective activation checkpoint."):
        out.sum().backward()
    calls = []

    def changes(x):
        calls.append(0)
        return (x.sin() if len(calls) == 1 else x.tan()).exp()

    with pytest.raises(RuntimeError, match="aten.tan.default encountered during backward but not found in storage. This can happen if"):
        selective(torch, changes, x, [aten.sin.default]).sum().backward()


def test_kept_results_die_with_their_graph(torch):
    kept, x = [], torch.ones(2, requires_grad=True)
    aten, get = torch.ops.aten, modes(torch)._get_current_dispatch_mode

    def fn(x):
        y = x.cos().exp()
        if not kept:
            kept.append(weakref.ref(get().storage[aten.exp.default][0].val))
        return y.sin()

    out = selective(torch, fn, x, [aten.exp.default])
    assert kept[0]() is not None
    del out
    assert kept[0]() is None
    kept.clear()
    out = selective(torch, fn, x, [aten.exp.default])
    out.sum().backward(retain_graph=True)
    assert kept[0]() is None
