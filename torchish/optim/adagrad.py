"""Adagrad."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check, check_lr, plain_lr, step_tensor


class Adagrad(PerParameter):
    """Steps divided by the root of the sum of all squared gradients."""

    row = "fused_adagrad"
    states = ("sum",)

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check_lr(lr)
        check("lr_decay", lr_decay, lr_decay >= 0.0)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        check("initial_accumulator_value", initial_accumulator_value, initial_accumulator_value >= 0.0)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})
        # PyTorch makes this state at once, not at the first step
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(p, self.state[p], group)

    def _init_state(self, p, state, group):
        start = group["initial_accumulator_value"]
        state["step"] = step_tensor()
        state["sum"] = torch.full_like(p, complex(start, start) if p.is_complex() else start)

    def share_memory(self):
        """Put the sums into shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _numbers(self, group, step):
        return (plain_lr(group) / (1 + (step - 1) * group["lr_decay"]),)

    def _attributes(self, group, step):
        return group["eps"], group["weight_decay"], group["maximize"]
