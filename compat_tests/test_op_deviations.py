"""What docs/deviations.md says of operations: torchish's side."""

import pytest

import torchish as torch


@pytest.mark.parametrize("call", [
    lambda: torch.ones(2).to_sparse(), lambda: torch.sparse.mm(torch.ones(2, 2), torch.ones(2, 2)),
    lambda: torch.sparse_coo_tensor([[0]], [1.0], (2,)), lambda: torch.ones(2).int_repr(),
    lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), lambda: torch.nested.nested_tensor([torch.ones(2)]),
    lambda: torch.zeros(2, layout=torch.sparse_coo), lambda: torch.ones(2).new_zeros(2, layout=torch.sparse_csr),
    lambda: torch.rand_like(torch.ones(2), layout=torch.jagged)])
def test_what_stays_out_says_what_to_use(call):
    with pytest.raises(NotImplementedError, match=r"torchish has no (sparse|quantized|nested|torch\.\w+) tensors; (use|compute)"):
        call()


def _tangent(f, x, t):
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        return ad.unpack_dual(f(ad.make_dual(x, t))).tangent


@pytest.fixture
def matrices():
    torch.manual_seed(0)
    a, t = torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
    return a @ a.T + 3 * torch.eye(3, dtype=torch.float64), t


@pytest.mark.parametrize("f", [torch.linalg.cholesky, lambda x: torch.linalg.cholesky_ex(x)[0],
                               lambda x: torch.linalg.pinv(x, hermitian=True)])
def test_tangents_of_symmetric_matrices(matrices, f):
    a, t = matrices
    torch.testing.assert_close(_tangent(f, a, t), _tangent(f, a, (t + t.T) / 2))


def test_the_tangent_of_the_other_triangle(matrices):
    a, t = matrices
    b = torch.ones(3, 1, dtype=torch.float64)

    def f(x):
        return torch.triangular_solve(b, x)[0]
    torch.testing.assert_close(_tangent(f, a, t), _tangent(f, a, t.triu()))


def test_cholesky_ex_without_a_result():
    factor, info = torch.linalg.cholesky_ex(-torch.eye(2))
    assert info.item() == 1 and factor.tril().isnan().any()


def test_float8_computes():
    assert (torch.ones(2).to(torch.float8_e4m3fn) + 1).float().tolist() == [2, 2]


def test_growing_leaves_the_views_behind():
    x = torch.arange(4.)
    view = x[:2]
    x.resize_(6)[0] = 9
    assert x[:4].tolist() == [9, 1, 2, 3] and view.tolist() == [0, 1]


def test_derivatives_that_pytorch_lacks():
    x = torch.tensor([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(torch.nn.functional.pdist, (x,))
    zeros = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: torch.ones(1, dtype=t.dtype).scatter_reduce(0, torch.tensor([0, 0]), t, "prod"), (zeros,))
    y = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.igamma, (y, torch.tensor([1.5, 4.0], dtype=torch.float64)), check_forward_ad=True)


def test_nothing_is_shared_between_processes():
    x = torch.ones(2)
    assert x.share_memory_() is x and not x.is_shared() and not x.untyped_storage().is_shared()
