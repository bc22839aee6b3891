"""ASGD."""

import numpy as np

import torchish as torch
from torchish.optim.optimizer import PerParameter, advance, check, check_lr, decayed, plain_lr, step_tensor
from torchish.tensor import number_of, put_number


def _set(t, value):
    """Write a number into a single precision tensor."""
    put_number(t, float(np.float32(value)))


class ASGD(PerParameter):
    """Gradient descent that also averages the parameters."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["eta"] = torch.as_tensor(plain_lr(group), dtype=torch.float32).clone()
        state["mu"] = torch.ones((), dtype=torch.float32)
        state["ax"] = torch.zeros_like(p)

    def _update(self, p, grad, state, group):
        step, lr, lambd = advance(state), plain_lr(group), group["lambd"]
        eta, mu, ax = number_of(state["eta"]), number_of(state["mu"]), state["ax"]
        grad = decayed(p, grad, group)
        p.mul_(1 - lambd * eta)
        p.add_(grad, alpha=-eta)
        if mu != 1:
            ax.add_(p.sub(ax).mul_(state["mu"]))
        else:
            ax.copy_(p)
        _set(state["eta"], lr / ((1 + lambd * lr * step) ** group["alpha"]))
        _set(state["mu"], 1 / max(1, step - group["t0"]))
