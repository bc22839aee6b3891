"""Forward mode: dual tensors."""

import pytest
from checks import agree


@pytest.fixture
def fw(torch):
    return torch.autograd.forward_ad


@pytest.fixture
def x(torch):
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


@pytest.fixture
def v(torch):
    return torch.tensor([1.0, -1.0, 2.0], dtype=torch.float64)


def test_a_tangent_goes_through_operations(torch, fw, x, v):
    with fw.dual_level():
        d = fw.make_dual(x, v)
        y, t = fw.unpack_dual(d.sin() * d)
        agree(y, x.sin() * x)
        agree(t, (x.cos() * x + x.sin()) * v)
        assert fw.unpack_dual(d).tangent is v and fw.unpack_dual(d).primal._base is x
        assert fw.unpack_dual(y).tangent is None and fw.unpack_dual(x).tangent is None
        assert fw.unpack_dual(d > 1).tangent is None and fw.unpack_dual(d.detach()).tangent is None
        assert "tangent=tensor([ 1., -1.,  2.]" in repr(d)
    assert fw.unpack_dual(d).tangent is None


def test_the_level_ends_with_its_block(torch, fw, x, v):
    for _ in range(2):
        with fw.dual_level():
            assert fw.unpack_dual(x * 2).tangent is None
            with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
                fw.enter_dual_level()
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fw.make_dual(x, v)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number."):
        fw.exit_dual_level()


def test_wrong_tangents(torch, fw, x, v):
    with fw.dual_level():
        with pytest.raises(RuntimeError, match=r"Tensor is of size \[3\] while the given forward gradient is of size \[2\]"):
            fw.make_dual(x, v[:2])
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int32"):
            fw.make_dual(x.int(), v)
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex, but got: torch.int64"):
            fw.make_dual(x, v.long())
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fw.make_dual(fw.make_dual(x, v), v)
        with pytest.raises(NotImplementedError, match="forward AD with sin_out that does not support it because it is an out= function"):
            torch.sin(fw.make_dual(x, v), out=torch.zeros(3, dtype=torch.float64))


def test_writes_change_tangents(torch, fw, x, v):
    with fw.dual_level():
        d = fw.make_dual(x.clone(), v.clone())
        tail = d[1:]
        tail.mul_(3)
        agree(fw.unpack_dual(d).tangent, v * torch.tensor([1.0, 3.0, 3.0]))
        d.zero_()
        agree(fw.unpack_dual(tail).tangent, torch.zeros(2, dtype=torch.float64))
        z = torch.zeros(2, 3, dtype=torch.float64)
        z[1] = fw.make_dual(x, v)
        agree(fw.unpack_dual(z).tangent, torch.stack([v * 0, v]))
        z += 1
        agree(fw.unpack_dual(z[1]).tangent, v)


def test_with_the_graph(torch, fw, x, v):
    x.requires_grad_()
    v.requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, v)
        t = fw.unpack_dual((d ** 3).sum()).tangent
        dx, dv = torch.autograd.grad(t, [x, v])
        agree(dx, 6 * x * v)
        agree(dv, 3 * x ** 2)
        fixed = fw.make_dual(x, v.detach())
        assert not fw.unpack_dual(-fixed).tangent.requires_grad   # linear: the tangent doesn't depend on x
        assert fw.unpack_dual(fixed.sin()).tangent.requires_grad


def test_a_gradient_carries_a_tangent(torch, fw, x, v):
    x.requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, v)
        (g,) = torch.autograd.grad((d.exp() * d.sin()).sum(), d)
        gx, along = fw.unpack_dual(g)
        agree(gx, x.exp() * (x.sin() + x.cos()))
        agree(along, 2 * x.exp() * x.cos() * v)


def test_through_a_module(torch, fw, v):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)).double()
    x = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    with fw.dual_level():
        t = fw.unpack_dual(net(fw.make_dual(x, v))).tangent
    step = 1e-6
    agree(t, (net(x + step * v) - net(x - step * v)) / (2 * step), rtol=1e-6, atol=1e-8)


def test_no_grad_keeps_tangents_and_inference_mode_does_not(torch, fw, x, v):
    with fw.dual_level():
        d = fw.make_dual(x, v)
        with torch.no_grad():
            agree(fw.unpack_dual(d * 3).tangent, 3 * v)
        with torch.inference_mode():
            assert fw.unpack_dual(d.sin()).tangent is None


