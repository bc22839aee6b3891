"""torch.autograd.functional, torch.func and the tools of torch.autograd.graph."""

import pytest
from checks import agree, raises


def cubic(torch):
    return lambda a, b: (a**2 * b).sum()


@pytest.fixture
def x(torch):
    return torch.tensor([1.0, 2.0])


@pytest.fixture
def y(torch):
    return torch.tensor([3.0, 4.0])


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobian_nests_as_the_outputs_and_inputs_do(torch, x, y, options):
    jac = torch.autograd.functional.jacobian(lambda a, b: (a * b.sum(), b**2), (x, y), **options)
    agree(jac, [[[[7.0, 0.0], [0.0, 7.0]], [[1.0, 1.0], [2.0, 2.0]]], [[[0.0, 0.0], [0.0, 0.0]], [[6.0, 0.0], [0.0, 8.0]]]])


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}])
def test_hessian(torch, x, options):
    hessian = torch.autograd.functional.hessian(lambda t: (t**3).sum() + t[0] * t[1], x, **options)
    agree(hessian, [[6.0, 1.0], [1.0, 12.0]])


def test_products(torch, x):
    functional, v = torch.autograd.functional, torch.tensor([10.0, 1.0])
    square, cube = (lambda t: t**2), (lambda t: (t**3).sum())
    agree(functional.vjp(square, x, v), [[1.0, 4.0], [20.0, 4.0]])
    agree(functional.jvp(square, x, v), [[1.0, 4.0], [20.0, 4.0]])
    agree(functional.hvp(cube, x, v), [9.0, [60.0, 12.0]])
    agree(functional.vhp(cube, x, v), [9.0, [60.0, 12.0]])


def test_create_graph_connects_the_result(torch, x):
    x.requires_grad_()
    jac = torch.autograd.functional.jacobian(lambda t: t**3, x, create_graph=True)
    agree(torch.autograd.grad(jac.sum(), x), [[6.0, 12.0]])
    assert not torch.autograd.functional.jacobian(lambda t: t**3, x).requires_grad


def test_strict_mode(torch, x):
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    with raises(RuntimeError, "Output 0 of the user-provided function does not require gradients."):
        jacobian(lambda t: torch.ones(2), x, strict=True)
    c = torch.ones(2, requires_grad=True)
    with raises(RuntimeError, "Output 0 of the user-provided function is independent of input 0."):
        jacobian(lambda t: c * 2, x, strict=True)
    with raises(RuntimeError, "While computing the hessian, found that the jacobian"):
        hessian(lambda t: (2 * t).sum(), x, strict=True)


