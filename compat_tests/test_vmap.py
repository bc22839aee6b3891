"""vmap: what a mapped function may do, and what it may not."""

import pytest
from checks import agree, raises


@pytest.fixture
def rows(torch):
    return torch.arange(6.0).reshape(2, 3)


def test_writes_to_mapped_tensors(torch, rows):
    def f(row):
        out = torch.zeros_like(row)
        out[0] = row[2]
        out[1:] += row[:2]
        return out.mul_(2)

    agree(torch.vmap(f)(rows), [[4.0, 0.0, 2.0], [10.0, 6.0, 8.0]])
    torch.vmap(lambda row: row.add_(1))(rows)
    agree(rows, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_a_mapped_value_does_not_fit_into_an_unmapped_tensor(torch, rows):
    with raises(RuntimeError, "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other`"):
        torch.vmap(lambda row: torch.zeros(3).copy_(row))(rows)


def test_what_cannot_be_mapped(torch, rows):
    vmap = torch.vmap
    with raises(RuntimeError, "vmap: It looks like you're calling .item() on a Tensor."):
        vmap(lambda row: row.sum().item())(rows)
    with raises(RuntimeError, "vmap: called random operation while in randomness error mode."):
        vmap(lambda row: row + torch.rand(3))(rows)
    with raises(ValueError, "vmap(<lambda>, ...): `<lambda>` must only return Tensors, got type <class 'float'>."):
        vmap(lambda row: 3.0)(rows)
    with raises(ValueError, "vmap(<lambda>, ...): `<lambda>` can not return a BatchedTensor when out_dim is None"):
        vmap(lambda row: row, out_dims=None)(rows)


def test_random_numbers_may_be_the_same(torch, rows):
    one, two = torch.vmap(lambda row: torch.rand(3) + 0 * row, randomness="same")(rows)
    assert one.tolist() == two.tolist()


def test_chunks_and_constants(torch, rows):
    agree(torch.vmap(lambda row: (row.sum(), torch.ones(2)), chunk_size=1)(rows), [[3.0, 12.0], [[1.0, 1.0], [1.0, 1.0]]])


def test_gradients_flow_out_of_the_map(torch, rows):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = rows.clone().requires_grad_()
    torch.vmap(lambda row: (row * w).sum() ** 2)(x).sum().backward()
    agree(w.grad, [156.0, 224.0, 292.0])
    agree(x.grad, [[16.0, 32.0, 48.0], [52.0, 104.0, 156.0]])


def test_a_gradient_of_a_gradient_through_the_map(torch, rows):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    slopes = torch.vmap(torch.func.grad(lambda row: (row**2 * w).sum()))(rows)
    agree(torch.autograd.grad((slopes**2).sum(), w), [[72.0, 272.0, 696.0]])


def test_a_large_batch_is_one_program(torch):
    points = torch.linspace(0, 1, 5000)
    second = torch.vmap(torch.func.grad(torch.func.grad(torch.sin)))(points)
    agree((second + points.sin()).abs().max() < 1e-5, True)


def test_a_mapped_tensor_prints_all_of_its_entries(torch, rows):
    seen = []
    torch.vmap(lambda row: seen.append(repr(row)) or row)(rows)
    assert seen == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1., 2.],\n            [3., 4., 5.]])\n)"]


