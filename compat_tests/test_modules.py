"""nn: the protocols of Module, the numbers of layers and losses."""

import copy
import pickle

import pytest
from checks import agree, raises


def small(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))


def test_names(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = small(torch)
            self.scale = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("mean", torch.zeros(2))
            self.register_buffer("scratch", torch.zeros(2), persistent=False)
            self.blocks = torch.nn.ModuleList([torch.nn.Linear(1, 1) for _ in range(2)])
            self.named = torch.nn.ModuleDict({"a": torch.nn.Identity()})

    net = Net()
    body = ["body.0.weight", "body.0.bias", "body.2.weight", "body.2.bias"]
    blocks = [f"blocks.{i}.{kind}" for i in range(2) for kind in ("weight", "bias")]
    assert [n for n, _ in net.named_parameters()] == ["scale", *body, *blocks]
    assert [n for n, _ in net.named_buffers()] == ["mean", "scratch"]
    assert list(net.state_dict()) == ["scale", "mean", *body, *blocks]
    assert [n for n, _ in net.named_modules()] == ["", "body", "body.0", "body.1", "body.2", "blocks", "blocks.0", "blocks.1", "named", "named.a"]
    assert not net.eval().body[0].training and net.train().body[0].training
    net.double()
    assert {p.dtype for p in net.parameters()} == {torch.float64} and net.mean.dtype == torch.float64
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_state_is_aliased_out_and_copied_in(torch):
    net, other = small(torch), small(torch)
    with torch.no_grad():
        net[0].weight.fill_(2.0)
    state = net.state_dict()
    parameter = other[0].weight
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert other[0].weight is parameter and torch.equal(parameter, net[0].weight)
    with torch.no_grad():
        net[0].weight.zero_()
    assert state["0.weight"].sum().item() == 0.0 and parameter.sum().item() == 12.0
    del state["0.bias"]
    with raises(RuntimeError, 'Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "0.bias".'):
        other.load_state_dict(state)
    missing = other.load_state_dict(state, strict=False)
    assert missing.missing_keys == ["0.bias"] and missing.unexpected_keys == []


def test_refused(torch):
    layer = torch.nn.Linear(2, 2)
    with raises(TypeError, "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)"):
        layer.weight = torch.ones(2, 2)
    with raises(AttributeError, "'Linear' object has no attribute 'wieght'"):
        layer.wieght

    class Early(torch.nn.Module):
        def __init__(self):
            self.layer = torch.nn.Linear(1, 1)

    with raises(AttributeError, "cannot assign module before Module.__init__() call"):
        Early()
    with raises(RuntimeError, "mat1 and mat2 shapes cannot be multiplied (1x3 and 2x2)"):
        layer(torch.ones(1, 3))


def test_copies(torch):
    net = small(torch)
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin[0].weight.add_(1)
    assert not torch.equal(net[0].weight, twin[0].weight) and isinstance(twin[0].weight, torch.nn.Parameter)
    again = pickle.loads(pickle.dumps(net))
    assert torch.equal(again[2].weight, net[2].weight) and again[2].weight.requires_grad


def test_save_and_load(torch, tmp_path):
    net = small(torch)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    state = torch.load(tmp_path / "net.pt")
    assert list(state) == list(net.state_dict()) and torch.equal(state["2.weight"], net[2].weight)
    base = torch.arange(4.0)
    torch.save({"base": base, "part": base[1:3], "n": 3}, tmp_path / "shared.pt")
    loaded = torch.load(tmp_path / "shared.pt", weights_only=True)
    loaded["base"][1] = 9
    assert loaded["part"].tolist() == [9.0, 2.0] and loaded["n"] == 3


LAYERS = {
    "Linear": lambda nn: (nn.Linear(4, 3), (2, 4)),
    "Bilinear": lambda nn: (nn.Bilinear(4, 4, 2), (2, 4)),
    "LayerNorm": lambda nn: (nn.LayerNorm(4), (2, 4)),
    "BatchNorm1d": lambda nn: (nn.BatchNorm1d(4), (5, 4)),
    "GroupNorm": lambda nn: (nn.GroupNorm(2, 4), (2, 4, 3)),
    "Conv1d": lambda nn: (nn.Conv1d(2, 3, 2, padding=1), (1, 2, 5)),
    "Conv2d": lambda nn: (nn.Conv2d(2, 3, 2, stride=2), (1, 2, 4, 4)),
    "MaxPool2d": lambda nn: (nn.MaxPool2d(2), (1, 2, 4, 4)),
    "AvgPool1d": lambda nn: (nn.AvgPool1d(2), (1, 2, 4)),
    **{
        name: lambda nn, name=name: (getattr(nn, name)(), (3, 4))
        for name in "Tanh ReLU Sigmoid GELU SiLU ELU SELU Softplus LeakyReLU Hardtanh Mish Softsign LogSigmoid PReLU Tanhshrink".split()
    },
    "Softmax": lambda nn: (nn.Softmax(dim=1), (3, 4)),
    "LogSoftmax": lambda nn: (nn.LogSoftmax(dim=1), (3, 4)),
    "GLU": lambda nn: (nn.GLU(), (3, 4)),
    "Flatten": lambda nn: (nn.Flatten(), (2, 2, 2)),
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers(torch, recorded, make):
    torch.manual_seed(0)
    layer, shape = make(torch.nn)
    x = torch.linspace(-2, 2, int(torch.Size(shape).numel())).sin().reshape(shape).requires_grad_()
    y = layer(x, x) if type(layer).__name__ == "Bilinear" else layer(x)
    (y * torch.linspace(1, 2, y.numel()).reshape(y.shape)).sum().backward()
    recorded([y, x.grad, [p.grad for p in layer.parameters()]], rtol=1e-4, atol=1e-5)


LOSSES = {
    "MSELoss": "same", "L1Loss": "same", "SmoothL1Loss": "same", "HuberLoss": "same", "BCEWithLogitsLoss": "unit",
    "CrossEntropyLoss": "class", "NLLLoss": "class", "KLDivLoss": "unit", "SoftMarginLoss": "same",
}  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses(torch, recorded, loss, reduction):
    x = torch.linspace(-2, 2, 6).reshape(2, 3).requires_grad_()
    target = {"same": torch.ones(2, 3), "unit": torch.full((2, 3), 0.25), "class": torch.tensor([2, 0])}[LOSSES[loss]]
    value = getattr(torch.nn, loss)(reduction=reduction)(x, target)
    value.sum().backward()
    recorded([value, x.grad], rtol=1e-5, atol=1e-6)


def test_batch_norm_keeps_statistics(torch):
    layer = torch.nn.BatchNorm1d(1)
    with torch.no_grad():
        layer(torch.tensor([[0.0], [2.0]]))
    agree([layer.running_mean.item(), layer.running_var.item(), layer.num_batches_tracked.item()], [0.1, 1.1, 1])
    with raises(ValueError, "Expected more than 1 value per channel when training, got input size torch.Size([1, 1])"):
        layer(torch.ones(1, 1))


def test_data_loader(torch):
    data = torch.utils.data.TensorDataset(torch.arange(10.0), torch.arange(10))
    batches = list(torch.utils.data.DataLoader(data, batch_size=4))
    assert [x.tolist() for x, _ in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0]]
    assert len(torch.utils.data.DataLoader(data, batch_size=4, drop_last=True)) == 2


def test_data_loader_shuffles_by_the_seed(torch, recorded):
    torch.manual_seed(3)
    data = torch.utils.data.TensorDataset(torch.arange(8))
    loader = torch.utils.data.DataLoader(data, batch_size=3, shuffle=True)
    recorded([[x for (x,) in loader] for _ in range(2)])


def test_a_pinn_trains_to_the_same_numbers(torch, recorded):
    """Two hundred Adam steps of an oscillator with second derivatives."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    t = torch.linspace(0, 1, 20).view(-1, 1).requires_grad_()
    losses = []
    for step in range(200):
        optimizer.zero_grad()
        u = net(t)
        (du,) = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)
        (ddu,) = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)
        loss = (ddu + 4 * du + 40 * u).pow(2).mean() * 1e-3 + (u[0, 0] - 1) ** 2
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            losses.append(loss.item())
    recorded(losses, rtol=1e-4)
