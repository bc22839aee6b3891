"""Whole training loops: what they cost in memory and compilation, and that reused buffers are nobody else's."""

import gc

import pytest

from torchish.program import stats


def loop(torch, steps, seen=lambda step: None):
    """A PINN step with minibatches, a schedule that changes every step and a weight that does, too."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    points, size = torch.linspace(0, 1, 40).view(-1, 1), 8
    for step in range(steps):
        i = step % 5
        x = points[i * size : (i + 1) * size].clone().requires_grad_()
        u = net(x)
        (du,) = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
        loss = (du + u).pow(2).mean() + (net(points[:1]) - 1).pow(2).mean() * (1 + step / 1000)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        seen(step)
    return loss.item()


def test_a_warm_loop_compiles_nothing_and_keeps_nothing(torch):
    if torch.__name__ != "torchish":
        pytest.skip("counts torchish's own programs and objects")
    figures = {}

    def seen(step):
        if step in (20, 120):
            gc.collect()
            figures[step] = stats()["compiles"], stats()["inferred"], len(gc.get_objects())

    loop(torch, 121, seen)
    (compiles, inferred, objects), late = figures[20], figures[120]
    assert late[:2] == (compiles, inferred)
    assert late[2] - objects < 100


def test_the_loop_learns_what_pytorch_learns(torch):
    assert loop(torch, 200) == pytest.approx(0.038928866386413574, rel=1e-4)


def test_what_the_user_holds_is_never_overwritten(torch):
    w = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([w], lr=0.5)
    start, held, shared = w.detach().clone(), [], w.detach().numpy()
    for _ in range(5):
        held.append((w * 1).detach())
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
    assert start.tolist() == [1.0] * 3
    assert [t[0].item() for t in held] == [1.0, 0.5, 0.0, -0.5, -1.0]
    assert shared.tolist() == w.tolist() == [-1.5] * 3


def test_compiled_functions_give_the_same(torch):
    @torch.compile
    def f(x):
        return x.sin() * 2

    x = torch.linspace(0, 1, 5)
    assert torch.allclose(f(x), x.sin() * 2)
