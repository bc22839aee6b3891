"""Compositions of torch.func's transforms, and high orders through a custom Function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import raises
from hypothesis import given, settings
from hypothesis import strategies as st

# name -> the same function of a vector with two entries, for torch and for jax.numpy
FUNCTIONS = {
    "wave": lambda np, x: np.sin(x) * x,
    "bell": lambda np, x: np.exp(-x * x).sum(),
    "outer": lambda np, x: np.tanh(x[:, None] * x),
    "quotient": lambda np, x: np.log1p(x * x) / (x[0] * x[0] + 2),
    "norm": lambda np, x: np.sqrt((x * x).sum() + 1),
    "running": lambda np, x: np.cumsum(np.cos(x), 0) ** 3,
}

# name -> the function of the same vector that a transform makes of `f`; F: the library's transforms
TRANSFORMS = {
    "grad": lambda F, np, f: F.grad(lambda x: f(x).sum()),
    "vjp": lambda F, np, f: lambda x: F.vjp(f, x)[1](F.vjp(f, x)[0] * 0.5 + 1)[0],
    "jvp": lambda F, np, f: lambda x: F.jvp(f, (x,), (np.sin(x),))[1],
    "jacrev": lambda F, np, f: F.jacrev(f),
    "jacfwd": lambda F, np, f: F.jacfwd(f),
    "hessian": lambda F, np, f: F.hessian(f),
    "vmap": lambda F, np, f: lambda x: F.vmap(f)(np.stack([x, x * x])),
    "vmap of constants": lambda F, np, f: lambda x: F.vmap(lambda c: f(x * c) + f(x), 0, -1)(np.cos(x)),
    "linearize": lambda F, np, f: lambda x: F.linearize(f, x)[1](np.sin(x)),
}


def composed(F, np, function, transforms):
    def f(x):
        return FUNCTIONS[function](np, x)

    for name in transforms:
        f = TRANSFORMS[name](F, np, f)
    return f


@settings(max_examples=12)
@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=3))
def test_compositions_agree_with_jax(torch, backend, function, transforms):
    if backend == "torch" and "linearize" in transforms:
        transforms = ["jvp" if t == "linearize" else t for t in transforms]     # PyTorch's own traces, and does not nest
    values = [0.5, -1.25]
    found = composed(torch.func, torch, function, transforms)(torch.tensor(values, dtype=torch.float64))
    assert not found.requires_grad
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(composed(jax, jnp, function, transforms))(jnp.array(values)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-8, atol=1e-10)


# --- the third order through a custom Function ----------------------------------------------------------------------------

@pytest.fixture
def soft(torch):
    """tanh as a Function, with a backward that is differentiated again."""
    class Soft(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return torch.tanh(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, g):
            y, = ctx.saved_tensors
            return g * (1 - y * y)

        @staticmethod
        def jvp(ctx, t):
            y, = ctx.saved_tensors
            return t * (1 - y * y)
    return Soft


@pytest.fixture
def parameters(torch):
    def weights(*shape):
        n = int(np.prod(shape))
        return torch.sin(torch.arange(1.0, n + 1, dtype=torch.float64) * 1.7).reshape(shape)
    return {"w1": weights(2, 8), "b1": weights(8) / 2, "w2": weights(8, 8) / 2, "b2": weights(8) / 3, "w3": weights(8, 1)}


def network(soft, p, xt):
    h = soft.apply(xt @ p["w1"] + p["b1"])
    return (soft.apply(h @ p["w2"] + p["b2"]) @ p["w3"])[..., 0]


def test_third_order_loss_over_the_tape(torch, recorded, soft, parameters):
    """The residual of the Korteweg-de Vries equation, u_t + 6 u u_x + u_xxx, and its gradient in the parameters."""
    for p in parameters.values():
        p.requires_grad_()
    x = torch.linspace(-1, 1, 6, dtype=torch.float64).requires_grad_()
    t = torch.linspace(0, 1, 6, dtype=torch.float64).requires_grad_()

    def slope(y, v):
        return torch.autograd.grad(y.sum(), v, create_graph=True)[0]

    u = network(soft, parameters, torch.stack([x, t], -1))
    ux = slope(u, x)
    uxxx = slope(slope(ux, x), x)
    loss = ((slope(u, t) + 6 * u * ux + uxxx) ** 2).mean()
    loss.backward()
    recorded([loss, uxxx, *[p.grad for p in parameters.values()]], rtol=1e-9)


@pytest.mark.parametrize("mode", ["reverse", "inside", "outside"])
def test_third_order_loss_of_transforms(torch, recorded, soft, parameters, mode):
    func = torch.func

    def along(f):
        return lambda x, t: func.jvp(lambda x: f(x, t), (x,), (torch.ones_like(x),))[1]

    d = {"reverse": [func.grad] * 3, "inside": [along, func.grad, func.grad], "outside": [func.grad, func.grad, along]}[mode]

    def loss(p, xs, ts):
        def u(x, t):
            return network(soft, p, torch.stack([x, t]))

        def residual(x, t):
            return func.grad(u, 1)(x, t) + 6 * u(x, t) * d[0](u)(x, t) + d[2](d[1](d[0](u)))(x, t)

        return (func.vmap(residual)(xs, ts) ** 2).mean()

    xs, ts = torch.linspace(-1, 1, 6, dtype=torch.float64), torch.linspace(0, 1, 6, dtype=torch.float64)
    grads, value = func.grad_and_value(loss)(parameters, xs, ts)
    recorded([value, *grads.values()], rtol=1e-9)


# --- Functions with a vmap of their own ------------------------------------------------------------------------------------

def test_the_vmap_staticmethod(torch, recorded):
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factors):
            return x * factors["by"]

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]["by"]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.by, None

        @staticmethod
        def vmap(info, in_dims, x, factors):
            seen.append([info.batch_size, info.randomness, list(in_dims), list(x.shape)])
            return Scale.apply(x.movedim(in_dims[0], 0), factors), 0

    x = torch.arange(6.0).reshape(2, 3)
    f = torch.func
    recorded([f.vmap(lambda v: Scale.apply(v, {"by": 3.0}), in_dims=1)(x),
              f.vmap(f.grad(lambda v: Scale.apply(v, {"by": 3.0}).sum()), randomness="same")(x),
              f.grad(lambda v: f.vmap(lambda r: Scale.apply(r, {"by": 2.0}))(v).pow(2).sum())(x),
              f.vmap(lambda v: v + Scale.apply(torch.ones(3), {"by": 2.0}))(x), seen])


def test_functions_that_transforms_refuse(torch):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    class Both(Plain):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    class One(Plain):
        @staticmethod
        def vmap(info, in_dims, x):
            return [x]

    class Wrong(Plain):
        @staticmethod
        def vmap(info, in_dims, x):
            return x, (0,)

    x = torch.ones(2, 3)
    for transform in torch.func.vmap, torch.func.grad, torch.func.jacrev:
        with raises(RuntimeError, "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                                  "override the setup_context staticmethod."):
            transform(Old.apply)(x)
    for function, text in ((Plain, "You tried to vmap over Plain, but it does not have vmap support."),
                           (Both, "You tried to vmap over Both, but it has both generate_vmap_rule=True and an overridden vmap"),
                           (One, "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure"),
                           (Wrong, "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple.")):
        with raises(RuntimeError, text):
            torch.func.vmap(function.apply)(x)


def test_grad_mode_outside_of_a_transform(torch):
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        out, pull = torch.func.vjp(lambda v: v**2, x)
        slope = torch.func.grad(lambda v: v**3)(x)
    y, = pull(torch.tensor(1.0))
    assert not out.requires_grad and not slope.requires_grad and y.requires_grad
    y.backward()
    assert x.grad.item() == 2


def test_what_a_transformed_function_may_not_do(torch):
    func, x = torch.func, torch.ones(2, 3)
    for transform in func.vmap, func.grad, func.functionalize:
        with raises(RuntimeError, "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
                                  "inside of a function being transformed by a functorch transform."):
            transform(lambda v: v.detach().requires_grad_())(x)
        with raises(RuntimeError, "backward() called inside a functorch transform."):
            transform(lambda v: v.sum().backward())(x)
    with raises(RuntimeError, "You are attempting to call Tensor.retain_grad() inside of a function being transformed"):
        func.grad(lambda v: (v * 2).retain_grad())(x)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with raises(RuntimeError, "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks."), hooks:
        func.grad(lambda v: v.sin().sum())(x)
    with raises(RuntimeError, "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow."):
        func.vmap(lambda v: v if v.sum() > 0 else -v)(x)
    with raises(RuntimeError, "accessing `data` under vmap transform is not allowed"):
        func.vmap(lambda v: v.data)(x)


def test_printing_inside_transforms(torch):
    func, seen, x = torch.func, [], torch.arange(2.0)

    def f(v):
        seen.append(repr(v))
        return v.sum()

    func.grad(lambda v: func.vmap(func.grad(f))(v.reshape(2, 1)).sum())(x)
    func.jvp(f, (x,), (x,))
    assert seen == ["GradTrackingTensor(lvl=3, value=\n    BatchedTensor(lvl=2, bdim=0, value=\n        GradTrackingTensor(lvl=1, value=\n"
                    "            tensor([[0.],\n                    [1.]])\n        )\n    )\n)",
                    "GradTrackingTensor(lvl=1, value=\n    tensor([0., 1.])\n)"]


# --- what differs from PyTorch ---------------------------------------------------------------------------------------------

def test_views_leave_the_map_as_copies():
    import torchish
    x = torchish.zeros(2, 3)
    part, same = torchish.vmap(lambda row: (row[:2], row.add_(1)))(x)
    x.add_(1)
    assert part.tolist() == [[1.0, 1.0]] * 2 and same.tolist() == [[2.0] * 3] * 2


def test_forward_mode_twice_through_a_function():
    import torchish

    class Square(torchish.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t):
            return 2 * ctx.saved_tensors[0] * t

    def along(f):
        return lambda x: torchish.func.jvp(f, (x,), (torchish.ones(()),))[1]

    assert along(along(Square.apply))(torchish.tensor(3.0)).item() == 2


def test_captured_tensors_may_be_written():
    import torchish
    kept, x = torchish.zeros(3), torchish.ones(3)
    assert torchish.func.grad(lambda v: kept.copy_(v * 2).sum())(x).tolist() == [2.0] * 3 and kept.tolist() == [2.0] * 3
