"""Hooks on tensors, leaves and nodes."""

import pickle
import re

import pytest
from checks import raises


def test_order_and_replacement(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(("first", g.tolist())))
    handle = x.register_hook(lambda g: 10 * g)
    x.register_hook(lambda g: seen.append(("third", g.tolist())))
    (x * 2).sum().backward()
    assert seen == [("first", [2.0, 2.0]), ("third", [20.0, 20.0])] and x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_hook_sees_the_sum_over_all_paths_once(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * 4).sum().backward()
    assert seen == [7.0]


def test_post_accumulate(torch):
    x = torch.ones(1, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.item())))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert seen == [(True, 2.0), (True, 4.0)]
    with raises(RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_node_hooks(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda outputs: seen.append(("pre", outputs[0].tolist())))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(("post", inputs[0].tolist(), outputs[0].tolist())))
    y.sum().backward()
    assert seen == [("pre", [1.0, 1.0]), ("post", [3.0, 3.0], [1.0, 1.0])]


def test_what_a_hook_may_not_do(torch):
    with raises(RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_hook(print)
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(lambda g: 1.5)
    with raises(TypeError, "expected Variable, but hook returned 'float'"):
        (x * 2).sum().backward()
    handle.remove()

    def grow(g):
        return torch.ones(3)

    x.register_hook(grow)
    with raises(RuntimeError, "hook 'grow' has changed the size of value"):
        (x * 2).sum().backward()


def test_an_exception_in_a_hook_keeps_its_type(torch):
    class Mine(Exception):
        pass

    def fail(g):
        raise Mine("here")

    x = torch.ones(2, requires_grad=True)
    x.register_hook(fail)
    with pytest.raises(Mine, match="here"):
        (x * 2).sum().backward()


def test_module_hooks(torch):
    layer = torch.nn.Linear(2, 2)
    seen = []
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre"))
    layer.register_forward_hook(lambda m, args, out: out * 0 + 5)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append("backward"))
    out = layer(torch.ones(1, 2, requires_grad=True))
    out.sum().backward()
    assert out.tolist() == [[5.0, 5.0]] and seen == ["pre", "backward"]


@pytest.mark.parametrize("returned, error, text", [
    ((), RuntimeError, "has returned an incorrect number of values (got 0, but expected 1)"),
    ([None], TypeError, "expected tuple, but hook returned 'list'")])
@pytest.mark.parametrize("kind", ["register_hook", "register_prehook"])
def test_node_hooks_return_as_many_gradients(torch, kind, returned, error, text):
    y = torch.ones(2, requires_grad=True).clone()
    getattr(y.grad_fn, kind)(lambda *grads: returned)
    with pytest.raises(error, match=re.escape(text)):
        y.sum().backward()


def _hook(*args):
    return None


def test_handles_are_pickled_with_their_module(torch):
    m = torch.nn.Linear(2, 2)
    m.handle = m.register_forward_hook(_hook)
    copied = pickle.loads(pickle.dumps(m))
    assert len(copied._forward_hooks) == 1
    copied.handle.remove()
    assert (len(copied._forward_hooks), len(m._forward_hooks)) == (0, 1)
    later = copied.register_forward_hook(_hook)
    assert later.id > copied.handle.id


def test_hooks_of_one_saved_tensor(torch):
    x = torch.tensor([3.0], requires_grad=True)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t * 2, lambda t: t * 5)
    assert y.grad_fn._saved_self.tolist() == [30]
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    y.backward()
    assert x.grad.tolist() == [33]
    with pytest.raises(RuntimeError, match="on a saved tensor after it has been freed"):
        saved.register_hooks(lambda t: t, lambda t: t)


def test_saved_tensors_may_be_changed_inside_the_context(torch):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        out = (b ** 2).sum() + b.exp().sum()
        b.sin_()
        (e,) = [a.exp()]
        e.zero_()
        out.backward()
    assert torch.allclose(a.grad, 2 * a + a.exp())
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        out = a ** 2
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"):
        out.sum().backward()


