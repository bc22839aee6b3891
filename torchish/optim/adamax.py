"""Adamax."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, advance, check, check_betas, check_lr, decayed, plain_lr, step_tensor


class Adamax(PerParameter):
    """Adam with the infinity norm."""

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

    def _update(self, p, grad, state, group):
        step = advance(state)
        beta1, beta2 = group["betas"]
        exp_avg, exp_inf = state["exp_avg"], state["exp_inf"]
        grad = decayed(p, grad, group)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_inf.copy_(torch.maximum(exp_inf * beta2, grad.abs().add(group["eps"])))
        p.addcdiv_(exp_avg, exp_inf, value=-plain_lr(group) / (1 - beta1**step))
