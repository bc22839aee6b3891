"""Optimizers: what their arguments accept and refuse, one update a step, and states that travel to PyTorch and back."""

import copy
import pickle

import pytest
from checks import raises

NAMES = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"]
VARIANTS = {
    "adadelta": ("Adadelta", {"weight_decay": 0.1, "maximize": True}),
    "adafactor": ("Adafactor", {"lr": 0.1, "weight_decay": 0.1}),
    "adafactor_eps": ("Adafactor", {"lr": 0.1, "eps": (1e-6, 1e-2), "d": 2.0, "beta2_decay": -0.5}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    "adam": ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    "adamax": ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    "asgd": ("ASGD", {"lr": 0.1, "t0": 2, "weight_decay": 0.1}),
    "muon": ("Muon", {"lr": 0.1}),
    "muon_rms": ("Muon", {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
    "nadam": ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "rmsprop": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.1, "centered": True}),
    "rprop": ("Rprop", {"lr": 0.1, "maximize": True}),
    "sgd": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "maximize": True}),
}


def parameter(torch, dtype=None):
    return torch.tensor([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], dtype=dtype or torch.float32, requires_grad=True)


def steps(torch, optimizer, p, n=4):
    for i in range(n):
        p.grad = (p.detach() * 0.5 - 0.1 * i).to(p.dtype)
        optimizer.step()


