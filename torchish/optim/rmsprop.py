"""RMSprop."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check, check_lr, step_tensor


class RMSprop(PerParameter):
    """Steps divided by a running root mean square of the gradient."""

    row = "fused_rmsprop"
    on_xla = True, True

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

    def _names(self, group, step):
        return "square_avg", *["momentum_buffer"] * (group["momentum"] > 0), *["grad_avg"] * group["centered"]

    def _attributes(self, group, step):
        return tuple(group[name] for name in ("alpha", "eps", "weight_decay", "momentum", "centered", "maximize"))
