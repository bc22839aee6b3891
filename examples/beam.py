"""A clamped elastic beam, a fourth-order equation: u'''' = q on [0, 1], u = u' = 0 at both ends.

The load q is chosen so that u = sin(pi x)^2 solves it. A plain PyTorch script: it runs on PyTorch and on torchish.
"""

import argparse
import math
import time

import torch
import torch.nn as nn


def exact(x):
    return torch.sin(math.pi * x) ** 2


def load(x):
    return -8 * math.pi**4 * torch.cos(2 * math.pi * x)


def derivatives(u, x, order):
    """`[u, u', u'', ...]` up to `order`."""
    found = [u]
    for _ in range(order):
        found.append(torch.autograd.grad(found[-1].sum(), x, create_graph=True)[0])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the deflection")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(args.steps // 4, 1), gamma=0.4)
    inside = torch.linspace(0, 1, 40)[1:-1, None].requires_grad_()
    ends = torch.tensor([[0.0], [1.0]], requires_grad=True)
    scale = 100.0  # brings the equation near the size of the end conditions

    began = time.perf_counter()
    for step in range(args.steps + 1):
        optimizer.zero_grad()
        fourth = derivatives(model(inside), inside, 4)[4]
        loss_equation = torch.mean(((fourth - load(inside)) / scale) ** 2)
        u, slope = derivatives(model(ends), ends, 1)
        loss_ends = torch.mean(u**2) + torch.mean(slope**2)
        loss = loss_equation + loss_ends
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % max(args.steps // 10, 1) == 0:
            print(f"step {step:5d}  loss {loss.item():.3e}  {time.perf_counter() - began:.1f} s", flush=True)

    x = torch.linspace(0, 1, 200)[:, None]
    with torch.no_grad():
        u = model(x)
    print(f"relative error against the exact solution: {torch.norm(u - exact(x)) / torch.norm(exact(x)):.2e}")

    if args.plot:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        plt.plot(x.numpy(), exact(x).numpy(), color="0.7", linewidth=4, label="exact")
        plt.plot(x.numpy(), u.numpy(), "--", label="learnt")
        plt.xlabel("x")
        plt.ylabel("deflection")
        plt.legend()
        plt.savefig(args.plot, dpi=120)
        print(f"plot written to {args.plot}")


if __name__ == "__main__":
    main()
