"""Adafactor."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check_at_least, check_one, plain_lr, step_tensor


class Adafactor(PerParameter):
    """Adaptive steps that remember of a matrix's squared gradients only the means over rows and over columns."""

    row = "fused_adafactor"

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check_one(lr)
        check_at_least(0.0, {"Learning rate": lr})
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check_at_least(0.0, {"epsilon1": 0.0 if eps[0] is None else eps[0], "epsilon2": eps[1]})
        check_at_least(1.0, {"Clipping threshold d": d})
        check_at_least(0.0, {"weight_decay": weight_decay})
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize})

    def _check(self, p, grad, group):
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        super()._check(p, grad, group)

    def _init_state(self, p, state, group):
        state["step"] = step_tensor()
        if p.dim() > 1:
            *rest, rows, columns = p.shape
            state["row_var"] = p.new_zeros(*rest, rows, 1)
            state["col_var"] = p.new_zeros(*rest, 1, columns)
        else:
            state["variance"] = torch.zeros_like(p, memory_format=torch.preserve_format)

    def _advance(self, p, state, group):
        return super()._advance(p, state, group), "row_var" in state

    def _names(self, group, progress):
        return ("row_var", "col_var") if progress[1] else ("variance",)

    def _numbers(self, group, progress):
        step, lr = progress[0], plain_lr(group)
        return min(lr, step**-0.5), step ** group["beta2_decay"], 1 - lr * group["weight_decay"]

    def _attributes(self, group, progress):
        return *group["eps"], group["d"], group["maximize"]
