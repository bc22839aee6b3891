"""Rprop."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check_lr, plain_lr, step_tensor


class Rprop(PerParameter):
    """Steps by the gradient's sign, whose size grows while the sign stays and shrinks when it changes."""

    row = "fused_rprop"
    states = "prev", "step_size"
    on_xla = True, True

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
                                  "differentiable": differentiable, "capturable": capturable})

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        state["prev"] = torch.zeros_like(p)
        lr = plain_lr(group)
        # a complex parameter's two parts have a step size each
        state["step_size"] = torch.full_like(p, complex(lr, lr) if p.is_complex() else lr)

    def _numbers(self, group, step):
        return ()

    def _attributes(self, group, step):
        return *group["etas"], *group["step_sizes"], group["maximize"]
