"""Copies of views, unsafe splits, diagonals, 0-dim masks, operations without a derivative."""

import ctypes

import pytest
from checks import agree

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
CALLS = {
    "alias": (), "as_strided": ((2, 2), (1, 2), 1), "detach": (), "diagonal": (1,), "expand": ((2, 2, 3),), "narrow": (1, 1, 2),
    "permute": ((1, 0),), "select": (1, 2), "split": (2, 1), "split_with_sizes": ([1, 2], 1), "squeeze": (), "t": (), "transpose": (0, 1),
    "unbind": (1,), "unfold": (1, 2, 1), "unsqueeze": (0,), "view": ((3, 2),)}


@pytest.mark.parametrize("name", CALLS)
def test_a_copy_shows_what_the_view_shows(torch, name):
    x = torch.tensor(X)
    copy = getattr(torch, name + "_copy")(x, *CALLS[name])
    view = x.view_as(x) if name == "alias" else getattr(x, name)(*CALLS[name])
    for a, b in zip(copy if isinstance(copy, tuple) else [copy], view if isinstance(view, tuple) else [view], strict=True):
        agree(a, b)
        a.zero_()
    agree(x, torch.tensor(X))


def test_copies_into_out(torch):
    x = torch.tensor(X)
    out = torch.empty(3, 2)
    assert torch.transpose_copy(x, 0, 1, out=out) is out
    agree(out, x.t())
    pieces = [torch.empty(3), torch.empty(3)]
    torch.unbind_copy(x, out=pieces)
    agree(pieces[1], x[1])


def test_unsafe_pieces_may_be_written(torch):
    x = torch.tensor(X, requires_grad=True)
    a, b = torch.unsafe_chunk(x, 2)
    a.mul_(2)
    (a + b).sum().backward()
    agree(x.grad, torch.tensor([[2.0] * 3, [1.0] * 3]))
    assert [t.shape for t in x.unsafe_split_with_sizes([1, 2], 1)] == [(2, 1), (2, 2)]
    assert [t.shape for t in torch.unsafe_split(x, 2, 1)] == [(2, 2), (2, 1)]


def test_masks_without_dimensions(torch):
    x, zero = torch.tensor(X), torch.tensor(0.0)
    assert x[torch.tensor(True)].shape == (1, 2, 3) and x[torch.tensor(False)].shape == (0, 2, 3)
    agree(torch.masked_select(torch.tensor(3.0), torch.tensor(True)), torch.tensor([3.0]))
    out = torch.empty(0)
    torch.masked_select(x, x > 4, out=out)
    agree(out, torch.tensor([5.0, 6.0]))
    assert torch.nonzero(zero).shape == (0, 0) and torch.argwhere(zero + 1).shape == (1, 0)
    agree(torch.nonzero_static(torch.tensor([1, 0, 2]), size=3), torch.tensor([[0], [2], [-1]]))


def test_diagonals_and_strides(torch):
    x = torch.zeros(5, 2)
    x.fill_diagonal_(1, wrap=True)
    agree(x.sum(1), torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0]))
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    y = torch.arange(6.0)
    y.as_strided_((2, 2), (1, 2), 1)
    agree(y, torch.tensor([[1.0, 3.0], [2.0, 4.0]]))


