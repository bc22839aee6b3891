"""ASGD."""

import numpy as np

import torchish as torch
from torchish.optim.optimizer import PerParameter, advance, check, check_lr, plain_lr, step_tensor
from torchish.tensor import number_of, put_number


def _set(t, value):
    """Write a number into a single precision tensor."""
    put_number(t, float(np.float32(value)))


class ASGD(PerParameter):
    """Gradient descent that also averages the parameters."""

    row = "fused_asgd"
    states = ("ax",)
    counted = ("params, mus, etas, and state_steps",)

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

    def _advance(self, p, state, group):
        step, lr, lambd = advance(state), plain_lr(group), group["lambd"]
        eta, mu = number_of(state["eta"]), number_of(state["mu"])
        _set(state["eta"], lr / ((1 + lambd * lr * step) ** group["alpha"]))
        _set(state["mu"], 1 / max(1, step - group["t0"]))
        return eta, mu

    def _numbers(self, group, progress):
        eta, mu = progress
        return eta, 1 - group["lambd"] * eta, mu

    def _attributes(self, group, progress):
        return group["weight_decay"], progress[1] != 1, group["maximize"]