def test_which_snapshots_are_kept(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        def counts():
            return len(kept.original), len(kept.cloned), len(kept.tid_to_weakhandle)

        a = torch.ones(2, requires_grad=True).clone()
        first, again = a ** 2, a ** 2
        assert counts() == (1, 0, 1)
        a.sin_()
        second = a ** 2
        a[:1] = 0           # a write through a view
        assert counts()[1] == 2
        del first
        assert counts()[1] == 2
        again.sum().backward()
        assert counts()[1] == 1
        del second, a
        assert counts() == (0, 0, 0)
        a = torch.ones(2, requires_grad=True)
        out = a ** 2
        assert counts() == (1, 0, 1)
    assert counts() == (0, 0, 0) and out.shape == (2,)


def test_what_hooks_see_of_a_saved_tensor(torch):
    """The tensor itself, in the graph, and without gradients; what comes back out of no graph is the same object."""
    leaf, plain = torch.ones(2, requires_grad=True), torch.ones(2)
    inner, seen = leaf.clone(), []

    def pack(x):
        seen.append((x is leaf, x is plain, x is inner, x.requires_grad, torch.is_grad_enabled()))
        return x.detach() if x.requires_grad else x

    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            out = xs[0] * 2
            ctx.save_for_backward(*xs, out)
            return out

        @staticmethod
        def backward(ctx, g):
            seen.append([x is y for x, y in zip(ctx.saved_tensors, (leaf, plain, inner))])
            return g, None, None

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        inner * plain
        inner.exp()
        Several.apply(leaf, plain, inner).sum().backward()
    own = False, False, False, True, False
    assert seen == [(False, True, False, False, False), own, (True, False, False, True, False), (False, True, False, False, False),
                    (False, False, True, True, False), own, [False, True, False]]


def test_callbacks_at_the_end_of_backward(torch):
    queue, calls = torch.autograd.Variable._execution_engine.queue_callback, []
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda g: queue(lambda: calls.append(x.grad.item())))
    (x * 3).backward()
    assert calls == [3]
    with pytest.raises(RuntimeError, match="only be installed during backward pass"):
        queue(print)


def test_which_hooks_of_a_leaf_run(torch):
    x, calls = torch.tensor(1.0, requires_grad=True), []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda g: calls.append("pre"))
    node.register_hook(lambda a, b: calls.append("post"))
    x.register_hook(lambda g: calls.append("tensor"))
    torch.autograd.grad(y, x, retain_graph=True)
    assert calls == ["tensor"]
    y.backward()
    assert calls == ["tensor", "tensor", "pre", "post"]
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        (x * 2).backward()


def test_anomaly_mode_tells_the_forward_call(torch):
    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="Error detected in SqrtBackward0. Traceback of forward call"):
        y = x.sqrt() * 0
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output"):
            y.sum().backward()


def test_what_the_running_pass_will_do(torch):
    a, b = (torch.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    c = a * 2
    d, other = c.sin(), b.cos()
    seen = []

    def look(grad):
        seen.append([n.name() for n in torch._C._current_graph_task_execution_order()])
        seen.append([torch._C._will_engine_execute_node(t.grad_fn) for t in (c, d, other)])
    root = d.exp()
    root.register_hook(look)
    with torch.autograd.set_multithreading_enabled(False):
        root.backward()
    assert seen == [["ExpBackward0", "SinBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"], [True, True, False]]
    with pytest.raises(RuntimeError, match="expects the current backward to be executed with multithreading disabled"):
        root = a.exp()
        root.register_hook(look)
        root.backward()
    with pytest.raises(RuntimeError, match="_current_graph_task_execution_order should only be called during the backward pass"):
        torch._C._current_graph_task_execution_order()
    with pytest.raises(RuntimeError, match="_will_engine_execute_node expects an grad_fn, but got Tensor"):
        torch._C._will_engine_execute_node(d)