@pytest.mark.parametrize("call, message", [
    (lambda torch, x: torch.hsplit(x, 2), "attempted to split along dimension 1, but the size of the dimension 3 is not divisible"),
    (lambda torch, x: torch.dsplit(x, 1), "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with 2 dimensions!"),
    (lambda torch, x: torch.narrow(x.sum(), 0, 0, 1), "cannot be applied to a 0-dim tensor"),
    (lambda torch, x: torch.movedim(x, (0, 1), (0,)), "should contain the same number of dims as destination"),
    (lambda torch, x: torch.movedim(x, (0, 0), (0, 1)), r"movedim: repeated dim in `source` \(\[0, 0\]\)"),
    (lambda torch, x: torch.empty_permuted((2, 3), (0, 0)), "Duplicate dim not allowed"),
    (lambda torch, x: torch.hstack(()), "hstack expects a non-empty TensorList"),
    (lambda torch, x: torch.rot90(x, 1, (1, 1)), "expected rotation dims to be different, but got dim0 = 1 and dim1 = 1"),
    (lambda torch, x: x.masked_select(x > 0).renorm(1, 0, 1), "renorm: input needs at least 2 dimensions, got 1 dimensions"),
    (lambda torch, x: torch.nn.functional.max_pool1d(x, 0), r"max_pool1d\(\) kernel_size must be greater than zero, but got 0"),
    (lambda torch, x: torch.nn.functional.avg_pool1d(x, 2, padding=-1), "pad must be non-negative, but got pad: -1"),
    (lambda torch, x: torch.nn.functional.conv1d(x[None], x[None], stride=0), "non-positive stride is not supported"),
    (lambda torch, x: torch.nn.functional.rms_norm(x, (2,)), r"Given normalized_shape=\[2\], expected input with shape \[\*2\]"),
    (lambda torch, x: torch.nn.functional.multi_margin_loss(x, x), "target tensor should be 1-D with size equal to the number of input samples"),
])
def test_bad_input(torch, call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch, torch.tensor(X))


@pytest.mark.parametrize("x, target", [([0.1, 0.2, 0.3], 1), ([0.1, 0.2, 0.3], [1]), (0.5, 0)])
def test_a_margin_loss_of_one_sample(torch, x, target):
    x = torch.tensor(x)
    loss = torch.nn.functional.multi_margin_loss(x, torch.tensor(target))
    agree(loss, torch.tensor(2 / 3 if x.dim() else 0.0))


