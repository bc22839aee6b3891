"""Muon."""

import math

import torchish as torch
from torchish.optim.optimizer import PerParameter, check_at_least, check_one, plain_lr

_SCALES = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(PerParameter):
    """Momentum, made orthogonal before the step, for the matrices of hidden layers."""

    row, states = "fused_muon", ("momentum_buffer",)

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315),
                 eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        check_one(lr)
        check_at_least(0.0, {"Learning rate": lr, "momentum": momentum, "weight decay": weight_decay})
        if adjust_lr_fn is not None and adjust_lr_fn not in _SCALES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                                  "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                                  "adjust_lr_fn": adjust_lr_fn})
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def _check(self, p, grad, group):
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")

    def _init_state(self, p, state, group):
        state["momentum_buffer"] = torch.zeros_like(p, memory_format=torch.preserve_format)

    def _advance(self, p, state, group):
        return _SCALES[group["adjust_lr_fn"] or "original"](*p.shape)

    def _numbers(self, group, scale):
        lr = plain_lr(group)
        return lr * scale, 1 - lr * group["weight_decay"]

    def _attributes(self, group, scale):
        return group["momentum"], group["nesterov"], *group["ns_coefficients"], group["eps"], group["ns_steps"]
