"""The random streams of the CPU generator: the same seed gives the same numbers."""

import pytest
from checks import agree
from hypothesis import given
from hypothesis import strategies as st

DRAWS = {
    "rand": lambda t: t.rand(5),
    "rand_double": lambda t: t.rand(3, dtype=t.float64),
    "rand_matrix": lambda t: t.rand(4, 5),
    "randn_few": lambda t: t.randn(5),
    "randn_many": lambda t: t.randn(20),
    "randn_double": lambda t: t.randn(17, dtype=t.float64),
    "randint": lambda t: t.randint(0, 10, (8,)),
    "randint_wide": lambda t: t.randint(-(2**40), 2**40, (4,)),
    "randperm": lambda t: t.randperm(12),
    "normal_": lambda t: t.empty(20).normal_(1.0, 2.0),
    "normal": lambda t: t.normal(0.0, 1.0, (3,)),
    "normal_means": lambda t: t.normal(t.arange(4.0), t.ones(4)),
    "uniform_": lambda t: t.empty(6).uniform_(-2, 3),
    "bernoulli": lambda t: t.bernoulli(t.full((10,), 0.3)),
    "bernoulli_": lambda t: t.empty(10).bernoulli_(0.5),
    "rand_like": lambda t: t.rand_like(t.ones(2, 2)),
    "exponential_": lambda t: t.empty(4).exponential_(2.0),
    "multinomial": lambda t: t.multinomial(t.tensor([0.1, 0.2, 0.7]), 6, replacement=True),
    "dropout": lambda t: t.nn.functional.dropout(t.ones(12), 0.5),
    "linear": lambda t: list(t.nn.Linear(3, 4).parameters()),
    "conv": lambda t: list(t.nn.Conv1d(2, 3, 2).parameters()),
    "xavier_uniform_": lambda t: t.nn.init.xavier_uniform_(t.empty(3, 4)),
    "xavier_normal_": lambda t: t.nn.init.xavier_normal_(t.empty(3, 4)),
    "kaiming_normal_": lambda t: t.nn.init.kaiming_normal_(t.empty(5, 4)),
    "orthogonal_": lambda t: t.nn.init.orthogonal_(t.empty(3, 3)).abs(),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_streams(torch, recorded, draw):
    torch.manual_seed(7)
    recorded([draw(torch), torch.rand(2)], rtol=1e-6)


def test_a_network_starts_the_same(torch, recorded):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1))
    recorded([[p.sum(), p.flatten()[:3]] for p in model.parameters()], rtol=1e-5)


def test_generators(torch):
    mine = torch.Generator().manual_seed(3)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), torch.rand(4, generator=mine))
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(a, torch.rand(3)) and mine.initial_seed() == 3
    assert torch.initial_seed() == 3


def test_fork_rng(torch):
    torch.manual_seed(1)
    with torch.random.fork_rng():
        torch.rand(10)
    a = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(a, torch.rand(1))


@given(st.integers(0, 2**63 - 1), st.integers(0, 40))
def test_drawing_in_parts(torch, seed, n):
    """`rand` draws one after the other, in whatever pieces."""
    torch.manual_seed(seed)
    whole = torch.rand(n + 3)
    torch.manual_seed(seed)
    agree(torch.cat([torch.rand(n), torch.rand(3)]).tolist(), whole.tolist(), rtol=0, atol=0)


@pytest.mark.parametrize("name, args", [("normal_", ()), ("uniform_", ()), ("bernoulli_", ()), ("geometric_", (0.5,)), ("exponential_", ())])
def test_drawn_numbers_have_no_tangent(torch, name, args):
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(torch.ones(3), torch.ones(3)).clone()
        getattr(dual, name)(*args)
        assert ad.unpack_dual(dual).tangent.tolist() == [0.0] * 3


def test_new_of_a_size(torch):
    assert torch.ones(2).new(torch.Size([3, 2])).shape == (3, 2)
    assert torch.ones(2).new([3, 2]).tolist() == [3.0, 2.0]


@pytest.mark.parametrize("draw", ["x.uniform_()", "x.normal_()", "x.random_(10)", "x.bernoulli_(0.5)", "x.exponential_()", "torch.rand_like(x)",
                                  "torch.randn_like(x)", "torch.randint_like(x, 10)", "torch.nn.functional.dropout(one)",
                                  "x.bernoulli_(half)"])
@pytest.mark.parametrize("sizes, dims", [((3, 2), (1, 0)), ((2, 3, 2), (2, 0, 1)), ((2, 1, 3), (2, 1, 0))])
def test_numbers_are_drawn_in_the_order_of_memory(torch, draw, sizes, dims):
    def drawn(view):
        torch.manual_seed(0)
        x, one, half = (view(torch.full(sizes, v)) for v in (0., 1., .5))
        return eval(draw, {"torch": torch, "x": x, "one": one, "half": half})
    assert torch.equal(drawn(lambda x: x.permute(dims)), drawn(lambda x: x).permute(dims))


def test_numbers_drawn_into_an_expanded_tensor(torch):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.zeros(1, 3).expand(2, 3).uniform_()


def test_normal_numbers_have_no_tangent(torch):
    ad, normal = torch.autograd.forward_ad, torch.normal
    for draw in (normal, lambda x: normal(x, 0.5), lambda x: normal(0.2, x), lambda x: normal(x, x)):
        with ad.dual_level():
            out = draw(ad.make_dual(torch.ones(3), torch.ones(3)))
            assert ad.unpack_dual(out).tangent.tolist() == [0.0] * 3