def test_what_the_arguments_must_be(torch, x):
    functional = torch.autograd.functional
    with raises(RuntimeError, "The vector v can only be None if the user-provided function returns a single Tensor"):
        functional.vjp(lambda t: t**2, x)
    with raises(RuntimeError, "v has invalid size: should be torch.Size([2]) but got torch.Size([3])."):
        functional.jvp(lambda t: t**2, x, torch.ones(3))
    with raises(RuntimeError, "The Tensor returned by the function given to hessian should contain a single element"):
        functional.hessian(lambda t: t**2, x)
    with raises(TypeError, "The inputs given to jacobian must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(lambda t: t, [x])


# --- torch.func ------------------------------------------------------------------------------------------------------

def test_grad(torch, x, y):
    func = torch.func
    agree(func.grad(cubic(torch), argnums=(0, 1))(x, y), [[6.0, 16.0], [1.0, 4.0]])
    agree(func.grad_and_value(cubic(torch))(x, y), [[6.0, 16.0], 19.0])
    agree(func.grad(lambda t: (t.sum(), t * 5), has_aux=True)(x), [[1.0, 1.0], [5.0, 10.0]])
    agree(func.grad(lambda d: (d["a"] * d["b"]).sum())({"a": x, "b": y}), {"a": [3.0, 4.0], "b": [1.0, 2.0]})
    agree(func.grad(func.grad(func.grad(lambda t: t**4)))(torch.tensor(2.0)), 48.0)
    with raises(RuntimeError, "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 dims."):
        func.grad(lambda t: t * 2)(x)


def test_a_result_requires_grad_only_for_what_is_outside(torch, x):
    w = torch.ones(2, requires_grad=True)
    assert not torch.func.grad(lambda t: (t**3).sum())(x).requires_grad
    outside = torch.func.grad(lambda t: (t**2 * w).sum())(x)
    agree(torch.autograd.grad(outside.sum(), w), [[2.0, 4.0]])


def test_jacobians_agree(torch):
    func, point = torch.func, torch.tensor([0.5, -1.5])

    def f(t):
        return torch.stack([t[0] * t[1], torch.sin(t[0]), t[1] ** 2])

    expected = [[-1.5, 0.5], [0.8775826, 0.0], [0.0, -3.0]]
    agree(func.jacrev(f)(point), expected)
    agree(func.jacfwd(f)(point), expected)
    agree(func.hessian(lambda t: (t**3).sum() + t[0] * t[1])(point), [[3.0, 1.0], [1.0, -9.0]])
    out, pull = func.vjp(f, point)
    agree(pull(torch.ones(3)), [[-0.6224174, -2.5]])
    agree(func.jvp(f, (point,), (torch.ones(2),))[1], [-1.0, 0.8775826, -3.0])


def test_vmap(torch):
    vmap, rows, w = torch.vmap, torch.arange(6.0).reshape(2, 3), torch.tensor([1.0, 0.0, -1.0])
    agree(vmap(torch.dot, in_dims=(0, None))(rows, w), [-2.0, -2.0])
    agree(vmap(lambda t: t * 2, in_dims=1, out_dims=1)(rows), [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]])
    agree(vmap(vmap(lambda a, b: a * b, in_dims=(0, None)))(rows, torch.tensor([1.0, 10.0])), [[0.0, 1.0, 2.0], [30.0, 40.0, 50.0]])
    agree(vmap(lambda d: d["a"].sum())({"a": rows}), [3.0, 12.0])
    with raises(ValueError, "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [2, 3]"):
        vmap(torch.add)(rows, w)


def test_vmap_and_derivatives_nest(torch):
    func, rows = torch.func, torch.tensor([[0.5, -1.0], [1.0, 2.0]])
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def f(t):
        return (t**3 * w).sum()

    agree(torch.vmap(func.grad(f))(rows), [[0.75, 6.0], [3.0, 24.0]])
    agree(torch.vmap(func.hessian(f))(rows), [[[3.0, 0.0], [0.0, -12.0]], [[6.0, 0.0], [0.0, 24.0]]])
    laplace = torch.vmap(lambda t: func.hessian(f)(t).diagonal().sum())(rows)
    agree(torch.autograd.grad(laplace.sum(), w), [[9.0, 6.0]])
    agree(func.grad(lambda t: torch.vmap(lambda r: (r * t).sum() ** 2)(rows).sum())(torch.ones(2)), [5.5, 13.0])


def test_functional_call(torch):
    layer = torch.nn.Linear(2, 1)
    given = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([0.5])}
    rows = torch.tensor([[1.0, 1.0], [2.0, 0.0]])
    agree(torch.func.functional_call(layer, given, (rows,)), [[3.5], [2.5]])

    def loss(parameters, row):
        return torch.func.functional_call(layer, parameters, (row,)).sum()

    agree(torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(given, rows)["weight"], [[[1.0, 1.0]], [[2.0, 0.0]]])


# --- torch.autograd.graph --------------------------------------------------------------------------------------------

