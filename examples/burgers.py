"""The viscous Burgers equation u_t + u u_x = nu u_xx with a forming shock; Adam first, then L-BFGS."""

import argparse

import numpy as np
import torch
import torch.nn as nn

NU = 0.02 / np.pi


def reference(x, t, nodes=120):
    """The Cole-Hopf solution for u(x, 0) = -sin(pi x), by Gauss-Hermite quadrature."""
    z, weights = np.polynomial.hermite.hermgauss(nodes)
    y = x[..., None] - np.sqrt(4 * NU * t[..., None]) * z
    kernel = weights * np.exp(-np.cos(np.pi * y) / (2 * np.pi * NU))
    return -(kernel * np.sin(np.pi * y)).sum(-1) / kernel.sum(-1)


class Network(nn.Module):
    def __init__(self, hidden=4, width=20):
        super().__init__()
        sizes = [2] + [width] * hidden
        self.body = nn.Sequential()
        for n, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:], strict=False)):
            self.body.add_module(f"linear{n}", nn.Linear(fan_in, fan_out))
            self.body.add_module(f"tanh{n}", nn.Tanh())
        self.head = nn.Linear(width, 1)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_normal_(parameter)

    def forward(self, xt):
        return self.head(self.body(xt))


def residual(net, xt):
    """u_t + u u_x - nu u_xx at the rows of xt."""
    u = net(xt)
    du = torch.autograd.grad(u, xt, grad_outputs=torch.ones_like(u), create_graph=True)[0]
    u_x, u_t = du[:, 0:1], du[:, 1:2]
    u_xx = torch.autograd.grad(u_x, xt, grad_outputs=torch.ones_like(u_x), create_graph=True)[0][:, 0:1]
    return u_t + u * u_x - NU * u_xx


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500, help="Adam steps; twice as many L-BFGS iterations follow")
    parser.add_argument("--points", type=int, default=1500, help="collocation points")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the solution")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    inside = torch.rand(args.points, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])
    inside.requires_grad_(True)
    x = torch.linspace(-1, 1, 100).unsqueeze(1)
    t = torch.rand(100, 1)
    side = torch.where(torch.arange(100).unsqueeze(1) % 2 == 0, -1.0, 1.0)
    known_at = torch.cat([torch.cat([x, torch.zeros_like(x)], dim=1), torch.cat([side, t], dim=1)])
    known = torch.cat([-torch.sin(np.pi * x), torch.zeros_like(x)])

    net = Network()

    def loss_of():
        return torch.mean((net(known_at) - known) ** 2) + torch.mean(residual(net, inside) ** 2)

    adam = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(1, args.steps + 1):
        adam.zero_grad()
        loss = loss_of()
        loss.backward()
        adam.step()
        if step % max(args.steps // 5, 1) == 0:
            print(f"Adam   {step:5d}  loss {loss.item():.3e}")

    lbfgs = torch.optim.LBFGS(
        net.parameters(), max_iter=2 * args.steps, history_size=50, tolerance_grad=1e-9, tolerance_change=1e-11,
        line_search_fn="strong_wolfe",
    )  # fmt: skip
    calls = 0

    def closure():
        nonlocal calls
        lbfgs.zero_grad()
        loss = loss_of()
        loss.backward()
        calls += 1
        if calls % max(args.steps // 5, 1) == 0:
            print(f"L-BFGS {calls:5d}  loss {loss.item():.3e}")
        return loss

    lbfgs.step(closure)

    xs, ts = np.meshgrid(np.linspace(-1, 1, 101), np.linspace(0.01, 0.99, 50))
    truth = reference(xs, ts)
    grid = torch.from_numpy(np.stack([xs, ts], axis=-1)).float()
    with torch.no_grad():
        found = net(grid.reshape(-1, 2)).reshape(xs.shape).numpy()
    error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    print(f"relative error against the Cole-Hopf solution: {error:.2e}")

    if args.plot:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.figure(figsize=(7, 3.5))
        for row, colour in ((0, "tab:green"), (25, "tab:orange"), (49, "tab:blue")):
            plt.plot(xs[row], truth[row], color="0.75", linewidth=4)
            plt.plot(xs[row], found[row], "--", color=colour, label=f"t = {ts[row, 0]:.2f}")
        plt.xlabel("x")
        plt.ylabel("u")
        plt.title(f"Burgers: reference in grey, relative error {error:.1e}")
        plt.legend(frameon=False)
        plt.savefig(args.plot, dpi=120, bbox_inches="tight")
        print(f"plot written to {args.plot}")


if __name__ == "__main__":
    main()
