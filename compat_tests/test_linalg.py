"""torch.linalg and its older neighbours: what fails, what is returned, and gradients through factorisations."""

import pytest
from checks import raises

SINGULAR = "The diagonal element 1 is zero, the inversion could not be completed because the input matrix is singular."


def wild(torch, *shape):
    """Numbers without a pattern, so that matrices of them have full rank."""
    return torch.arange(1.0, torch.Size(shape).numel() + 1, dtype=torch.float64).pow(1.5).sin().reshape(shape)


def spd(torch, n=4):
    """A well-conditioned symmetric positive-definite matrix."""
    a = wild(torch, n, n)
    return a @ a.mT + n * torch.eye(n, dtype=a.dtype)


def test_the_error_has_one_class(torch):
    assert torch.linalg.LinAlgError is torch._C._LinAlgError
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)


FAILURES = {
    "inv": (lambda torch, z, bad: torch.linalg.inv(z), "linalg.inv: " + SINGULAR),
    "inverse of a batch": (lambda torch, z, bad: torch.inverse(torch.stack([bad, z])), "linalg.inv: (Batch element 1): " + SINGULAR),
    "inv_ex": (lambda torch, z, bad: torch.linalg.inv_ex(z, check_errors=True), "linalg.inv_ex: " + SINGULAR),
    "solve": (lambda torch, z, bad: torch.linalg.solve(z, z),
              "torch.linalg.solve: The solver failed because the input matrix is singular."),
    "cholesky": (lambda torch, z, bad: torch.linalg.cholesky(bad),
                 "linalg.cholesky: The factorization could not be completed because the input is not positive-definite "
                 "(the leading minor of order 2 is not positive-definite)."),
    "svd": (lambda torch, z, bad: torch.linalg.svd(z / 0),
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_what_has_no_result_raises(torch, case):
    run, text = FAILURES[case]
    bad = torch.diag(torch.tensor([1.0, -1.0, 1.0]))
    with pytest.raises(torch.linalg.LinAlgError) as e:
        run(torch, torch.zeros(3, 3), bad)
    assert str(e.value) == text


def test_info_instead_of_errors(torch):
    bad = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, 1.0, -1.0]))])
    assert torch.linalg.cholesky_ex(bad).info.tolist() == [0, 3]
    assert torch.linalg.inv_ex(torch.zeros(2, 2)).info.item() == 1
    assert torch.linalg.solve_ex(torch.zeros(2, 2), torch.ones(2)).info.dtype is torch.int32
    assert torch.linalg.lu_factor_ex(torch.diag(torch.tensor([2.0, 0.0]))).info.item() == 2


def test_a_plain_runtime_error_for_a_zero_pivot(torch):
    with pytest.raises(RuntimeError, match=r"torch.linalg.lu_factor: U\[1,1\] is zero") as e:
        torch.linalg.lu_factor(torch.zeros(2, 2))
    assert type(e.value) is RuntimeError


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (5, 3)])
def test_lu_gives_the_matrix_back(torch, shape):
    a = wild(torch, *shape).requires_grad_()
    p, low, up = torch.linalg.lu(a)
    assert not p.requires_grad and low.requires_grad and up.requires_grad
    assert torch.allclose(p @ low @ up, a)
    assert all(torch.equal(x, y) for x, y in zip(torch.lu_unpack(*torch.linalg.lu_factor(a)), (p, low, up)))


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_lu_solve(torch, left, adjoint):
    a = spd(torch) + wild(torch, 4, 4) * 1j
    b = wild(torch, *((4, 3) if left else (3, 4))).to(torch.complex128)
    x = torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=left, adjoint=adjoint)
    m = a.mH if adjoint else a
    assert torch.allclose(m @ x if left else x @ m, b)


@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl(torch, hermitian):
    a = torch.arange(36.0, dtype=torch.float64).square().mul(0.37).sin().reshape(6, 6) * (1 + 0.5j)
    a = a + (a.mH if hermitian else a.mT)
    factor, pivots = torch.linalg.ldl_factor(a, hermitian=hermitian)
    b = torch.ones(6, 2, dtype=a.dtype)
    assert pivots.dtype is torch.int32
    assert torch.allclose(a @ torch.linalg.ldl_solve(factor, pivots, b, hermitian=hermitian), b)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelss", "gelsd", None])
def test_lstsq(torch, driver):
    a = torch.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 4.0]], dtype=torch.float64)
    b = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    x = torch.linalg.lstsq(a, b, driver=driver)
    assert torch.allclose(a.mT @ (a @ x.solution), a.mT @ b)
    assert x.residuals.shape == ((0,) if driver in (None, "gelsy") else (1,))
    assert x.rank.tolist() == ([] if driver == "gels" else 2)
    assert x.singular_values.shape == ((2,) if driver in ("gelss", "gelsd") else (0,))


def test_reflections(torch):
    a = wild(torch, 5, 3)
    h, tau = torch.geqrf(a)
    q = torch.orgqr(h, tau)
    assert torch.allclose(q @ h[:3].triu(), a)
    assert torch.allclose(torch.ormqr(h, tau, torch.eye(5, 3, dtype=a.dtype)), q)
    assert torch.allclose(torch.ormqr(h, tau, q, transpose=True), torch.eye(5, 3, dtype=a.dtype))


