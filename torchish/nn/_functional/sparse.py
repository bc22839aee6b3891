"""Embeddings, one-hot codes, attention."""

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.autograd.modes import suspended
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
    """Scale the rows that are used and longer than max_norm, in place; a tangent stays as it is."""
    with suspended():
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


def refuse_sparse(sparse, weight):
    """Sparse gradients, where one is to come."""
    if sparse and weight.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError("sparse gradients do not exist here: use sparse=False")


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the indices `input`; the row `padding_idx` gets no gradient."""
    refuse_sparse(sparse, weight)
    if padding_idx is not None and not -weight.size(0) <= padding_idx < weight.size(0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    return _rows_of(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """The sum, mean or maximum of the rows of each bag; bags are rows of `input`, or start at `offsets`."""
    refuse_sparse(sparse, weight)
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
                         f"same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             f"sequences. However, found offsets of type {type(offsets)}")
        n, width = input.shape
        offsets, include_last_offset = torch.arange(n) * width, False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if padding_idx is not None and not -weight.size(0) <= padding_idx < weight.size(0):
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{weight.size(0)} through {weight.size(0) - 1}, but got "
                           f"{padding_idx}")
    if max_norm is not None:
        with torch.no_grad():
            renormalise(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")
    return bags(weight, input, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx)[0]


MODES = ("sum", "mean", "max")


def _check_bags(weight, indices, offsets, mode, per_sample_weights, padding_idx):
    checking = "(while checking arguments for embedding_bag)"
    for name, t, dims in ("input", indices, (1, 2)), ("offsets", offsets, (1,)), ("weight", weight, (2,)):
        if t.dim() not in dims:
            raise RuntimeError(f"{name} has to be a {' or '.join(f'{n}D' for n in dims)} Tensor, but got Tensor of dimension {t.dim()}")
    for name, t in ("indices", indices), ("offsets", offsets):
        if t.dtype not in (torch.int64, torch.int32):
            raise RuntimeError(f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
                               f"{t.type()} instead {checking}")
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
                           f"but type {weight.type()} does not equal {per_sample_weights.type()} {checking}")
    first, last = (offsets[0].item(), offsets[-1].item()) if offsets.numel() else (0, 0)
    if first != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
                           f"got {first}")
    if last > indices.numel():
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {indices.numel()} but got offsets[-1] of {last}")
    wrong = (indices < 0) | (indices >= weight.size(0))
    if wrong.any():
        k = int(wrong.nonzero()[0])
        if mode == "max" or padding_idx is not None or weight.dtype is torch.float64:    # PyTorch's slower routine
            raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {indices[k].item()}")
        raise RuntimeError(f"Index {k} of input takes value {indices[k].item()} which is not in the valid range [0, {weight.size(0)})")


def bags(weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx):
    """(the reduced rows of each bag, the bag of each index, how many rows each bag has, the index of each maximum)."""
    _check_bags(weight, indices, offsets, mode, per_sample_weights, padding_idx)
    starts = offsets[:-1] if include_last_offset else offsets
    count, n = starts.numel(), indices.numel()
    begun = torch.zeros(n + 1, dtype=torch.int64).index_add(0, starts.long(), torch.ones(count, dtype=torch.int64))
    bag = begun[:n].cumsum(0) - 1
    kept = torch.ones(n, dtype=torch.bool) if padding_idx is None else indices != padding_idx % weight.size(0)
    size = torch.zeros(count, dtype=torch.int64).index_add(0, bag, kept.long())
    rows = _rows_of(indices, weight, padding_idx, None, 2.0, scale_grad_by_freq)
    if mode == "max" and n:
        at = _first_maxima(rows.detach(), bag, kept, count)
        filled = (size > 0).unsqueeze(1)
        most = torch.where(filled, rows.gather(0, at), 0.0)
        return most, bag, size, torch.where(filled, indices[at], 0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if include_last_offset and padding_idx is None:     # the last bag ends there; with `padding_idx` PyTorch takes all that remain
        kept = torch.arange(n) < offsets[-1]
    total = torch.zeros(count, weight.size(1), dtype=weight.dtype).index_add(0, bag, torch.where(kept.unsqueeze(1), rows, 0.0))
    if mode == "max":
        return total, bag, size, torch.zeros(total.shape, dtype=torch.int64)
    if mode == "mean":
        return total / size.clamp_min(1).unsqueeze(1).to(weight.dtype), bag, size, size
    unused = torch.zeros_like(size)      # PyTorch does not count for a sum
    return total, bag[:0] if padding_idx is None else bag, unused, unused


def _first_maxima(rows, bag, kept, count):
    """For each bag and column the place of the first among the largest rows that are kept; 0 for an empty bag."""
    n, width = rows.shape
    low = torch.full((), -torch.inf, dtype=rows.dtype)
    bag = bag.unsqueeze(1).expand(-1, width)
    seen = torch.where(kept.unsqueeze(1), rows, low)
    most = low.expand(count, width).scatter_reduce(0, bag, seen, "amax")
    first = (seen == most.gather(0, bag)) & kept.unsqueeze(1)
    place = torch.where(first, torch.arange(n).unsqueeze(1), n)
    return torch.full((count, width), n).scatter_reduce(0, bag, place, "amin") % n


def one_hot(tensor, num_classes=-1):
    """A new last dimension with 1 at the class."""
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        if int(tensor.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        num_classes = int(tensor.max()) + 1
    elif tensor.numel() and int(tensor.max()) >= num_classes or num_classes < 1:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return _rows["one_hot"](tensor, num_classes)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """softmax(query @ key^T * scale) @ value."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    dims = query.dim(), key.dim(), value.dim()
    if min(dims) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and "
                           "value.dim: {} instead.".format(*dims))
    if query.size(-1) != key.size(-1):
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({query.size(-2)}x{query.size(-1)} and "
                           f"{key.size(-1)}x{key.size(-2)})")
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
