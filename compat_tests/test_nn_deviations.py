"""What docs/deviations.md says of layers: torchish's side."""

import pytest

import torchish as torch
from torchish.nn import attention
from torchish.nn.attention import bias, flex_attention


def test_a_causal_bias_is_the_mask():
    assert bias.causal_lower_right(2, 3).shape == (2, 3)


def test_flex_attention_gives_no_statistics():
    q = torch.ones(1, 1, 2, 4)
    with pytest.raises(NotImplementedError, match="use return_lse=True"):
        flex_attention.flex_attention(q, q, q, return_aux=True)


def test_one_kernel_of_attention():
    assert attention.list_flash_attention_impls() == []
    with pytest.raises(NotImplementedError, match="compiled by XLA"):
        attention.register_flash_attention_impl("FA9", register_fn=lambda: None)
    q = torch.ones(1, 1, 2, 4)
    with attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION):
        assert torch.nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape


def test_scratch_numbers_of_lbfgs():
    x = torch.ones(3, requires_grad=True)
    opt = torch.optim.LBFGS([x], max_iter=4, history_size=2)

    def closure():
        opt.zero_grad()
        loss = (x ** 4).sum()
        loss.backward()
        return loss
    opt.step(closure)
    assert opt.state_dict()["state"][0]["al"] == [None, None]
