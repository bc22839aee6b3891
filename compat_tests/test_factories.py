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
