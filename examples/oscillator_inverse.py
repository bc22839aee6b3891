"""Learn the damping of an oscillator from noisy measurements: u'' + mu u' + w0^2 u = 0 with `mu` unknown.

A plain PyTorch script. `python oscillator_inverse.py` runs it on PyTorch, `python -m torchish` on torchish.
"""

import argparse
import time

import torch
from torch import nn
from torch.autograd import grad

FREQUENCY, TRUE_MU = 8.0, 3.0


def exact(t):
    damping = TRUE_MU / 2
    w = (FREQUENCY**2 - damping**2) ** 0.5
    return torch.exp(-damping * t) * (torch.cos(w * t) + damping / w * torch.sin(w * t))


class Oscillator(nn.Module):
    """The solution as a network, and the coefficient as one more parameter."""

    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )
        self.mu = nn.Parameter(torch.zeros(1))

    def forward(self, t):
        return self.layers(t)

    def residual(self, t):
        u = self(t)
        du = grad(u, t, torch.ones_like(u), create_graph=True)[0]
        ddu = grad(du, t, torch.ones_like(du), create_graph=True)[0]
        return ddu + self.mu * du + FREQUENCY**2 * u


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the coefficient over the steps")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    measured_at = torch.rand(40, 1)
    measured = exact(measured_at) + 0.02 * torch.randn_like(measured_at)
    t = torch.linspace(0, 1, 30).view(-1, 1).requires_grad_(True)

    model = Oscillator()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    began = time.perf_counter()
    for step in range(args.steps + 1):
        optimizer.zero_grad()
        loss_data = ((model(measured_at) - measured) ** 2).mean()
        loss_equation = (model.residual(t) ** 2).mean()
        loss = loss_data + 1e-4 * loss_equation
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            history.append((step, model.mu.item()))
        if step % max(args.steps // 10, 1) == 0:
            seconds = time.perf_counter() - began
            print(f"step {step:5d}  loss {loss.item():.3e}  mu {model.mu.item():.4f}  {seconds:.1f} s", flush=True)

    mu = model.mu.item()
    print(f"mu = {mu:.4f}, exact {TRUE_MU}: relative error {abs(mu - TRUE_MU) / TRUE_MU:.2e}")
    times = torch.linspace(0, 1, 200).view(-1, 1)
    with torch.no_grad():
        error = (model(times) - exact(times)).norm() / exact(times).norm()
    print(f"relative error against the exact solution: {error:.2e}")

    if args.plot:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        plt.plot(*zip(*history, strict=True), label="learnt coefficient")
        plt.axhline(TRUE_MU, color="0.5", linestyle="--", label="exact")
        plt.xlabel("step")
        plt.ylabel("mu")
        plt.legend()
        plt.savefig(args.plot, dpi=120)
        print(f"plot written to {args.plot}")


if __name__ == "__main__":
    main()
