"""Stochastic gradient descent."""

import torchish as torch
from torchish.optim.optimizer import PerParameter, check


class SGD(PerParameter):
    """Gradient descent, optionally with (Nesterov) momentum."""

    row = "fused_sgd"

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        check("momentum", momentum, momentum >= 0.0)
        check("weight_decay", weight_decay, weight_decay >= 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
                                  "differentiable": differentiable, "fused": fused})

    def _check(self, p, grad, group):
        # what there is besides `fused` can do everything
        if group["fused"]:
            super()._check(p, grad, group)

    def _advance(self, p, state, group):
        first = group["momentum"] != 0 and state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = torch.empty_like(p)
        return first

    def _names(self, group, first):
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _attributes(self, group, first):
        return (group["momentum"], group["dampening"], group["weight_decay"], group["nesterov"], group["maximize"], first)