def test_saved_tensors_hooks(torch):
    graph, a = torch.autograd.graph, torch.tensor([2.0, 3.0], requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t.tolist(), lambda packed: torch.tensor(packed) * 2):
        b = a * a
    b.sum().backward()
    assert a.grad.tolist() == [8.0, 12.0]
    with graph.save_on_cpu():
        c = (a * a).exp()
    agree(torch.autograd.grad(c.sum(), a), [[218.39260, 48618.504]])
    with graph.disable_saved_tensors_hooks("not here"), raises(RuntimeError, "not here"):
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass


def test_gradient_edges_and_versions(torch):
    graph, a = torch.autograd.graph, torch.ones(2, requires_grad=True)
    b = a * 2
    edge = graph.get_gradient_edge(b)
    assert edge.node is b.grad_fn and edge.output_nr == 0 and isinstance(edge.node, graph.Node)
    with raises(RuntimeError, "It is not possible to get the gradient edge for a Tensor that does not require gradients"):
        graph.get_gradient_edge(torch.ones(2))
    c = (a * a).sum()
    graph.increment_version([a, a])
    assert a._version == 2
    with raises(RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation"):
        c.backward()


def test_private_names_that_libraries_import(torch):
    functional = torch.autograd.functional
    first, second = functional._construct_standard_basis_for((torch.ones(1), torch.ones(2)), (1, 2))
    assert first.tolist() == [[1.0], [0.0], [0.0]]
    assert second.tolist() == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert functional._as_tuple(first, "inputs", "jacobian") == (False, (first,))
    assert functional._as_tuple((first, second), "inputs", "jacobian") == (True, (first, second))
    x = torch.ones(1, requires_grad=True) * 2
    ((y,),) = functional._grad_postprocess(((x,),), create_graph=False)
    assert not y.requires_grad and functional._grad_postprocess((x,), create_graph=True)[0] is x
    assert functional._tuple_postprocess(((y,),), (False, True)) == (y,)
    assert functional._tuple_postprocess(((y,),), (True, False)) == (y,)
    assert functional._tuple_postprocess((y,), False) is y


def test_gradients_in_a_box(torch):
    class Twice(torch.autograd.Function):
        boxed_grads_call = clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * 2, y * 3

        @staticmethod
        def backward(ctx, grads):
            assert type(grads) is list and len(ctx.saved_tensors) == 2
            with raises(RuntimeError, "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set"):
                ctx.saved_tensors
            return grads.pop(0) * 2, grads.pop() * 3

    x = torch.ones(2, requires_grad=True)
    a, b = Twice.apply(x, x)
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [5, 5]


def test_the_node_of_a_gradient_that_cannot_be_differentiated(torch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, number, y):
            return x + y * number

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * 1, None, grad * 2

    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    gx, = torch.autograd.grad(Once.apply(x, 2, y), x, torch.ones(2, requires_grad=True), create_graph=True)
    assert gx.grad_fn.name() == "torch::autograd::Error" and [type(n).__name__ for n, _ in gx.grad_fn.next_functions] == [
        "AccumulateGrad", "NoneType", "AccumulateGrad"]


def test_a_function_of_old_style_under_the_first_vmap(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.arange(3.0)
    assert torch._vmap_internals._vmap(Twice.apply)(x).tolist() == [0, 2, 4]
    with raises(RuntimeError, "In order to use an autograd.Function with functorch transforms"):
        torch.func.vmap(Twice.apply)(x)
    with raises(RuntimeError, "vmap: We do not yet support calling random operations inside of vmap"):
        torch._vmap_internals._vmap(torch.randn_like)(x)


def test_resize_of_early_functions(torch):
    import importlib
    early = importlib.import_module(torch.__name__ + ".autograd._functions")
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = early.Resize.apply(x, (3, 2))
    y.sum().backward()
    assert y.shape == (3, 2) and x.grad.shape == (2, 3) and y.grad_fn.name() == "ResizeBackward"
    with raises(RuntimeError, "requested resize to 4 (4 elements in total), but the given tensor has a size of 2x3 (6 elements)"):
        early.Resize.apply(x, (4,))
