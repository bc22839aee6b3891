"""RAdam."""

import torchish as torch
from torchish.optim.optimizer import (
    PerParameter,
    check,
    check_betas,
    check_lr,
    l2_and_factor,
    plain_betas,
    plain_lr,
    step_tensor,
)


class RAdam(PerParameter):
    """Adam whose adaptive part waits until its variance is under control."""

    row = "fused_radam"
    states = "exp_avg", "exp_avg_sq"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "foreach": foreach, "capturable": capturable,
                                  "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_avg_sq"] = torch.zeros_like(p)

    def _numbers(self, group, step):
        beta1, beta2 = plain_betas(group)
        bias = 1 - beta2**step
        longest, length = self._lengths(beta2, step)
        rectified = 0.0
        if length > 5.0:
            rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5 * bias**0.5
        return plain_lr(group) / (1 - beta1**step), rectified, l2_and_factor(group)[1]

    @staticmethod
    def _lengths(beta2, step):
        """The simple moving average that the exponential one stands for: its length in the end, and now."""
        longest = 2 / (1 - beta2) - 1
        return longest, longest - 2 * step * (beta2**step) / (1 - beta2**step)

    def _attributes(self, group, step):
        adaptive = self._lengths(plain_betas(group)[1], step)[1] > 5.0
        return *plain_betas(group), group["eps"], l2_and_factor(group)[0], adaptive, group["maximize"]
