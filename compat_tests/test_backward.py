"""backward() and autograd.grad: arguments, accumulation, freed graphs, retained gradients."""

import pytest
from checks import agree, raises, warnings_of

FREED = "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed)."
UNUSED = "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
NOT_A_LEAF = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed."


def test_gradients_accumulate_into_the_same_object(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    first = x.grad
    version = first._version
    (x * x).sum().backward()
    assert x.grad is first and first.tolist() == [4.0, 8.0] and first._version == version + 1
    x.grad = None
    (3 * x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and first.tolist() == [4.0, 8.0]


def test_grad_of_a_result_is_none_and_warns(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.sum().backward()
    caught = warnings_of(lambda: y.grad)
    assert [kind for kind, _ in caught] == ["UserWarning"] and caught[0][1].startswith(NOT_A_LEAF)
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_grad(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.retains_grad and y.grad.tolist() == [4.0, 4.0] and not y.grad.requires_grad
    x.retain_grad()
    assert not x.retains_grad
    with raises(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(2).retain_grad()


def test_roots(torch):
    x = torch.ones(3, requires_grad=True)
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()
    with raises(
        RuntimeError,
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of torch.Size([3]).",
    ):
        (x * 2).backward(torch.ones(2))
    (x * 2).backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    (x * 2).sum(dim=0, keepdim=True).unsqueeze(0).backward()
    assert x.grad.tolist() == [4.0, 6.0, 8.0]


def test_grad_arguments(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with raises(RuntimeError, UNUSED):
        torch.autograd.grad(y, [x, z], retain_graph=True)
    gx, gz = torch.autograd.grad(y, [x, z], retain_graph=True, allow_unused=True)
    assert gx.tolist() == [2.0, 4.0] and gz is None
    gx, gz = torch.autograd.grad(y, (x, z), retain_graph=True, materialize_grads=True)
    assert gz.tolist() == [0.0, 0.0] and not gz.requires_grad
    with raises(RuntimeError, "One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(y, torch.ones(2), retain_graph=True, allow_unused=True)
    assert x.grad is None
    (same,) = torch.autograd.grad(y, y, retain_graph=True)
    assert same.item() == 1.0


def test_batched_grad_outputs(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


def test_backward_into_chosen_inputs(torch):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (x * w).sum().backward(inputs=[w])
    assert x.grad is None and w.grad.tolist() == [1.0, 1.0]
    with raises(RuntimeError, "`inputs` argument to `backward()` cannot be empty."):
        (x * w).sum().backward(inputs=[])


SECOND_BACKWARD_WORKS = {
    "add": lambda x: x + 1, "neg": lambda x: -x, "sum": lambda x: x.sum(0), "view": lambda x: x.view(-1),
    "slice": lambda x: x[1:], "t": lambda x: x.t(), "clone": lambda x: x.clone(), "mean": lambda x: x.mean(1),
}  # fmt: skip
SECOND_BACKWARD_FAILS = {
    "mul_const": lambda x: 2 * x, "div_const": lambda x: x / 4, "square": lambda x: x * x, "exp": lambda x: x.exp(),
    "sin": lambda x: x.sin(), "tanh": lambda x: x.tanh(), "mm": lambda x: x @ x, "relu": lambda x: x.relu(),
    "prod": lambda x: x.prod(), "gather": lambda x: x[[0, 0]], "sigmoid": lambda x: x.sigmoid(),
}  # fmt: skip


@pytest.mark.parametrize("function", SECOND_BACKWARD_WORKS.values(), ids=SECOND_BACKWARD_WORKS)
def test_nodes_that_save_nothing_run_twice(torch, function):
    x = torch.ones(2, 2, requires_grad=True)
    y = function(x).sum()
    y.backward()
    once = x.grad.clone()
    y.backward()
    assert torch.equal(x.grad, 2 * once)


@pytest.mark.parametrize("function", SECOND_BACKWARD_FAILS.values(), ids=SECOND_BACKWARD_FAILS)
def test_nodes_that_save_run_once(torch, function):
    x = torch.ones(2, 2, requires_grad=True)
    y = function(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with raises(RuntimeError, FREED):
        y.backward()


def test_only_executed_nodes_are_freed(torch):
    x = torch.ones(2, requires_grad=True)
    shared = x.exp()
    a, b = (shared * 2).sum(), (shared * 3).sum()
    a.backward()
    with raises(RuntimeError, FREED):
        b.backward()
    c = x.sin().sum()
    c.backward()
    assert x.grad is not None


def test_create_graph_gives_higher_orders(torch):
    x = torch.tensor(0.5, requires_grad=True)
    y = x.sin()
    for expected in ("cos", "-sin", "-cos", "sin"):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        sign = -1 if expected.startswith("-") else 1
        agree(y.item(), sign * getattr(torch, expected.lstrip("-"))(x).item())


def test_a_constant_derivative_ends_the_chain(torch):
    x = torch.tensor(0.5, requires_grad=True)
    (g,) = torch.autograd.grad(3 * x, x, create_graph=True)
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.grad(g, x)


def test_slicing_for_pinns(torch):
    xt = torch.rand(5, 2, requires_grad=True)
    u = (xt[:, 0:1] ** 3) * xt[:, 1:2] ** 2
    (du,) = torch.autograd.grad(u, xt, torch.ones_like(u), create_graph=True)
    u_x = du[:, 0:1]
    (d2u,) = torch.autograd.grad(u_x, xt, torch.ones_like(u_x), create_graph=True)
    x, t = xt[:, 0].tolist(), xt[:, 1].tolist()
    agree(d2u[:, 0].tolist(), [6 * a * b**2 for a, b in zip(x, t, strict=True)], rtol=1e-4)
    with raises(RuntimeError, "The differentiated Tensor at index 0 appears to not have been used in the graph."):
        torch.autograd.grad(u, xt[:, 0:1], torch.ones_like(u))


def test_assigning_grad(torch):
    x = torch.ones(2, requires_grad=True)
    with raises(RuntimeError, "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'."):
        x.grad = torch.ones(3)
    with raises(TypeError, "assigned grad expected to be a Tensor or None but got grad of type"):
        x.grad = 1.0
    x.grad = torch.ones(2)
    del x.grad
    assert x.grad is None


def test_custom_function(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return scale * x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return 3 * ctx.scale * x**2 * grad, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Cube.apply(x, 2.0)
    assert y.grad_fn.name() == "CubeBackward"
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [6.0, 24.0] and h.tolist() == [12.0, 24.0]


def test_attributes_of_ctx_are_the_users(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.edges, ctx.plain, ctx.run, ctx.outs, ctx.place, ctx.k = 1, 2, 3, 4, 5, k
            ctx.save_for_backward(x)
            return x * k

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert (ctx.edges, ctx.plain, ctx.run, ctx.outs, ctx.place) == (1, 2, 3, 4, 5)
            return g * ctx.k * x, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Scale.apply(x, 3.0)
    assert (y.grad_fn.k, y.grad_fn.name(), len(y.grad_fn.next_functions)) == (3.0, "ScaleBackward", 1)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 6.0]


@pytest.mark.parametrize("call,name,function", [
    (lambda torch, x: torch.unique(x), "Unique2Backward0", "_unique2"),
    (lambda torch, x: x.unique(return_counts=True)[0], "Unique2Backward0", "_unique2"),
    (lambda torch, x: torch.unique(x, dim=0), "UniqueDimBackward0", "unique_dim"),
    (lambda torch, x: torch.unique_consecutive(x), "UniqueConsecutiveBackward0", "unique_consecutive")])
def test_distinct_elements_have_no_derivative(torch, call, name, function):
    x = torch.tensor([2.0, 1.0, 1.0], requires_grad=True)
    out = call(torch, x * 1)
    assert out.requires_grad and type(out.grad_fn).__name__ == name
    with pytest.raises(NotImplementedError, match=f"the derivative for '{function}' is not implemented."):
        out.sum().backward()
    assert not call(torch, x.detach()).requires_grad
    with torch.no_grad():
        assert not call(torch, x).requires_grad


def test_a_gradient_with_a_history_is_copied_into_its_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match="create_graph=True"):
        (x ** 3).sum().backward(create_graph=True)
    node = x.grad.grad_fn
    assert type(node).__name__ == "CopyBackwards" and node.next_functions[0][0] is None
    first = x.grad
    second, = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6.0, 12.0]


def test_the_error_of_once_differentiable_has_leaves_of_its_own(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, factor, b):
            ctx.save_for_backward(a, b)
            return factor * a * b

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, None, g * a

    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    ones = torch.ones((), requires_grad=True)
    grad, _ = torch.autograd.grad(Product.apply(a, 2, b).sum(), (a, b), ones, create_graph=True)
    assert type(grad.grad_fn).__name__ == "Error"
    assert [type(node).__name__ for node, _ in grad.grad_fn.next_functions if node is not None] == ["AccumulateGrad"] * 2
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        grad.sum().backward()


def test_switches_that_change_no_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.enforce_grad_layout_policy(False):
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
