"""NAdam."""

import numpy as np

import torchish as torch
from torchish.optim.optimizer import (
    PerParameter,
    advance,
    check,
    check_betas,
    check_lr,
    l2_and_factor,
    plain_betas,
    plain_lr,
    step_tensor,
)
from torchish.tensor import number_of, put_number


class NAdam(PerParameter):
    """Adam with Nesterov momentum."""

    row = "fused_nadam"
    states = "exp_avg", "exp_avg_sq"
    counted = "params, mu_products and state_steps", "params, mu_products, and state_steps"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        check("momentum_decay", momentum_decay, momentum_decay >= 0.0)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["mu_product"] = torch.tensor(1.0, dtype=torch.float32)
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_avg_sq"] = torch.zeros_like(p)

    def _advance(self, p, state, group):
        step = advance(state)
        if state["mu_product"].requires_grad and torch.is_grad_enabled():
            state["mu_product"].mul_(self._mu(group, step))
            return step, state["mu_product"].clone()
        # the product is kept in single precision
        product = float(np.float32(number_of(state["mu_product"])) * np.float32(self._mu(group, step)))
        put_number(state["mu_product"], product)
        return step, product

    @staticmethod
    def _mu(group, step):
        return plain_betas(group)[0] * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))

    def _numbers(self, group, progress):
        (step, product), lr = progress, plain_lr(group)
        mu, mu_next = self._mu(group, step), self._mu(group, step + 1)
        return (lr * (1.0 - mu) / (1.0 - product), lr * mu_next / (1.0 - product * mu_next), 1 - plain_betas(group)[1]**step,
                l2_and_factor(group)[1])

    def _attributes(self, group, progress):
        return *plain_betas(group), group["eps"], l2_and_factor(group)[0], group["maximize"]