GRADIENTS = {
    "cholesky": lambda torch, a: torch.linalg.cholesky(a),
    "inv": lambda torch, a: torch.linalg.inv(a),
    "solve": lambda torch, a: torch.linalg.solve(a, a.mT + 1),
    "eigh": lambda torch, a: torch.linalg.eigh(a).eigenvalues,
    "svdvals": lambda torch, a: torch.linalg.svdvals(a),
    "qr": lambda torch, a: torch.linalg.qr(a).R,
    "lu": lambda torch, a: torch.linalg.lu(a).U,
    "matrix_exp": lambda torch, a: torch.linalg.matrix_exp(a / 4),
    "lstsq": lambda torch, a: torch.linalg.lstsq(a, a[:, :2] + 1).solution,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(torch, name):
    # 3 x 3, symmetric: what depends on one triangle only is given both
    a = spd(torch, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: GRADIENTS[name](torch, (a + a.mT) / 2), (a,))
    assert torch.autograd.gradgradcheck(lambda a: GRADIENTS[name](torch, (a + a.mT) / 2), (a,))


def test_matrix_exp_of_a_batch(torch):
    a = torch.stack([torch.zeros(2, 2), torch.tensor([[0.0, 30.0], [0.0, 0.0]]), torch.diag(torch.tensor([-50.0, 5.0]))])
    want = [[[1, 0], [0, 1]], [[1, 30], [0, 1]], [[torch.tensor(-50.0).exp().item(), 0], [0, torch.tensor(5.0).exp().item()]]]
    assert torch.allclose(torch.matrix_exp(a), torch.tensor(want), rtol=1e-4)


def test_low_rank(torch):
    a = torch.arange(6.0)[:, None].sin() * torch.arange(4.0).cos() + torch.arange(6.0)[:, None].cos()
    u, s, v = torch.svd_lowrank(a, q=3)
    assert torch.allclose(u @ torch.diag(s) @ v.mT, a, atol=1e-5)
    assert torch.pca_lowrank(a)[1].shape == (4,)
    with pytest.raises(ValueError, match="must be non-negative integer and not greater than"):
        torch.pca_lowrank(a, q=5)


def test_lobpcg(torch):
    a, b = torch.diag(torch.arange(1.0, 11.0)), 2 * torch.eye(10)
    assert torch.allclose(torch.lobpcg(a, 2)[0], torch.tensor([10.0, 9.0]))
    assert torch.allclose(torch.lobpcg(a, 2, B=b, largest=False)[0], torch.tensor([0.5, 1.0]))
    with pytest.raises(ValueError, match="is smaller than 3 x the number"):
        torch.lobpcg(a, 4)


@pytest.mark.parametrize("name", ["eig", "solve", "lstsq", "symeig", "matrix_rank"])
def test_removed_names(torch, name):
    arguments = (torch.eye(2),) * (2 if name in ("solve", "lstsq") else 1)
    with pytest.raises(RuntimeError, match="This function was deprecated since version 1.9 and is now removed."):
        getattr(torch, name)(*arguments)


def test_einsum_of_integers(torch):
    a = torch.ones(3, 3, dtype=torch.int16)
    assert torch.einsum("ij,jk", a, a).dtype is torch.int16
    assert torch.einsum("ij->i", a).dtype is torch.int64
    assert torch.einsum(a, [0, 1], a, [1, 2], [0, 2]).tolist() == [[3, 3, 3]] * 3


def test_addbmm_grows_in_place(torch):
    a = torch.ones(1)
    a.addbmm_(torch.ones(2, 2, 3), torch.ones(2, 3, 2))
    assert a.tolist() == [[7, 7], [7, 7]]


def test_cov_looks_at_its_weights(torch):
    with pytest.raises(RuntimeError, match=r"cov\(\): fweights cannot be negative"):
        torch.cov(torch.ones(2), fweights=torch.tensor([1, -1]))


def test_singular_vectors_beyond_the_values(torch):
    for shape in ((2, 3), (3, 2)):
        x = torch.tensor([[2.0, 0.5, 1.0], [0.0, 1.0, -1.0]], dtype=torch.float64).reshape(shape).requires_grad_()
        u, s, vh = torch.linalg.svd(x)
        thin = torch.linalg.svd(x, full_matrices=False)
        assert u.shape == (shape[0],) * 2 and vh.shape == (shape[1],) * 2
        projector = (u[:, :1] @ u[:, :1].T)[0, 0] + s[1]
        expected = (thin[0][:, :1] @ thin[0][:, :1].T)[0, 0] + thin[1][1]
        got, want = (torch.autograd.grad(f, x)[0] for f in (projector, expected))
        assert torch.allclose(got, want) and float(got.abs().sum()) > 0.1


def test_decompositions_without_a_derivative(torch):
    x = torch.tensor([[1.0, 2.0], [0.5, 1.0], [3.0, -1.0]], requires_grad=True)
    for f, text in ((lambda: torch.linalg.qr(x, "complete")[1], "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."),
                    (lambda: torch.linalg.qr(x, "r")[1], "The derivative of linalg.qr depends on Q, which is not computed when mode='r'."),
                    (lambda: torch.geqrf(x)[0], "the derivative for 'geqrf' is not implemented."),
                    (lambda: torch.linalg.ldl_factor(x[:2])[0], "derivative for aten::linalg_ldl_factor_ex is not implemented"),
                    (lambda: torch.bincount(torch.tensor([0, 1, 1]), x[:, 0]), "derivative for aten::bincount is not implemented")):
        y = f()
        assert y.requires_grad
        with raises(RuntimeError, text):
            y.sum().backward()
    wide, = torch.autograd.grad(torch.linalg.qr(x.T, "complete")[1].abs().sum(), x)
    assert wide.shape == x.shape