DRAWS = {
    "rand": lambda torch, row: torch.rand(3) * row, "randn_like": lambda torch, row: torch.randn_like(row),
    "dropout": lambda torch, row: torch.nn.functional.dropout(row), "randperm": lambda torch, row: torch.randperm(3),
    "closed over": lambda torch, row: torch.nn.functional.dropout(torch.ones(3)),
    "normal": lambda torch, row: torch.normal(row, 1.0), "std": lambda torch, row: torch.normal(0.0, torch.ones(2)),
    "bernoulli": lambda torch, row: torch.bernoulli(row / 9), "multinomial": lambda torch, row: torch.multinomial(row + 1, 2),
    "poisson": lambda torch, row: torch.poisson(row), "uniform_": lambda torch, row: row.clone().uniform_(),
    "bernoulli_": lambda torch, row: row.clone().bernoulli_(torch.full((1,), 0.5)), "new": lambda torch, row: torch.zeros(2).uniform_(),
    "channels": lambda torch, row: torch.nn.functional.dropout1d(row[None, None]),
    "alpha": lambda torch, row: torch.nn.functional.alpha_dropout(row, training=True),
    "distribution": lambda torch, row: torch.distributions.Normal(row, 1.0).sample(),
    "nested": lambda torch, row: torch.vmap(lambda x: torch.randint(0, 9, (2,)) + x, randomness="different")(row),
    "same in": lambda torch, row: torch.vmap(lambda x: torch.rand(1) + x, randomness="same")(row)}


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_under_vmap(torch, recorded, name, randomness):
    torch.manual_seed(0)
    rows = torch.arange(6.0).reshape(2, 3)
    try:
        value = torch.vmap(lambda row: DRAWS[name](torch, row), randomness=randomness)(rows)
    except RuntimeError as e:
        value = str(e)
    recorded([value, torch.rand(1)], rtol=1e-6)


def test_random_numbers_of_other_transforms(torch, recorded):
    func, ones = torch.func, torch.ones(4, 3)
    torch.manual_seed(0)
    recorded([torch.vmap(lambda x: x * torch.rand(()), randomness="different", chunk_size=3)(ones),
              torch.vmap(lambda x: x * torch.rand(()), randomness="same", chunk_size=3)(ones),
              func.grad(lambda x: torch.vmap(torch.nn.functional.dropout, randomness="different")(x).sum())(ones),
              func.jacfwd(lambda x: x * torch.rand(3), randomness="same")(ones[0]), func.jacrev(lambda x: x * torch.rand(3))(ones[0])])
    with raises(RuntimeError, "vmap: called random operation while in randomness error mode."):
        func.jacfwd(lambda x: x * torch.rand(3))(ones[0])


def test_results_of_no_single_shape(torch):
    x = torch.arange(6.0).reshape(3, 2)
    dynamic = "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::"
    for f, text in ((lambda v: v.nonzero(), dynamic + "nonzero"), (lambda v: v.unique(), dynamic + "_unique2"),
                    (lambda v: v.unique(dim=0), dynamic + "unique_dim"), (lambda v: torch.unique_consecutive(v), dynamic + "unique_consecutive"),
                    (lambda v: v.masked_select(v > 2), "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask)"),
                    (lambda v: v[v > 2], "vmap: We do not support batching operators that can support dynamic shape.")):
        with raises(RuntimeError, text):
            torch.vmap(f)(x)
    mask = torch.tensor([True, False])
    assert torch.vmap(lambda v: v.masked_select(mask))(x).tolist() == torch.vmap(lambda v: v[mask])(x).tolist() == [[0], [2], [4]]


def test_a_tangent_written_through_a_view_inside_a_map(torch):
    def f(x, y):
        x = x.clone()
        x[0].copy_(y)
        return x

    def push(x, y, along):
        return torch.func.jvp(lambda y: f(x, y), (y,), (along,))[1]
    x, y, along = torch.zeros(2, 2, 3), torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)
    assert torch.vmap(push)(x, y, along).tolist() == [[[0, 1, 2], [0, 0, 0]], [[3, 4, 5], [0, 0, 0]]]
    assert torch.vmap(push, (None, None, 0))(x[0], y[0], along).tolist() == [[[0, 1, 2], [0, 0, 0]], [[3, 4, 5], [0, 0, 0]]]


def test_a_function_with_a_tensor_by_keyword(torch):
    class Plus(torch.autograd.Function):
        @staticmethod
        def forward(x, *, y):
            assert not torch.autograd.forward_ad._is_fwd_grad_enabled()
            return x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, *, y):
            return x + y, 0
    x = torch.ones(2)
    assert torch.vmap(lambda v: Plus.apply(v, y=2))(x).tolist() == [3, 3]
    with raises(NotImplementedError, "Run vmap on autograd.Function with kwarg-only Tensor args."):
        torch.vmap(lambda v: Plus.apply(v, y=x))(x)
