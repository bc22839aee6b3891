"""Every optimizer and its options: parameters, state and groups after some steps, recorded from PyTorch."""

import pytest
from checks import raises

VARIANTS = [
    ("SGD", {}), ("SGD", {"maximize": True, "dampening": 0.1, "momentum": 0.5}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"maximize": True}), ("Adam", {"foreach": True}), ("AdamW", {"amsgrad": True}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}), ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}), ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("RMSprop", {"weight_decay": 0.1}), ("Rprop", {"etas": (0.4, 1.3), "step_sizes": (1e-5, 20)}), ("ASGD", {"t0": 1, "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2}), ("Adadelta", {"rho": 0.8, "weight_decay": 0.1}),
    ("Adafactor", {}), ("Adafactor", {"weight_decay": 0.1, "lr": 0.1}), ("Muon", {}), ("Muon", {"nesterov": False, "weight_decay": 0.0}),
]  # fmt: skip


def _trained(torch, name, options):
    torch.manual_seed(0)
    w = torch.nn.Parameter(torch.randn(4, 3))
    b = torch.nn.Parameter(torch.randn(4, 4) if name == "Muon" else torch.randn(4))
    x = torch.randn(5, 3)
    optimizer = getattr(torch.optim, name)([{"params": [w]}, {"params": [b], "lr": 0.05}], **options)
    for _ in range(8):
        optimizer.zero_grad()
        ((x @ w.T).pow(2).sum() + (x.sum() * b).sin().sum()).backward()
        optimizer.step()
    return w, b, optimizer


@pytest.mark.parametrize("name, options", VARIANTS, ids=[f"{name}-{'-'.join(options)}" for name, options in VARIANTS])
def test_steps_and_state(torch, recorded, name, options):
    w, b, optimizer = _trained(torch, name, options)
    state = optimizer.state_dict()
    shapes = [{k: [str(v.dtype).split(".")[-1], list(v.shape)] if isinstance(v, torch.Tensor) else type(v).__name__ for k, v in s.items()}
              for s in state["state"].values()]
    recorded({"parameters": [w.tolist(), b.tolist()], "state": shapes, "groups": [sorted(group) for group in state["param_groups"]],
              "repr": repr(optimizer)}, rtol=1e-4, atol=1e-5)


def test_sparse_adam_refuses_dense_gradients(torch):
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SparseAdam([p])
    p.sum().backward()
    with raises(RuntimeError, "SparseAdam does not support dense gradients, please consider Adam instead"):
        optimizer.step()

