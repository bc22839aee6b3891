"""Products of many matrices; a linear layer together with its loss."""

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.nn._functional.loss import cross_entropy

FLOATS = "Float32, BFloat16 or Float16"


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """One product a group. A 2-D operand holds its groups one after another, ending at `offs`; a 3-D one has a dimension for them."""
    for name, m in ("mat_a", mat_a), ("mat_b", mat_b):
        if m.dtype not in (torch.float32, torch.bfloat16, torch.float16):
            raise RuntimeError(f"Expected {name} to be {FLOATS} matrix, got {m.dtype.legacy}")
        if m.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if mat_a.size(-1) != mat_b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    shapes = mat_a.dim(), mat_b.dim()
    if (offs is None) != (shapes == (3, 3)):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if shapes == (3, 3):
        return torch.bmm(mat_a, mat_b)
    if offs.dtype is not torch.int32:
        raise RuntimeError("Offsets have to be int32")
    ends = offs.tolist()
    spans = list(zip([0, *ends], ends))
    if shapes == (2, 3):
        rest = mat_a.new_zeros(mat_a.size(0) - ends[-1], mat_b.size(2))     # rows of no group
        return torch.cat([mat_a[lo:hi] @ m for (lo, hi), m in zip(spans, mat_b.unbind())] + [rest])
    if shapes == (3, 2):
        rest = mat_a.new_zeros(mat_a.size(1), mat_b.size(1) - ends[-1])
        return torch.cat([m @ mat_b[:, lo:hi] for (lo, hi), m in zip(spans, mat_a.unbind())] + [rest], 1)
    return torch.stack([mat_a[:, lo:hi] @ mat_b[lo:hi] for lo, hi in spans])


def _scaled(name, plain):
    def refuse(mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None, **options):
        raise NotImplementedError(f"{name}: torchish has no kernels for scaled 8-bit floats; multiply the matrices by their scales and call {plain}")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "A product of 8-bit floats with scales, for which torchish has no kernel: raises NotImplementedError."
    return refuse


scaled_mm, scaled_grouped_mm = _scaled("scaled_mm", "torch.mm"), _scaled("scaled_grouped_mm", "nn.functional.grouped_mm")


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):
    """cross_entropy(linear(input, linear_weight, linear_bias), target). `options`, which save memory in PyTorch, change nothing:
    XLA arranges the computation."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    *batch, features = input.shape
    if features != linear_weight.size(-1):
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{features} and {linear_weight.size(-1)}, respectively")
    classes = tuple(linear_weight.shape[:-1])       # the number of classes, then the positions of a loss in several dimensions
    if linear_bias is not None and tuple(linear_bias.shape) != classes:
        raise RuntimeError(f"expected linear_bias shape {classes}, got {tuple(linear_bias.shape)}")
    if len(classes) > 1 and not batch:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
                           f"(N, {features}), got unbatched input with shape {tuple(input.shape)}")
    shape = (*batch, *classes)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if len(classes) > 1:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _rows["linear"](input, linear_weight, linear_bias).reshape(shape)
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=-100 if ignore_index is None else ignore_index,
                         label_smoothing=label_smoothing)


__all__ = ["grouped_mm", "linear_cross_entropy", "scaled_grouped_mm", "scaled_mm"]
