"""Adadelta."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check, check_lr, step_tensor


class Adadelta(PerParameter):
    """Steps scaled by running averages of squared steps and squared gradients."""

    row = "fused_adadelta"
    states = "square_avg", "acc_delta"
    on_xla = False, False

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_lr(lr)
        check("rho", rho, 0.0 <= rho <= 1.0)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["square_avg"] = torch.zeros_like(p)
        state["acc_delta"] = torch.zeros_like(p)

    def _attributes(self, group, step):
        return group["rho"], group["eps"], group["weight_decay"], group["maximize"]
