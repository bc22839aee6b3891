"""Activations at their kinks, a nested module's protocol, initialisers, gradient clipping."""

import pytest
from checks import raises

ACTIVATIONS = (
    "ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softplus Softsign Hardtanh Hardswish Hardsigmoid "
    "LogSigmoid Tanhshrink Softshrink Hardshrink"
).split()  # fmt: skip


@pytest.mark.parametrize("which", ACTIVATIONS)
def test_activations(torch, recorded, which):
    x = torch.tensor([-6.0, -1.5, -0.5, 0.0, 0.3, 2.0, 6.5], requires_grad=True)
    y = getattr(torch.nn, which)()(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    recorded([y, g, repr(getattr(torch.nn, which)())], rtol=1e-4, atol=1e-6)


class Net:
    """Built inside the tests, where the library is known."""

    @staticmethod
    def of(torch):
        class Two(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(2, 3)
                self.rest = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.ReLU()])
                self.scale = torch.nn.Parameter(torch.ones(1))
                self.register_buffer("count", torch.zeros((), dtype=torch.long))

            def forward(self, x):
                x = self.first(x)
                for module in self.rest:
                    x = module(x)
                return self.scale * x

        return Two()


def test_names_and_repr(torch, recorded):
    net = Net.of(torch)
    recorded([
        [name for name, _ in net.named_parameters()], [name for name, _ in net.named_modules()],
        list(net.state_dict()), repr(net), repr(net.scale), sum(p.numel() for p in net.parameters()),
    ])  # fmt: skip


def test_modes_and_conversion(torch):
    net = Net.of(torch)
    assert net.training and net.eval() is net and not net.rest[0].training and net.train().rest[1].training
    assert net.double().first.weight.dtype == torch.float64 and net.count.dtype == torch.int64
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    net.apply(lambda m: setattr(m, "seen", True))
    assert net.rest[0].seen


def test_load_state_dict(torch):
    net, other = Net.of(torch), Net.of(torch)
    weight = other.first.weight
    result = other.load_state_dict(net.state_dict())
    assert str(result) == "<All keys matched successfully>" and other.first.weight is weight
    assert torch.equal(weight, net.first.weight) and weight.data_ptr() != net.first.weight.data_ptr()
    state = net.state_dict()
    del state["first.bias"]
    state["extra"] = torch.zeros(1)
    with raises(
        RuntimeError,
        'Error(s) in loading state_dict for Two:\n\tMissing key(s) in state_dict: "first.bias". '
        '\n\tUnexpected key(s) in state_dict: "extra". ',
    ):
        other.load_state_dict(state)
    missing = other.load_state_dict(state, strict=False)
    assert missing.missing_keys == ["first.bias"] and missing.unexpected_keys == ["extra"]
    state["scale"] = torch.ones(2)
    with raises(
        RuntimeError,
        "Error(s) in loading state_dict for Two:\n\tsize mismatch for scale: copying a param with shape torch.Size([2]) "
        "from checkpoint, the shape in current model is torch.Size([1]).",
    ):
        other.load_state_dict(state, strict=False)


def test_assignments(torch):
    net = Net.of(torch)
    with raises(TypeError, "cannot assign 'torch.FloatTensor' as parameter 'scale' (torch.nn.Parameter or None expected)"):
        net.scale = torch.ones(1)
    with raises(AttributeError, "'Two' object has no attribute 'nothing'"):
        net.nothing
    net.scale = None
    assert "scale" not in net.state_dict() and net.scale is None
    net.bias = torch.nn.Parameter(torch.zeros(2))
    assert "bias" in dict(net.named_parameters())


def test_clipping_and_vectors(torch):
    layer = torch.nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    assert abs(norm.item() - 3**0.5) < 1e-5
    assert abs(sum(p.grad.square().sum().item() for p in layer.parameters()) - 1) < 1e-4
    vector = torch.nn.utils.parameters_to_vector(layer.parameters())
    torch.nn.utils.vector_to_parameters(2 * vector, layer.parameters())
    assert torch.allclose(torch.nn.utils.parameters_to_vector(layer.parameters()), 2 * vector)


def test_initialisers(torch, recorded):
    torch.manual_seed(3)
    values = {}
    for name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "uniform_", "normal_", "orthogonal_"):
        w = torch.empty(3, 4)
        getattr(torch.nn.init, name)(w)
        values[name] = w if name != "orthogonal_" else (w @ w.t()).round(decimals=3).abs()
    recorded(values, rtol=1e-4)
