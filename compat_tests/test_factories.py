"""What factories refuse before they make a tensor."""

import pytest

FACTORIES = [("zeros", (2,)), ("full", ((2,), 1.0)), ("arange", (3,)), ("linspace", (0, 1, 3)), ("eye", (2,)), ("rand", (2,)),
             ("randperm", (3,)), ("hann_window", (3,)), ("empty_strided", ((2,), (1,)))]


@pytest.mark.parametrize("name, args", FACTORIES)
def test_unknown_keyword(torch, name, args):
    with pytest.raises(TypeError, match=name):
        getattr(torch, name)(*args, strid=1)


@pytest.mark.parametrize("name, args", FACTORIES)
def test_layout_is_a_layout(torch, name, args):
    with pytest.raises(TypeError):
        getattr(torch, name)(*args, layout=5)
    assert getattr(torch, name)(*args, layout=torch.strided).layout is torch.strided


@pytest.mark.parametrize("name, args", [f for f in FACTORIES if f[0] != "empty_strided"])
def test_no_pinned_memory_without_an_accelerator(torch, name, args):
    with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"):
        getattr(torch, name)(*args, pin_memory=True)


@pytest.mark.parametrize("name", ["zeros_like", "rand_like", "randn_like", "empty_like"])
def test_unknown_keyword_of_the_same_kind(torch, name):
    with pytest.raises(TypeError, match=name):
        getattr(torch, name)(torch.ones(2), strid=1)


@pytest.mark.parametrize("name, args", [("new_zeros", (2,)), ("new_full", ((2,), 1.0)), ("new_empty", (2,))])
def test_unknown_keyword_of_a_method(torch, name, args):
    with pytest.raises(TypeError):
        getattr(torch.ones(2), name)(*args, strid=1)


def test_the_float_of_a_plain_tensor(torch):
    assert torch.dequantize(torch.ones(2, dtype=torch.float64)).dtype is torch.float32
    assert torch.ones(2).dequantize().tolist() == [1.0, 1.0]


PYTHON_TYPES = [(int, "int64"), (float, "float64"), (bool, "bool"), (complex, "complex128")]


@pytest.mark.parametrize("python, name", PYTHON_TYPES)
def test_python_types_name_dtypes(torch, python, name):
    d, x = getattr(torch, name), torch.ones(2)
    made = [torch.zeros_like(x, dtype=python), x.to(dtype=python), x.to(python), x.sum(dtype=python), torch.empty(2, dtype=python),
            torch.as_tensor([1], dtype=python), torch.tensor([1], dtype=python), x.new_tensor([1], dtype=python), torch.full((2,), 1, dtype=python),
            torch.eye(2, dtype=python)]
    assert [t.dtype for t in made] == [d] * len(made)
    assert torch.promote_types(python, torch.bool) is d and torch.can_cast(bool, python)


@pytest.mark.parametrize("call", ["torch.zeros(2, dtype=object)", "torch.tensor([1.], dtype=str)", "torch.ones(2).sum(0, dtype='x')",
                                  "torch.ones(2, dtype='float32')"])
def test_other_dtypes_are_refused(torch, call):
    with pytest.raises(TypeError, match=r"\w+\(\): argument 'dtype' must be torch.dtype, not (type|str)"):
        eval(call)


def test_resize_keeps_its_memory(torch):
    x = torch.arange(6.)
    v = x[2:]
    v.resize_(2, 2)
    v[0] = 7
    assert x.tolist() == [0, 1, 7, 7, 4, 5] and v.tolist() == [[7, 7], [4, 5]] and v.storage_offset() == 2
    y = torch.arange(6.).reshape(2, 3).t()
    assert y.resize_(3, 2).stride() == (1, 3) and y.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    z = torch.arange(6.)
    assert z.resize_(8)[:6].tolist() == [0, 1, 2, 3, 4, 5] and z._version == 1


@pytest.mark.parametrize("sizes, text", [
    ([2, 4, 2 ** 29, 2 ** 29], r"Storage size calculation overflowed with sizes=\[2, 4, 536870912, 536870912\]"),
    ([8, 8, 2 ** 29, 2 ** 29], "numel: integer multiplication overflow"), ([0, 4, 2 ** 61], "Stride calculation overflowed")])
def test_sizes_beyond_an_int64(torch, sizes, text):
    with pytest.raises(RuntimeError, match=text):
        torch.ones(2).resize_(sizes)
    with pytest.raises(RuntimeError, match="overflowed"):
        torch.zeros(sizes, dtype=torch.float64)


@pytest.mark.parametrize("name, low, high, end", [("bool", 2, 5, 2), ("uint8", 300, 400, 256), ("int8", 300, 400, 128)])
def test_make_tensor_outside_a_dtype(torch, name, low, high, end):
    make = torch.testing.make_tensor
    with pytest.raises(ValueError, match=rf"interval specified by `low` and `high` is \[{low}, {high}\), but torch.{name} only supports"):
        make((2,), dtype=getattr(torch, name), device="cpu", low=low, high=high)
    assert make((50,), dtype=getattr(torch, name), device="cpu", low=-5, high=5).max() < min(5, end)
