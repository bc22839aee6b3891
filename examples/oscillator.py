"""A damped oscillator, learnt from its equation alone: x'' + mu x' + k x = 0, x(0) = 1, x'(0) = 0.

A plain PyTorch script: `python oscillator.py` runs it on PyTorch, `python -m torchish oscillator.py` on torchish.
"""

import argparse
import math

import torch
import torch.nn as nn

DAMPING, FREQUENCY = 1.5, 12.0
MU, K = 2 * DAMPING, FREQUENCY**2


def exact(t):
    """The underdamped solution for a unit displacement at rest."""
    omega = math.sqrt(FREQUENCY**2 - DAMPING**2)
    return torch.exp(-DAMPING * t) * (torch.cos(omega * t) + DAMPING / omega * torch.sin(omega * t))


def derivative(y, x):
    """dy/dx for a y that depends on x row by row, itself differentiable."""
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=123)
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the solution")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    net = nn.Sequential(
        nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    start = torch.zeros(1, 1, requires_grad=True)
    times = torch.linspace(0, 1, 30).view(-1, 1).requires_grad_(True)

    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        x0 = net(start)
        v0 = derivative(x0, start)
        x = net(times)
        v = derivative(x, times)
        a = derivative(v, times)
        residual = a + MU * v + K * x
        loss = (x0 - 1).pow(2).mean() + 1e-1 * v0.pow(2).mean() + 1e-4 * residual.pow(2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % max(args.steps // 10, 1) == 0:
            print(f"step {step:5d}  loss {loss.item():.3e}")

    grid = torch.linspace(0, 1, 200).view(-1, 1)
    with torch.no_grad():
        found, truth = net(grid), exact(grid)
    error = torch.linalg.norm(found - truth) / torch.linalg.norm(truth)
    print(f"relative error against the exact solution: {error.item():.2e}")

    if args.plot:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.figure(figsize=(7, 3.5))
        plt.plot(grid.numpy(), truth.numpy(), color="0.7", linewidth=4, label="exact")
        plt.plot(grid.numpy(), found.numpy(), "--", color="tab:blue", label="network")
        plt.plot(times.detach().numpy(), torch.zeros(30, 1).numpy(), "|", color="tab:green", label="collocation points")
        plt.xlabel("t")
        plt.title(f"damped oscillator, {args.steps} steps, relative error {error.item():.1e}")
        plt.legend(frameon=False)
        plt.savefig(args.plot, dpi=120, bbox_inches="tight")
        print(f"plot written to {args.plot}")


if __name__ == "__main__":
    main()
