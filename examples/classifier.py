"""Two interleaved spirals told apart by a small network: minibatches, dropout, and a held-out test set."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def spirals(n):
    """n points of two spirals with a little noise, and which spiral each is on."""
    label = torch.arange(n) % 2
    radius = 0.1 + 0.9 * torch.rand(n)
    angle = 3 * math.pi * radius + math.pi * label
    points = torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)
    return points + 0.02 * torch.randn(n, 2), label


class Classifier(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.fc1 = nn.Linear(2, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, 2)
        self.dropout = nn.Dropout(0.05)

    def forward(self, x):
        x = F.relu(self.fc1(4 * x))
        x = self.dropout(F.relu(self.fc2(x)))
        return self.fc3(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500, help="minibatches in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the decision")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train = DataLoader(TensorDataset(*spirals(1280)), batch_size=128, shuffle=True)
    points, labels = spirals(1000)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    criterion = nn.CrossEntropyLoss()

    done = 0
    while done < args.steps:
        model.train()
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            done += 1
        if done % 150 < len(train):
            print(f"step {done:5d}  loss {total / len(train):.3e}")

    model.eval()
    with torch.no_grad():
        guess = model(points).argmax(dim=1)
    wrong = (guess != labels).float().mean().item()
    print(f"error on {len(labels)} held-out points: {wrong:.2%}")

    if args.plot:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.figure(figsize=(4.5, 4.5))
        for which, colour in ((0, "tab:blue"), (1, "tab:orange")):
            chosen = points[guess == which]
            plt.plot(chosen[:, 0].numpy(), chosen[:, 1].numpy(), ".", color=colour, markersize=3)
        plt.title(f"held-out error {wrong:.2%}")
        plt.savefig(args.plot, dpi=120, bbox_inches="tight")
        print(f"plot written to {args.plot}")


if __name__ == "__main__":
    main()
