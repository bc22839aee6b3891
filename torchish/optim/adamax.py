"""Adamax."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check, check_betas, check_lr, plain_betas, plain_lr, step_tensor


class Adamax(PerParameter):
    """Adam with the infinity norm."""

    row = "fused_adamax"
    states = "exp_avg", "exp_inf"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_inf"] = torch.zeros_like(p)

    def _numbers(self, group, step):
        return (plain_lr(group) / (1 - plain_betas(group)[0]**step),)

    def _attributes(self, group, step):
        return *plain_betas(group), group["eps"], group["weight_decay"], group["maximize"]