def test_operations_without_a_derivative(torch):
    x = torch.tensor([5.0, 7.0], requires_grad=True)
    for call, name in ((lambda: x // 2, "floor_divide"), (lambda: torch.floor_divide(x, x), "floor_divide"),
                       (lambda: (x * 1).floor_divide_(2), "floor_divide_")):
        y = call()
        assert y.grad_fn.name() == "torch::autograd::NotImplemented"
        with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
            y.sum().backward()
    torch.div(x, 2, rounding_mode="floor").sum().backward()
    agree(x.grad, torch.zeros(2))


def test_the_gradient_of_as_strided_scatter():
    import torchish as torch
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    src = torch.ones(2, 2, requires_grad=True)
    y = torch.as_strided_scatter(x, src, (2, 2), (1, 2), 0)
    w = torch.arange(1.0, 10).reshape(3, 3)
    dx, dsrc = torch.autograd.grad((y * w).sum(), [x, src])
    agree(dx, torch.tensor([[0.0, 0.0, 0.0], [0.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))
    agree(dsrc, torch.tensor([[1.0, 3.0], [2.0, 4.0]]))


def test_reading_memory_as_another_dtype(torch):
    x = torch.ones(2, 2)
    assert x.view(torch.int32).tolist() == [[1065353216] * 2] * 2 and x.view(torch.float64).shape == (2, 1)
    agree(x.view(torch.complex64), torch.tensor([[1 + 1j], [1 + 1j]]))
    x.view(dtype=torch.int16)[0].zero_()
    agree(x, torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
    assert x[1].view(torch.int16).storage_offset() == 4 and not x.requires_grad_().view(torch.int32).requires_grad
    for call, message in ((lambda: torch.ones(3).view(torch.float64), "must be divisible by 2 to view Float as Double"),
                          (lambda: torch.ones(2, 2).t().view(torch.int16), r"self.stride\(-1\) must be 1 to view Float as Short"),
                          (lambda: torch.tensor(1.0).view(torch.int16), r"self.dim\(\) cannot be 0 to view Float as Short")):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_geometry_stays_within_the_storage(torch):
    for size, stride, message in (((3,), (3,), "requiring a storage size of 28 are out of bounds for storage of size 24"),
                                  ((2, 2), (1,), "mismatch in length of strides and shape"), ((2,), (-1,), "Negative strides are not supported")):
        for name in ("as_strided", "as_strided_"):
            with pytest.raises(RuntimeError, match=message):
                getattr(torch.ones(6), name)(size, stride)
    t = torch.ones(2)
    assert t.set_(source=torch.arange(4.0), storage_offset=1, size=(2,), stride=(1,)).tolist() == [1.0, 2.0]


def test_scatters_of_booleans(torch):
    x, i, ones = torch.tensor([True, False]), torch.tensor([0, 0]), torch.tensor([True, True])
    for y in (x.scatter_add(0, i, ones), x.index_add(0, i, ones), x.put(i, ones, True), x.scatter_reduce(0, i, ones, "sum"),
              x.scatter_reduce(0, i, ones, "prod"), x.scatter(0, i, ones, reduce="multiply"), x.index_put((i,), ones, True)):
        assert y.tolist() == [True, False]


@pytest.mark.parametrize("name, args, message", [
    ("gather", (0, "i"), "Expected out tensor to have dtype float, but got double instead"),
    ("take", ("i",), r"take\(\): self and out expected to have the same dtype, but got self.dtype = Float and out.dtype = Double"),
    ("index_select", (0, "i"), r"index_select\(\): self and result must have the same scalar type"),
    ("nonzero", (), "nonzero: Expected out tensor to have scalar type Long but got scalar typeDouble"),
    ("complex", ("x",), "Expected object of scalar type ComplexFloat but got scalar type Double for argument 'out'")])
def test_out_tensors_of_another_dtype(torch, name, args, message):
    given = {"i": torch.tensor([0, 1]), "x": torch.ones(2)}
    with pytest.raises(RuntimeError, match=message):
        getattr(torch, name)(torch.ones(2), *(given.get(a, a) for a in args), out=torch.empty(2, dtype=torch.float64))


def test_second_derivative_of_scattered_products(torch):
    x = torch.tensor([2.0, 0.0], requires_grad=True, dtype=torch.float64)
    src = torch.tensor([3.0, 5.0, 7.0], requires_grad=True, dtype=torch.float64)
    y = x.scatter_reduce(0, torch.tensor([0, 1, 1]), src, "prod")
    dx, dsrc = torch.autograd.grad(y.sum(), (x, src), create_graph=True)
    assert dx.tolist() == [3.0, 35.0] and dsrc.tolist() == [2.0, 0.0, 0.0]
    agree(torch.autograd.grad(dsrc.sum(), x)[0], torch.tensor([1.0, 12.0], dtype=torch.float64))


def test_small_and_absent_dtypes(torch):
    t = torch.tensor([1.0, 2.5, 300.0, -1.0], dtype=torch.float8_e4m3fn)
    assert t.tolist() == [1.0, 2.5, 288.0, -1.0] and t.float().dtype is torch.float32 and torch.finfo(t.dtype).max == 448
    assert repr(t) == "tensor([  1.0000,   2.5000, 288.0000,  -1.0000], dtype=torch.float8_e4m3fn)"
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Float"):
        torch.promote_types(t.dtype, torch.float32)
    assert torch.chalf is torch.complex32 and torch.float16.to_complex() is torch.complex32 and torch.complex32.to_real() is torch.float16
    assert torch.bit is torch.uint1 and [d.abbr for d in (torch.int4, torch.bits8, torch.bfloat16)] == ["int4", "b8x1", "bf16"]
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Int"):
        torch.int32.to_complex()


def test_dtypes_without_tensors_say_what_to_use():
    import torchish as torch
    with pytest.raises(NotImplementedError, match=r"torchish has no tensors of torch.complex32; use torch.complex64"):
        torch.zeros(2, dtype=torch.complex32)


def test_memory_of_others(torch):
    memory = bytearray(b"abcdefgh")
    t = torch.frombuffer(memory, dtype=torch.int16, count=2, offset=2)
    memory[2:4] = b"\1\0"
    assert t[0].item() == 1
    with pytest.raises(ValueError, match=r"buffer length \(7 bytes\) after offset \(1 bytes\) must be a multiple of element size \(2\)"):
        torch.frombuffer(memory, dtype=torch.int16, offset=1)
    assert torch.from_dlpack(torch.to_dlpack(torch.tensor([1.0, 2.0]))).tolist() == [1.0, 2.0]


def test_other_spellings_of_parameters(torch):
    x = torch.arange(4.0)
    assert [p.tolist() for p in torch.tensor_split(x, sections=2)] == [p.tolist() for p in x.split(split_size=2)]
    assert torch.result_type(scalar=1, tensor=x) is torch.float32 and torch.isin(element=1, test_elements=x).item()
    assert torch.ones(2, 3).swapaxes(axis0=0, axis1=1).shape == (3, 2) and x.resize_(size=(2, 2)).shape == (2, 2)
    assert torch.zeros(2).copy_(other=torch.ones(2)).tolist() == [1.0, 1.0] and torch.scalar_tensor(-8, dtype=torch.uint8).item() == 248


def test_an_element_at_a_time(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert x.map_(y, lambda a, b: a * b).tolist() == [3.0, 8.0] and x.apply_(lambda a: a + 1).tolist() == [4.0, 9.0]
    assert list(map(float, reversed(x))) == [9.0, 4.0] and (2 << torch.tensor([1, 2])).tolist() == [4, 8]
    with pytest.raises(TypeError, match="Tensor does not support deleting items"):
        del x[0]


def test_draws_have_no_slope(torch):
    p = torch.tensor([0.5, 0.5], requires_grad=True)
    for drawn, name in ((torch.bernoulli(p), "BernoulliBackward0"), (torch.normal(p, p), "NormalBackward3"), (torch.poisson(p), "PoissonBackward0")):
        assert drawn.grad_fn.name() == name
        agree(torch.autograd.grad(drawn.sum(), p)[0], torch.zeros(2))


def test_storages_show_the_memory(torch):
    t = torch.arange(4.0)
    memory, numbers = t[1:].untyped_storage(), t.storage()
    assert memory.nbytes() == 16 and memory == t.untyped_storage() and memory.data_ptr() == numbers.data_ptr() == t.data_ptr()
    assert numbers.tolist() == [0.0, 1.0, 2.0, 3.0] and numbers.type() == "torch.FloatStorage" and isinstance(numbers, torch.FloatStorage)
    numbers[1] = 7.0
    assert t.tolist() == [0.0, 7.0, 2.0, 3.0] and repr(memory[:2]) == " 0\n 0\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    assert torch.empty(0).set_(memory, 1, (2,), (1,)).tolist() == [7.0, 2.0] and torch.is_storage(memory) and not torch.is_storage(t)
    memory.fill_(0)
    assert not t.any() and torch.FloatStorage([1, 2]).int().tolist() == [1, 2]


def read_at(t):
    """A float32 tensor's elements, read from its address."""
    return list((ctypes.c_float * t.numel()).from_address(t.data_ptr()))


def test_the_address_of_a_tensor(torch):
    t = torch.arange(6.0).reshape(2, 3)
    place = t.data_ptr()
    assert read_at(t) == [0, 1, 2, 3, 4, 5] and read_at(t[1]) == [3, 4, 5] and t[1].data_ptr() == place + 12
    t.mul_(2)
    assert t.data_ptr() == t.detach().data_ptr() == t.untyped_storage().data_ptr() == place and read_at(t) == [0, 2, 4, 6, 8, 10]
    assert t.clone().data_ptr() != place and torch.empty(0).data_ptr() == t[2:].data_ptr() == 0
    shared = torch.zeros(3)
    assert shared.numpy().ctypes.data == shared.data_ptr()


def test_tensors_over_a_storage(torch):
    t = torch.tensor([1.0, 2.0])
    memory = torch.asarray(t.untyped_storage(), dtype=torch.uint8)
    assert memory.tolist() == [0, 0, 128, 63, 0, 0, 0, 64]
    memory[3] = 191
    assert t.tolist() == [-1, 2] and torch.tensor(t.storage()).tolist() == torch.as_tensor(t.storage()).tolist() == [-1, 2]
    assert torch.as_tensor(t.untyped_storage()).dtype is torch.int64


def test_out_that_overlaps_itself(torch):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.add(torch.ones(3, 2), 1, out=torch.ones(1, 2).expand(3, 2))
