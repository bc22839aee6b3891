"""Multi-head attention."""

import math

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.nn._functional.activation import dropout
from torchish.nn._functional.sparse import scaled_dot_product_attention


def _as_float_mask(mask, name, dtype):
    """Booleans (True = hidden) become 0 and -inf, which are added to the scores."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)
    if not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask


def _projected(query, key, value, weight, bias):
    """The three input projections of one packed weight, or of three."""
    linear = _rows["linear"]
    if isinstance(weight, tuple):
        return [linear(x, w, b) for x, w, b in zip((query, key, value), weight, (None,) * 3 if bias is None else bias.chunk(3))]
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3),
                                               (None,) * 3 if bias is None else bias.chunk(3))]


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs have a batch dimension."""
    n = query.dim()
    if n not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    if key.dim() != n or value.dim() != n:
        raise AssertionError(f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected `key` and `value` to be "
                             f"{n}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected `key_padding_mask` to be "
                             f"`None` or {n - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected `attn_mask` to be `None`, "
                             f"2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
    wanted = (num_heads, query.shape[0], key.shape[0])
    if n == 2 and attn_mask is not None and attn_mask.dim() == 3 and attn_mask.shape != wanted:
        raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return n == 3


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
                                 average_attn_weights=True, is_causal=False):
    """Attention of (length, batch, features) tensors; returns the output and the weights (or None)."""
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        if query is key and key is value:
            query = key = value = query.unsqueeze(1)
        else:
            query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    key_padding_mask = _as_float_mask(key_padding_mask, "key_padding_mask", query.dtype)
    attn_mask = _as_float_mask(attn_mask, "attn_mask", query.dtype)
    if attn_mask is not None:
        wanted = (target, key.size(0)) if attn_mask.dim() == 2 else (batch * num_heads, target, key.size(0))
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {wanted}.")
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    weight = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(query, key, value, weight, in_proj_bias)
    if bias_k is not None:
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])

    def heads(x):
        return x.contiguous().view(x.size(0), batch * num_heads, head).transpose(0, 1)
    q = heads(q)
    k = heads(k) if static_k is None else static_k
    v = heads(v) if static_v is None else static_v
    if add_zero_attn:
        nothing = torch.zeros(batch * num_heads, 1, head, dtype=k.dtype, device=k.device)
        k, v = torch.cat([k, nothing], 1), torch.cat([v, nothing], 1)
    extra = k.size(1) - key.size(0) if static_k is None else 0
    pad = _rows["pad"]
    if extra:  # the appended keys are never hidden
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, extra))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, extra))
    mask = attn_mask
    if key_padding_mask is not None:
        for d, size in enumerate((batch, k.size(1))):
            if key_padding_mask.size(d) != size:
                raise AssertionError(f"Expected key_padded_mask.shape[{d}] to be {size}, but got {key_padding_mask.size(d)}")
        hidden = key_padding_mask.view(batch, 1, 1, k.size(1)).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, k.size(1))
        mask = hidden if mask is None else mask + hidden
    p = dropout_p if training else 0.0
    source = k.size(1)
    if need_weights:
        scores = (q * math.sqrt(1.0 / head)) @ k.transpose(-2, -1)
        weights = dropout((scores if mask is None else scores + mask).softmax(-1), p) if p else \
            (scores if mask is None else scores + mask).softmax(-1)
        out = (weights @ v).transpose(0, 1).contiguous().view(target * batch, width)
    else:
        mask = None if mask is None else mask.unsqueeze(0) if mask.size(0) == 1 and batch != 1 else \
            mask.view(-1, num_heads if mask.size(0) != 1 else 1, mask.size(1), source)
        out = scaled_dot_product_attention(q.view(batch, num_heads, target, head), k.view(batch, num_heads, source, head),
                                           v.view(batch, num_heads, source, head), mask, p)
        out = out.permute(2, 0, 1, 3).contiguous().view(target * batch, width)
    out = _rows["linear"](out, out_proj_weight, out_proj_bias).view(target, batch, out_proj_weight.size(0))
    out = out if batched else out.squeeze(1)
    if not need_weights:
        return out, None
    weights = weights.view(batch, num_heads, target, source)
    weights = weights.mean(dim=1) if average_attn_weights else weights
    return out, weights if batched else weights.squeeze(0)
