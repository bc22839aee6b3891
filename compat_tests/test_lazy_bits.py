"""Conjugates and the imaginary parts of conjugates are views with a bit, as in PyTorch."""

import copy
import io
import warnings

import pytest


def pair(torch):
    t = torch.tensor([[1 + 2j, 3 + 4j]])
    return t, t.conj()


def test_conj_is_a_view_of_its_base(torch):
    t, v = pair(torch)
    assert v.is_conj() and v._base is t and v.data_ptr() == t.data_ptr() and not v.conj().is_conj()
    v.mul_(2j)
    assert t.tolist() == [[4 - 2j, 8 - 6j]] and v.tolist() == [[4 + 2j, 8 + 6j]] and t._version == 1
    v.imag.fill_(7.)
    assert t.tolist() == [[4 - 7j, 8 - 7j]] and v.imag.is_neg() and not v.real.is_neg()


def test_bit_follows_views_and_ends_at_copies(torch):
    t, v = pair(torch)
    assert all(x.is_conj() for x in (v[0], v.t(), v.reshape(2), v.detach(), v.contiguous(), v.to("cpu"), t.mH, torch.adjoint(t), t.H,
                                     v.as_strided((2,), (1,)), v.unbind()[0]))
    assert not any(x.is_conj() for x in (v.clone(), v + 0, v.to(torch.complex128), v.resolve_conj(), torch.zeros_like(v),
                                         v.expand(3, 2).contiguous(), copy.deepcopy(v), v.conj_physical()))
    assert v.as_strided((2,), (1,)).tolist() == [1 - 2j, 3 - 4j]
    assert torch.resolve_conj(t) is t and torch.conj(x := torch.ones(2)) is x


def test_numpy_and_other_dtypes_refuse_the_bits(torch):
    _, v = pair(torch)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that has conjugate bit set. Use tensor.resolve_conj\\(\\)"):
        v.numpy()
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that has negative bit set. Use tensor.resolve_neg\\(\\)"):
        v.imag.numpy()
    assert v.numpy(force=True).tolist() == [[1 - 2j, 3 - 4j]]
    with pytest.raises(RuntimeError, match="not supported for conjugate view tensors when converting to a different dtype"):
        v.view(torch.float32)
    with pytest.raises(RuntimeError, match="not supported for tensors with negative bit set when converting to a different dtype"):
        v.imag.view(torch.int32)
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(v)


def test_gradients_through_a_written_conjugate(torch):
    t = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    y = t * 2
    v = y.conj()
    v.mul_(2j)
    assert type(v.grad_fn).__name__ == "ConjBackward0" and type(y.grad_fn).__name__ == "CopySlices"
    (y * torch.tensor([1j, 2.])).abs().sum().backward()
    assert torch.allclose(t.grad, torch.tensor([1.7888544 + 3.5777087j, 4.8 + 6.4j]))


def test_nodes_of_parts(torch):
    t = torch.tensor([1 + 2j], requires_grad=True)

    def chain(x):
        names, node = [], x.grad_fn
        while node is not None:
            names.append(type(node).__name__)
            node = node.next_functions[0][0] if node.next_functions else None
        return names
    assert chain(t.real) == chain(t.imag) == ["SelectBackward0", "ViewAsRealBackward0", "AccumulateGrad"]
    assert chain(t.conj().imag)[:3] == ["SelectBackward0", "NegViewBackward0", "ViewAsRealBackward0"]


def test_saved_and_loaded_with_the_bit(torch):
    t, v = pair(torch)
    file = io.BytesIO()
    torch.save({"t": t, "v": v}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["v"].is_conj() and not loaded["t"].is_conj() and loaded["v"].tolist() == v.tolist()
    loaded["v"][0, 0] = 5 + 6j
    assert loaded["t"][0, 0].item() == 5 - 6j


def test_parts_share_numpys_memory(torch):
    t = torch.tensor([1 + 2j, 3 + 4j])
    t.real.numpy()[0] = 9
    torch.view_as_real(t).numpy()[1, 1] = 8
    assert t.tolist() == [9 + 2j, 3 + 8j]


@pytest.mark.parametrize("expression, text", [
    ("x.mT", r"tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."),
    ("x.mH", r"tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor."),
    ("x.adjoint()", r"tensor.adjoint\(\) is only supported on matrices or batches of matrices. Got 1-D tensor."),
    ("x.H", r"tensor.H is only supported on matrices \(2-D tensors\). Got 1-D tensor."),
    ("x[None, None].H", r"Got 3-D tensor. For batches of matrices, consider using tensor.mH")])
def test_transposes_of_matrices_only(torch, expression, text):
    number = torch.tensor(1.)
    with pytest.raises(RuntimeError, match=text):
        eval(expression, {"x": torch.ones(2)})
    with warnings.catch_warnings():     # each says that it is deprecated, PyTorch's once in a process
        warnings.simplefilter("ignore")
        assert number.T == 1 and number.mT is number.H is number.mH is number.adjoint() is number
