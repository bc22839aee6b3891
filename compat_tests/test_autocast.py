"""Autocast: what it is set to, custom Functions and forward mode below it, and functions that PyTorch's lists treat as one operation."""

import threading

import pytest
from checks import raises, warnings_of


def test_what_autocast_is_set_to(torch):
    assert not torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is torch.bfloat16
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled() and not torch.is_autocast_enabled("cuda")
        assert torch.get_autocast_dtype("cpu") is torch.float16
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
        assert seen == [False]
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16 and torch.get_autocast_dtype("cuda") is torch.float16
    with raises(RuntimeError, "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"):
        torch.is_autocast_enabled("meta")


def test_autocast_is_set(torch):
    a = torch.ones(2, 2)
    try:
        torch.set_autocast_dtype("cpu", torch.float16)
        assert (a @ a).dtype is torch.float32
        torch.set_autocast_enabled("cpu", True)
        assert (a @ a).dtype is torch.float16
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        assert (a @ a).dtype is torch.bfloat16
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype is torch.float32
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert (a @ a).dtype is torch.float32


def test_old_names_warn(torch):
    (kind, text), = warnings_of(lambda: torch.set_autocast_cpu_enabled(False))
    assert kind == "DeprecationWarning" and text.startswith(
        "torch.set_autocast_cpu_enabled(enabled) is deprecated. Please use torch.set_autocast_enabled('cpu', enabled) instead.")
    (kind, text), = warnings_of(torch.is_autocast_cpu_enabled)
    assert text.startswith("torch.is_autocast_cpu_enabled() is deprecated. Please use torch.is_autocast_enabled('cpu') instead.")
    assert warnings_of(lambda: torch.cpu.amp.autocast(dtype=torch.float16)) == [
        ["FutureWarning", "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead."]]
    assert warnings_of(lambda: torch.cpu.amp.GradScaler(enabled=False)) == [
        ["FutureWarning", "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` instead."]]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_old_context(torch):
    a = torch.ones(2, 2)
    with torch.cpu.amp.autocast():
        assert (a @ a).dtype is torch.bfloat16


def test_plain_functions(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a @ a

        @staticmethod
        def backward(ctx, g):
            assert g.dtype is torch.bfloat16
            return g

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        out = Square.apply(x)
    out.sum().backward()
    assert out.dtype is torch.bfloat16 and x.grad.dtype is torch.float32


@pytest.mark.parametrize("first", ["level", "autocast"])
def test_forward_mode(torch, first):
    from contextlib import ExitStack
    level, autocast = torch.autograd.forward_ad.dual_level(), torch.autocast("cpu")
    with ExitStack() as stack:
        for context in (level, autocast) if first == "level" else (autocast, level):
            stack.enter_context(context)
        d = torch.autograd.forward_ad.make_dual(torch.ones(2, 2), torch.ones(2, 2))
        primal, tangent = torch.autograd.forward_ad.unpack_dual(d @ d)
        assert primal.dtype is tangent.dtype is torch.bfloat16 and tangent.tolist() == [[4, 4], [4, 4]]
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


HALF = {
    "cosine_embedding_loss": lambda F, a, one: F.cosine_embedding_loss(a, a, one),
    "triplet_margin_loss": lambda F, a, one: F.triplet_margin_loss(a, a, a), "margin_ranking_loss": lambda F, a, one: F.margin_ranking_loss(one, one, one),
    "cross_entropy": lambda F, a, one: F.cross_entropy(a, a), "reflection": lambda F, a, one: F.pad(a[None], (1, 1), mode="reflect"),
    "fractional_max_pool2d": lambda F, a, one: F.fractional_max_pool2d(a.expand(1, 1, 3, 3), 2, output_size=2),
    "max_pool3d": lambda F, a, one: F.max_pool3d(a.expand(1, 3, 3, 3), 2),
    "multilabel_margin_loss": lambda F, a, one: F.multilabel_margin_loss(a, a.long()),
}


@pytest.mark.parametrize("which", HALF)
def test_float32_of_half(torch, which):
    one = torch.ones(3, dtype=torch.bfloat16)
    with torch.autocast("cpu"):
        out = HALF[which](torch.nn.functional, one.expand(3, 3), one)
    assert out.dtype is torch.float32


@pytest.mark.parametrize(("call", "half"), [
    (lambda t, a: a @ a[0], True), (lambda t, a: t.mv(a, a[0]), False), (lambda t, a: a[0] @ a[0], True), (lambda t, a: t.dot(a[0], a[0]), False),
    (lambda t, a: t.inner(a, a), True), (lambda t, a: t.inner(a[0], a[0]), False), (lambda t, a: t.tensordot(a, a, 1), True),
    (lambda t, a: t.tensordot(a, a, 2), False), (lambda t, a: t.einsum("ij,j->i", a, a[0]), True),
    (lambda t, a: t.einsum("i,j->ij", a[0], a[0]), False), (lambda t, a: t.einsum("ij->i", a), False),
    (lambda t, a: t.matrix_power(a, 3), True), (lambda t, a: t.matrix_power(a, 1), False), (lambda t, a: t.cov(a), True),
    (lambda t, a: t.nn.GRU(3, 2)(a)[0], False), (lambda t, a: t.nn.LSTM(3, 2)(a)[0], True)])
def test_products(torch, call, half):
    with torch.autocast("cpu"):
        assert call(torch, torch.eye(3)).dtype is (torch.bfloat16 if half else torch.float32)


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputation_casts_as_before(torch, reentrant):
    seen = []

    def square(a):
        seen.append((a @ a).dtype)
        return (a @ a).exp()

    x = torch.eye(2, requires_grad=True)
    with torch.autocast("cpu"):
        out = torch.utils.checkpoint.checkpoint(square, x, use_reentrant=reentrant)
    out.float().sum().backward()
    assert seen == [torch.bfloat16] * 2 and x.grad.dtype is torch.float32
    with torch.autocast("cpu"):
        assert not seen.clear() and (x @ x).dtype is torch.bfloat16


def test_a_projected_lstm_has_one_dtype(torch):
    with torch.autocast("cpu"):
        out, (h, c) = torch.nn.LSTM(3, 4, proj_size=2)(torch.eye(3))
    assert out.dtype is h.dtype is torch.bfloat16
    assert c.dtype is (torch.bfloat16 if torch.__name__ == "torchish" else torch.float32)       # docs/deviations.md
