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
