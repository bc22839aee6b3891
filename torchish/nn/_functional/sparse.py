"""Embeddings, one-hot codes, attention."""

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.nn._functional.activation import dropout


class _PerCount(torch.autograd.Function):
    """Identity whose gradient is multiplied by given factors."""

    @staticmethod
    def forward(ctx, rows, factors):
        ctx.save_for_backward(factors)
        return rows.view_as(rows)

    @staticmethod
    def backward(ctx, grad):
        factors, = ctx.saved_tensors
        return grad * factors, None


def renormalise(weight, index, max_norm, norm_type):
    """Scale the rows that are used and longer than max_norm, in place."""
    rows = weight[index.reshape(-1)]
    length = rows.norm(norm_type, 1, keepdim=True)
    weight[index.reshape(-1)] = torch.where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows)


def _rows_of(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq):
    if max_norm is not None:
        with torch.no_grad():
            renormalise(weight, input, max_norm, norm_type)
    out = _rows["embedding"](input, weight) if padding_idx is None else _rows["embedding"](input, weight,
                                                                                         padding_idx=padding_idx)
    if scale_grad_by_freq:
        flat = input.reshape(-1)
        count = torch.zeros(weight.size(0), dtype=weight.dtype).index_add(0, flat, torch.ones(flat.numel(), dtype=weight.dtype))
        out = _PerCount.apply(out, (1 / count[input]).unsqueeze(-1))
    return out


def _dense(sparse):
    if sparse:
        raise NotImplementedError("sparse gradients do not exist here: use sparse=False")


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the indices `input`; the row `padding_idx` gets no gradient."""
    _dense(sparse)
    if padding_idx is not None and not -weight.size(0) <= padding_idx < weight.size(0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    return _rows_of(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """The sum, mean or maximum of the rows of each bag; bags are rows of `input`, or start at `offsets`."""
    _dense(sparse)
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
                         f"same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             f"sequences. However, found offsets of type {type(offsets)}")
        bags = input.size(0)
        bag = torch.arange(bags).repeat_interleave(input.size(1))
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = offsets[:-1] if include_last_offset else offsets
        bags = starts.numel()
        bag = torch.bucketize(torch.arange(input.numel()), starts.long(), right=True) - 1
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")
    rows = _rows_of(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    kept = torch.ones(input.numel(), dtype=torch.bool) if padding_idx is None else input != padding_idx % weight.size(0)
    empty = torch.zeros(bags, weight.size(1), dtype=weight.dtype)
    counts = torch.zeros(bags, dtype=weight.dtype).index_add(0, bag, kept.to(weight.dtype)).unsqueeze(1)
    if mode == "max":
        low = torch.full_like(rows, -torch.inf, requires_grad=False)
        rows = torch.where(kept.unsqueeze(1), rows, low)
        index = bag.unsqueeze(1).expand(-1, weight.size(1))
        most = torch.full_like(empty, -torch.inf).scatter_reduce(0, index, rows, "amax")
        return torch.where(counts > 0, most, empty)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    total = empty.index_add(0, bag, rows * kept.to(weight.dtype).unsqueeze(1))
    return total / counts.clamp_min(1) if mode == "mean" else total


def one_hot(tensor, num_classes=-1):
    """A new last dimension with 1 at the class."""
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        if int(tensor.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        num_classes = int(tensor.max()) + 1
    elif num_classes < 1 and tensor.numel() == 0:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return _rows["one_hot"](tensor, num_classes)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """softmax(query @ key^T * scale) @ value."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if dropout_p == 0.0:
        return _rows["scaled_dot_product_attention"](query, key, value, attn_mask, is_causal=is_causal, scale=scale,
                                                     enable_gqa=enable_gqa)
    if enable_gqa:
        times = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    return dropout(attention_weights(query, key, attn_mask, is_causal, scale), dropout_p) @ value


def attention_weights(query, key, attn_mask=None, is_causal=False, scale=None):
    """The weights of attention themselves."""
    scores = query @ key.transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return scores.softmax(-1)
