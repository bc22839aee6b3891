"""gradcheck and gradgradcheck."""

import pytest
from checks import raises, warnings_of


@pytest.fixture
def x(torch):
    return torch.tensor([0.5, -1.2], dtype=torch.float64, requires_grad=True)


@pytest.fixture
def wrong(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0]

    return Wrong.apply


@pytest.mark.parametrize("fast", [False, True])
def test_right_gradients_pass(torch, x, fast):
    check, m = torch.autograd.gradcheck, torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64, requires_grad=True)
    z = torch.tensor([1 + 2j, -0.5 + 0.3j], dtype=torch.complex128, requires_grad=True)
    assert check(lambda a, b: a @ b.exp(), (m, x), fast_mode=fast)
    assert check(lambda a: (a**2, (a > 0).long(), a.detach()), x, fast_mode=fast)
    assert check(lambda a: (a * a, a.abs()), (z,), fast_mode=fast)
    assert torch.autograd.gradgradcheck(torch.prod, (x,), fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_gradients_are_found(torch, x, wrong, fast):
    with raises(RuntimeError, "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
        torch.autograd.gradcheck(wrong, (x,), fast_mode=fast)
    assert torch.autograd.gradcheck(wrong, (x,), fast_mode=fast, raise_exception=False) is False
    with raises(RuntimeError, "Jacobian mismatch for output 0 with respect to input 0,"):
        torch.autograd.gradcheck(lambda t: t.detach() * t, (x,), fast_mode=fast)


def test_the_message_shows_both_matrices(torch, wrong):
    two = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as error:
        torch.autograd.gradcheck(wrong, (two,))
    assert str(error.value) == ("Jacobian mismatch for output 0 with respect to input 0,\n"
                                "numerical:tensor([[4.0000]], dtype=torch.float64)\n"
                                "analytical:tensor([[6.]], dtype=torch.float64)\n")


def test_what_the_inputs_must_be(torch):
    check, single = torch.autograd.gradcheck, torch.tensor([0.5], requires_grad=True)
    assert warnings_of(lambda: check(lambda t: t * 2, (single,), eps=1e-2, atol=1e-2)) == [
        ["UserWarning", "Input #0 requires gradient and is not a double precision floating point or complex. This check will likely "
                        "fail if all the inputs are not of double precision floating point or complex. "]]
    with raises(ValueError, "gradcheck expects at least one input tensor to require gradient, but none of them have "
                            "requires_grad=True."):
        check(torch.sin, (torch.ones(2, dtype=torch.float64),))
    with raises(RuntimeError, "The 0th input has a dimension with stride 0."):
        check(torch.sin, (torch.ones(1, dtype=torch.float64, requires_grad=True).expand(3),))


def test_missing_output_gradients_are_zeros(torch, x):
    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.set_materialize_grads(False)
            return t * 2

        @staticmethod
        def backward(ctx, g):
            return torch.ones(2, dtype=torch.float64) if g is None else g * 2

    with pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support checking"):
        with raises(RuntimeError, "Expected all input grads to be undefined or zero when all output grads are undefined or zero."):
            torch.autograd.gradcheck(Careless.apply, (x,))
    assert torch.autograd.gradcheck(Careless.apply, (x,), check_undefined_grad=False)


def square(torch, factor):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, t):
            return factor * ctx.saved_tensors[0] * t
    return Square.apply


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_forward_mode_is_compared(torch, fast, dtype):
    x = torch.tensor([1.0, 2.0], dtype=getattr(torch, dtype), requires_grad=True)
    assert torch.autograd.gradcheck(square(torch, 2), x, check_forward_ad=True, fast_mode=fast)
    part = "While considering the imaginary part of complex inputs only, " if dtype == "complex128" else ""
    with pytest.raises(RuntimeError,
                       match=f"{part}Jacobian computed with forward mode mismatch for output 0 with respect to input 0,\nnumerical:"):
        torch.autograd.gradcheck(square(torch, 3), x, check_forward_ad=True, fast_mode=fast)


def test_forward_over_reverse_is_compared(torch):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda a: a.sin() * a, x, check_fwd_over_rev=True)
    assert torch.autograd.gradcheck(lambda a: (a * a, a.sum()), x, check_forward_ad=True, check_batched_grad=True,
                                    check_batched_forward_grad=True)
