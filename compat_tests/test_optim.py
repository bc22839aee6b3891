"""Optimizers and schedulers: whole trajectories, recorded from PyTorch."""

import math

import pytest
from checks import raises

OPTIMIZERS = {
    "sgd": lambda o, p: o.SGD(p, lr=0.02),
    "sgd_nesterov": lambda o, p: o.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1),
    "sgd_dampening": lambda o, p: o.SGD(p, lr=0.01, momentum=0.9, dampening=0.3, maximize=False),
    "adam": lambda o, p: o.Adam(p, lr=0.1),
    "adam_amsgrad": lambda o, p: o.Adam(p, lr=0.1, betas=(0.8, 0.99), weight_decay=0.05, amsgrad=True),
    "adamw": lambda o, p: o.AdamW(p, lr=0.1, weight_decay=0.1),
    "rmsprop": lambda o, p: o.RMSprop(p, lr=0.05, momentum=0.5, centered=True),
    "adagrad": lambda o, p: o.Adagrad(p, lr=0.3, lr_decay=0.01),
    "adadelta": lambda o, p: o.Adadelta(p, lr=1.0),
    "adamax": lambda o, p: o.Adamax(p, lr=0.1),
    "nadam": lambda o, p: o.NAdam(p, lr=0.1),
    "radam": lambda o, p: o.RAdam(p, lr=0.1),
    "lbfgs": lambda o, p: o.LBFGS(p, lr=0.5, max_iter=3),
    "lbfgs_wolfe": lambda o, p: o.LBFGS(p, max_iter=4, line_search_fn="strong_wolfe"),
}
SCHEDULERS = {
    "step": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 5], gamma=0.1),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 6, eta_min=0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2),
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "linear": lambda s, o: s.LinearLR(o, 0.3, total_iters=4),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=8, power=2.0),
    "onecycle": lambda s, o: s.OneCycleLR(o, max_lr=1.0, total_steps=12),
    "sequential": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.8)], [3]),
}


def rosenbrock(xy):
    x, y = xy
    return (1 - x) ** 2 + 10 * (y - x**2) ** 2


@pytest.mark.parametrize("which", OPTIMIZERS)
def test_trajectories(torch, recorded, which):
    xy = torch.tensor([-0.5, 0.8], requires_grad=True)
    optimizer = OPTIMIZERS[which](torch.optim, [xy])
    path = []

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(xy)
        loss.backward()
        return loss

    for _ in range(8):
        loss = optimizer.step(closure)
        path.append([loss.item(), *xy.tolist()])
    recorded(path, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("which", SCHEDULERS)
def test_schedules(torch, recorded, which):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    scheduler = SCHEDULERS[which](torch.optim.lr_scheduler, optimizer)
    rates = []
    for _ in range(11):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    recorded(rates)


def test_plateau(torch):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    rates = []
    for value in (3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0):
        scheduler.step(torch.tensor(value))
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25]


def test_parameters_without_gradients_are_skipped(torch):
    p, q = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([p, q], lr=0.1, weight_decay=1.0)
    (p * 1).sum().backward()
    optimizer.step()
    assert q.item() == 1.0 and math.isclose(p.item(), 0.8, rel_tol=1e-6)
    optimizer.zero_grad()
    assert p.grad is None
    q.grad = torch.zeros(1)
    optimizer.step()
    assert math.isclose(q.item(), 0.9, rel_tol=1e-6)


def test_state_dict_round_trip(torch):
    def make():
        p = torch.tensor([1.0, 2.0], requires_grad=True)
        return p, torch.optim.Adam([p], lr=0.1)

    def steps(p, optimizer, n):
        for _ in range(n):
            optimizer.zero_grad()
            (p**2).sum().backward()
            optimizer.step()

    p, optimizer = make()
    steps(p, optimizer, 3)
    state = optimizer.state_dict()
    assert list(state) == ["state", "param_groups"] and list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    q, other = make()
    q.data.copy_(p.data)
    other.load_state_dict(state)
    steps(p, optimizer, 3)
    values = p.tolist()
    q2, third = make()
    steps(q2, third, 6)
    assert q2.tolist() == values


def test_a_step_after_forward_spoils_the_older_graph(torch):
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.ones(1, 2, requires_grad=True)
    loss = layer(x).tanh().sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    with raises(
        RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation"
    ):
        loss.backward()


ERRORS = {
    "non_leaf": (lambda t: t.optim.SGD([t.ones(1, requires_grad=True) * 2], lr=1.0), ValueError, "can't optimize a non-leaf Tensor"),
    "empty": (lambda t: t.optim.SGD([], lr=1.0), ValueError, "optimizer got an empty parameter list"),
    "rate": (lambda t: t.optim.Adam([t.ones(1)], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
    "tensor": (
        lambda t: t.optim.Adam(t.ones(1)), TypeError,
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
    ),
    "float": (lambda t: t.optim.Adam([1.0]), TypeError, "optimizer can only optimize Tensors, but one of the params is float"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS.values(), ids=ERRORS)
def test_error_texts(torch, case):
    function, kind, text = case
    with raises(kind, text):
        function(torch)


def test_repr(torch, recorded):
    p = torch.zeros(1, requires_grad=True)
    recorded([repr(torch.optim.SGD([p], lr=0.1, momentum=0.9)), repr(torch.optim.Adam([p]))])


@pytest.mark.parametrize("kind", [float, "tensor"])
@pytest.mark.parametrize("first", [1.0, 1e-3])
def test_private_line_search_of_lbfgs(torch, kind, first):
    """Other optimizers import it; the loss and the step may be numbers or tensors."""
    from torch.optim.lbfgs import _strong_wolfe

    def evaluate(x, t, d):
        p = (x + t * d).detach().requires_grad_()
        loss = (p**4).sum() + (p[0] * p[1]).cos()
        grad, = torch.autograd.grad(loss, p)
        return loss.detach() if kind == "tensor" else loss.item(), grad

    x = torch.tensor([1.0, -2.0], dtype=torch.float64)
    f, g = evaluate(x, 0.0, x)
    loss, grad, t, evaluations = _strong_wolfe(evaluate, x, first, -g, f, g, -g.dot(g))
    expected_loss, expected_t, count = {1.0: (1.4409064882, 0.0801122666, 4), 1e-3: (11.9057845114, 0.005505, 2)}[first]
    assert isinstance(loss, torch.Tensor) == (kind == "tensor") and isinstance(t, torch.Tensor) == (first == 1.0)
    assert float(loss) == pytest.approx(expected_loss) and float(t) == pytest.approx(expected_t, rel=1e-3)
    assert evaluations == count and grad.shape == x.shape


def test_private_cubic_interpolation_of_lbfgs(torch):
    from torch.optim.lbfgs import _cubic_interpolate
    slopes = [torch.tensor(v, dtype=torch.float64) for v in (0.3, 0.6)]
    assert _cubic_interpolate(0.1, 0.2, slopes[0], 0.4, 0.5, slopes[1]) == 0.1  # the bound itself, a number
    inside = _cubic_interpolate(0.1, 0.2, slopes[0], 0.4, 0.5, slopes[1], bounds=(0, 1))
    assert inside.dtype == torch.float64 and inside.item() == pytest.approx(0.0766639654)