@pytest.mark.parametrize("which", VARIANTS)
def test_steps(torch, recorded, which):
    name, options = VARIANTS[which]
    p = parameter(torch)
    optimizer = getattr(torch.optim, name)([p], **options)
    steps(torch, optimizer, p)
    state = {k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in optimizer.state_dict()["state"][0].items()}
    recorded([p.tolist(), state], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Adafactor", "Muon")])
def test_complex_parameters_are_pairs_of_real_ones(torch, name):
    real = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    imaginary = torch.view_as_complex(real.detach().clone()).requires_grad_()
    for p in (real, imaginary):
        steps(torch, getattr(torch.optim, name)([p]), p)
    wanted, got = real.flatten().tolist(), torch.view_as_real(imaginary.detach()).flatten().tolist()
    assert all(abs(a - b) < 0.1 for a, b in zip(wanted, got))
    assert got != [1.0, 2.0, 3.0, -1.0]


@pytest.mark.parametrize("name", NAMES)
def test_states_and_groups(torch, recorded, name):
    p = parameter(torch)
    optimizer = getattr(torch.optim, name)([p])
    steps(torch, optimizer, p, 1)
    made = optimizer.state_dict()
    shapes = {k: [str(v.dtype), list(v.shape)] for k, v in made["state"].get(0, {}).items() if v is not None}
    recorded([shapes, dict(made["param_groups"][0]), repr(optimizer)])


@pytest.mark.parametrize("name", NAMES)
def test_a_state_goes_to_pytorch_and_back(oracle, name):
    import numpy as np

    import torchish

    def trained(torch, n, state=None, start=None):
        p = parameter(torch, torch.float64)
        if start is not None:
            p.data.copy_(torch.tensor(start, dtype=torch.float64))
        optimizer = getattr(torch.optim, name)([p])
        if state is not None:
            optimizer.load_state_dict(copy.deepcopy(state))  # it would share the tensors
        steps(torch, optimizer, p, n)
        return p, optimizer.state_dict()

    def carried(state, torch):
        return {"state": {k: {n: torch.tensor(v.tolist(), dtype=getattr(torch, str(v.dtype)[6:])) if hasattr(v, "shape") else v for n, v in s.items()}
                          for k, s in state["state"].items()}, "param_groups": state["param_groups"]}

    p, state = trained(oracle, 2)
    wanted, _ = trained(oracle, 3, state, p.tolist())
    got, back = trained(torchish, 3, carried(state, torchish), p.tolist())
    assert np.allclose(got.tolist(), wanted.tolist(), rtol=1e-6)
    again, _ = trained(oracle, 2, carried(back, oracle), got.tolist())
    mine, _ = trained(torchish, 2, back, got.tolist())
    assert np.allclose(mine.tolist(), again.tolist(), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_one_operation(monkeypatch, name):
    import torchish
    from torchish.optim import optimizer as base

    parameters = [parameter(torchish) for _ in range(3)]
    optimizer = getattr(torchish.optim, name)(parameters)
    for p in parameters:
        p.grad = torchish.ones_like(p)
    recorded, update = [], base.update
    monkeypatch.setattr(base, "update", lambda row, *rest: (recorded.append(row.name), update(row, *rest)))
    optimizer.step()
    assert recorded == [optimizer.row]


REFUSED = {
    "foreach_fused": (lambda o, p: o.Adam(p, foreach=True, fused=True), RuntimeError,
                      "`fused` and `foreach` cannot be `True` together."),
    "fused_differentiable": (lambda o, p: o.SGD(p, fused=True, differentiable=True), RuntimeError,
                             "`fused` does not support `differentiable`"),
    "adam_lr": (lambda o, p: o.Adam(p, lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
    "adafactor_lr": (lambda o, p: o.Adafactor(p, lr=-1.0), ValueError, "Learning rate should be >= 0 but is: -1.0"),
    "adafactor_d": (lambda o, p: o.Adafactor(p, d=0.5), ValueError, "Clipping threshold d should be >= 1 but is: 0.5"),
    "adafactor_decay": (lambda o, p: o.Adafactor(p, beta2_decay=0.1), ValueError, "beta2_decay should be <= 0 but is: 0.1"),
    "adafactor_eps": (lambda o, p: o.Adafactor(p, eps=(-1.0, 0.1)), ValueError, "epsilon1 should be >= 0 but is: -1.0"),
    "muon_decay": (lambda o, p: o.Muon(p, weight_decay=-1.0), ValueError, "weight decay should be >= 0 but is: -1.0"),
    "muon_rule": (lambda o, p: o.Muon(p, adjust_lr_fn="x"), ValueError, "Adjust learning rate function x is not supported"),
    "sparse_betas": (lambda o, p: o.SparseAdam(p, betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    "adam_betas": (lambda o, p: o.AdamW(p, betas=(p[0].new_tensor(0.9), 0.9)), ValueError,
                   "betas must be either both floats or both Tensors"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_refused_arguments(torch, which):
    make, kind, text = REFUSED[which]
    with raises(kind, text):
        make(torch.optim, [parameter(torch)])


REFUSED_STEPS = {
    "capturable": (lambda o, p: o.Adam(p, capturable=True), AssertionError, "If capturable=True, params and state_steps must be on "
                   "supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."),
    "capturable_foreach": (lambda o, p: o.NAdam(p, capturable=True, foreach=True), AssertionError, "If capturable=True, params, "
                           "mu_products, and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone']."),
    "foreach_differentiable": (lambda o, p: o.Rprop(p, foreach=True, differentiable=True), AssertionError,
                               "_foreach ops don't support autograd"),
    "sparse": (lambda o, p: o.SparseAdam(p), RuntimeError, "SparseAdam does not support dense gradients, please consider Adam instead"),
    "muon_steps": (lambda o, p: o.Muon(p, ns_steps=100), ValueError,
                   "Number of steps must be less than 100 for computational efficiency"),
}


@pytest.mark.parametrize("which", REFUSED_STEPS)
def test_refused_steps(torch, which):
    make, kind, text = REFUSED_STEPS[which]
    p = parameter(torch)
    optimizer = make(torch.optim, [p])
    p.grad = torch.ones_like(p)
    with raises(kind, text):
        optimizer.step()


def test_fused_asks_for_floating_point(torch):
    p = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    optimizer = torch.optim.SGD([p], fused=True)
    p.grad = torch.ones_like(p)
    with raises(RuntimeError, "`fused=True` requires all the params to be floating point Tensors of supported devices: ['mps', 'cuda', "
                "'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but torch.complex64 and cpu"):
        optimizer.step()


def test_a_learning_rate_may_be_a_tensor(torch):
    p, q = parameter(torch), parameter(torch)
    rate = torch.tensor(0.5)
    for x, lr in ((p, rate), (q, 0.5)):
        steps(torch, torch.optim.Adam([x], lr=lr), x, 2)
    assert torch.allclose(p, q)
    optimizer = torch.optim.SGD([p], lr=rate)
    rate.fill_(0.0)
    before = p.tolist()
    steps(torch, optimizer, p, 1)
    assert p.tolist() == before


@pytest.mark.parametrize("name", ["Adam", "NAdam", "SGD", "RMSprop"])
def test_differentiable_steps(torch, name):
    scale = torch.tensor(1.0, requires_grad=True)
    p = parameter(torch).detach() * scale
    optimizer = getattr(torch.optim, name)([p], lr=0.1, differentiable=True)
    p.grad = torch.ones_like(p) * scale
    optimizer.step()
    (slope,) = torch.autograd.grad(p.sum(), scale)
    assert abs(slope.item() - 1.75) < 2.0 and p.requires_grad


def test_hooks_and_pickles(torch):
    p = parameter(torch)
    optimizer = torch.optim.Adam([p], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    steps(torch, optimizer, p, 2)
    assert seen == ["before", "after"] * 2
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]


def test_swapped_parameters_and_state(torch):
    p, other = parameter(torch), parameter(torch)
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    steps(torch, optimizer, p, 1)
    state = optimizer.state_dict()
    other.grad = torch.ones_like(other)
    before = p.tolist()
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"p": other}, state):
        optimizer.step()
    assert p.tolist() == before and other.tolist() != parameter(torch).tolist()
    assert optimizer.param_groups[0]["params"][0] is p


def _bowl(torch, **options):
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).requires_grad_()
    weights = torch.linspace(1, 30, 12, dtype=torch.float64)
    opt = torch.optim.LBFGS([x], **options)

    def closure():
        opt.zero_grad()
        loss = (weights * x ** 2).sum() + (x ** 4).sum()
        loss.backward()
        return loss
    return x, opt, closure


@pytest.mark.parametrize("history, kept", [(3, 3), (20, 14)])
def test_lbfgs_history_grows_and_forgets(torch, history, kept):
    x, opt, closure = _bowl(torch, lr=0.5, max_iter=5, history_size=history)
    for _ in range(3):
        opt.step(closure)
    state = opt.state[x]
    assert [len(state[name]) for name in ("old_dirs", "old_stps", "ro")] == [kept] * 3
    y, s, ro = state["old_dirs"][-1], state["old_stps"][-1], state["ro"][-1]
    assert torch.allclose(ro, 1 / y.dot(s))
    wanted = {3: 0.00335802612147609, 20: 0.000411417966870}[history]      # PyTorch's
    assert abs(closure().item() - wanted) < 1e-9 * wanted


def test_lbfgs_goes_on_from_its_saved_state(torch):
    x, opt, closure = _bowl(torch, lr=0.5, max_iter=6, history_size=4)
    opt.step(closure)
    y, resumed, again = _bowl(torch, lr=0.5, max_iter=6, history_size=4)
    resumed.load_state_dict(copy.deepcopy(opt.state_dict()))
    with torch.no_grad():
        y.copy_(x)
    opt.step(closure)
    resumed.step(again)
    assert torch.allclose(x, y, rtol=1e-12, atol=0)