def test_custom_functions(torch, fw, x, v):
    class Without(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_forward(x)
            return k * x ** 2

        @staticmethod
        def jvp(ctx, t, k):
            assert k is None
            (x,) = ctx.saved_tensors
            return 10 * x * t

    with fw.dual_level():
        d = fw.make_dual(x, v)
        agree(fw.unpack_dual(Square.apply(d, 5)).tangent, 10 * x * v)
        with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom autograd.Function"):
            Without.apply(d)


def test_func_jvp_nests_with_every_transform(torch, x, v):
    func = torch.func

    def f(a):
        return (a.sin() * a).sum()

    second = -x.sin() * x + 2 * x.cos()
    third = -x.cos() * x - 3 * x.sin()
    agree(func.jvp(f, (x,), (v,)), (f(x), ((x.cos() * x + x.sin()) * v).sum()))
    agree(func.jvp(lambda a: func.jvp(f, (a,), (v,))[1], (x,), (v,))[1], (second * v * v).sum())
    agree(func.jvp(func.grad(f), (x,), (v,))[1], second * v)
    agree(func.grad(lambda a: func.jvp(f, (a,), (v,))[1])(x), second * v)
    agree(func.jacfwd(func.jacfwd(func.jacfwd(f)))(x).sum((0, 1)), third)
    agree(func.vmap(lambda a: func.jvp(torch.sin, (a,), (a,))[1])(x), x.cos() * x)
    agree(func.jvp(func.vmap(torch.sin), (x,), (v,))[1], x.cos() * v)
    nested = func.jvp(lambda a: func.jvp(lambda b: a * b * b, (a,), (v,))[1], (x,), (v,))      # no confusion of perturbations
    agree(nested, (2 * x * x * v, 4 * x * v * v))
    _, pull = func.vjp(torch.sin, x)
    agree(func.jvp(lambda c: pull(c)[0], (v,), (x,))[1], x.cos() * x)
    assert not func.hessian(f)(x).requires_grad and not func.jvp(func.grad(f), (x,), (v,))[1].requires_grad


def test_linearize_does_not_run_its_function_again(torch, x, v):
    runs = []

    def f(a):
        runs.append(1)
        return {"y": a.sin(), "z": torch.ones(2)}

    value, push = torch.func.linearize(f, x)
    n = len(runs)
    for _ in range(2):
        agree(push(v)["y"], x.cos() * v)
    agree((value["y"], push(v)["z"], len(runs)), (x.sin(), torch.zeros(2), n))
    with pytest.raises(RuntimeError, match=r"tangent:0 with shape torch.Size\(\[2\]\) in flattened pytree doesn't match the shape "):
        push(v[:2])


def test_tangents_can_be_switched_off(torch):
    ad, jvp = torch.autograd.forward_ad, torch.func.jvp
    x, one = torch.tensor(2.0), torch.tensor(1.0)

    def shifted(x):
        with ad._set_fwd_grad_enabled(False):
            shift = x**2
        return x**2 - shift

    assert jvp(shifted, (x,), (one,))[1] == 4 and jvp(lambda x: jvp(shifted, (x,), (one,))[1], (x,), (one,))[1] == 2
    with ad._set_fwd_grad_enabled(False):
        assert not ad._is_fwd_grad_enabled()
        assert torch.equal(jvp(torch.sin, (x,), (one,))[1], x.cos())     # a transform switches them on again
    with ad.dual_level():
        dual = ad.make_dual(x, one)
        torch._C._set_fwd_grad_enabled(False)
        try:
            still = dual * 2
        finally:
            torch._C._set_fwd_grad_enabled(True)
        assert ad.unpack_dual(still).tangent is None and ad.unpack_dual(dual * 3).tangent == 3


def test_a_tangent_is_laid_out_like_its_tensor(torch):
    fwd = torch.autograd.forward_ad
    memory = torch.arange(5.0)
    with fwd.dual_level():
        tangent = torch.ones(4)
        dual = fwd.make_dual(memory[:4], tangent)
        fwd.unpack_dual(dual).tangent.mul_(2)
        assert tangent.tolist() == [1, 1, 1, 1]
        assert fwd.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent.tolist() == [2, 2, 2, 2, 0]
        z, t = torch.zeros(2, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64)
        assert fwd.unpack_dual(fwd.make_dual(z, t)).tangent is t
        assert fwd.unpack_dual(fwd.make_dual(z.conj(), t)).tangent is not t
        assert fwd.unpack_dual(fwd.make_dual(z._neg_view(), t)).tangent is not t
