"""RMSprop."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, advance, check, check_lr, decayed, plain_lr, step_tensor


class RMSprop(PerParameter):
    """Steps divided by a running root mean square of the gradient."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check("momentum", momentum, momentum >= 0.0)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        check("alpha", alpha, alpha >= 0.0)
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["square_avg"] = torch.zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = torch.zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = torch.zeros_like(p)

    def _update(self, p, grad, state, group):
        advance(state)
        alpha, square_avg = group["alpha"], state["square_avg"]
        grad = decayed(p, grad, group)
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            grad_avg = state["grad_avg"].lerp_(grad, 1 - alpha)
            root = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt()
        else:
            root = square_avg.sqrt()
        root = root.add(group["eps"])
        if group["momentum"] > 0:
            p.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root), alpha=-plain_lr(group))
        else:
            p.addcdiv_(grad, root, value=-plain_lr(group))
