"""What `torch` itself offers of the layers' functions: the same computations with the positional signatures of the C++ side."""

import math

import torchish as torch
from torchish.api.random import bernoulli_numbers
from torchish.autograd.dispatch import apply
from torchish.nn import functional as F
from torchish.nn._functional import recurrent
from torchish.nn._functional.activation import _drop
from torchish.nn._functional.norm import follow, instances_normalised, normalised
from torchish.nn._functional.sparse import MODES, bags, refuse_sparse, renormalise
from torchish.ops import TABLE

REDUCTION = {0: "none", 1: "mean", 2: "sum"}
INTERPOLATION = {number: mode for mode, number in F.GRID_SAMPLE_INTERPOLATION_MODES.items()}
PADDING = {number: mode for mode, number in F.GRID_SAMPLE_PADDING_MODES.items()}


# --- random masks ------------------------------------------------------------------------------------------------------

def _dropout(name, fn, inplace):
    def drop(input, p, train):
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        return fn(input, p, train, inplace)
    drop.__name__ = drop.__qualname__ = name
    drop.__doc__ = f"`{name}`, on a probability and whether it is training."
    return drop


def _feature_dropout(input, p, train, inplace):
    """Whole channels (of the first two dimensions) are dropped."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _drop(input, p, train, inplace, per_channel=True)


DROPOUTS = {name + suffix: _dropout(name + suffix, fn, bool(suffix)) for suffix in ("", "_") for name, fn in {
    "dropout": F.dropout, "alpha_dropout": F.alpha_dropout, "feature_alpha_dropout": F.feature_alpha_dropout,
    "feature_dropout": _feature_dropout}.items()}


def native_dropout(input, p, train):
    """(dropout, the mask of what stays)."""
    if train is False or p == 0:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(input), torch.zeros_like(input, dtype=torch.bool)
    mask = bernoulli_numbers(input.shape, 1 - p, input)
    return input * mask * (1 / (1 - p)), mask.bool()


# --- normalisation -----------------------------------------------------------------------------------------------------

def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """`nn.functional.batch_norm` in the order of its kernel."""
    return normalised(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    if use_input_stats:
        return instances_normalised(input, running_mean, running_var, weight, bias, momentum, eps)
    return F.instance_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    input.size(1)       # PyTorch's error where there are no channels
    return apply(TABLE["group_norm"], (input, weight, bias), (num_groups, eps))


def _statistics(x, dims, eps):
    mean = x.mean(dims, keepdim=True)
    return mean, torch.rsqrt(x.var(dims, unbiased=False, keepdim=True) + eps)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """(layer norm, mean, reciprocal standard deviation)."""
    shape = tuple(normalized_shape)
    y = F.layer_norm(input, shape, weight, bias, eps)
    mean, rstd = _statistics(input.detach(), tuple(range(-len(shape), 0)), eps)
    return y, mean, rstd


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """(group norm, mean, reciprocal standard deviation), the latter of shape (N, group)."""
    mean, rstd = _statistics(input.reshape(N, group, C // group * HxW), -1, eps)
    y = apply(TABLE["group_norm"], (input, weight, bias), (group, eps))
    return y, mean.reshape(N, group), rstd.reshape(N, group)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, *, out=None):
    """(batch norm, mean, reciprocal standard deviation); the latter two empty in evaluation."""
    y = normalised(input, running_mean, running_var, weight, bias, training, momentum, eps)
    made = (y, input.new_empty(0), input.new_empty(0))
    if training:
        dims = (0, *range(2, input.dim()))
        mean, rstd = _statistics(input.detach(), dims, eps)
        made = (y, mean.reshape(-1), rstd.reshape(-1))
    if out is None:
        return made
    for place, t in zip(out, made):
        place.resize_(t.shape).copy_(t) if place.shape != t.shape else place.copy_(t)
    return tuple(out)


def _native_batch_norm_legit(input, weight, bias, *rest, out=None):
    """native_batch_norm, also without running statistics: (input, weight, bias, training, momentum, eps)."""
    mean, var, (training, momentum, eps) = (None, None, rest) if len(rest) == 3 else (rest[0], rest[1], rest[2:])
    return native_batch_norm(input, weight, bias, mean, var, training, momentum, eps, out=out)


def batch_norm_update_stats(input, running_mean, running_var, momentum):
    """(mean, biased variance) of each channel; the running ones follow, as always with the unbiased variance."""
    _, mean, var = apply(TABLE["native_batch_norm_train"], (input, None, None, None, None), (1e-5,))
    follow(running_mean, mean, momentum)
    follow(running_var, var, momentum)
    n = input.numel() // input.size(1)
    return mean, var * ((n - 1) / n)


def _between_devices(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. It is a part of batch "
                                  "normalisation over several GPUs; use nn.functional.batch_norm")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "For GPUs only, as in PyTorch: raises NotImplementedError."
    return refuse


BETWEEN_DEVICES = {name: _between_devices(name) for name in (
    "batch_norm_stats", "batch_norm_elemt", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts",
    "batch_norm_backward_reduce", "batch_norm_backward_elemt")}


# --- losses ------------------------------------------------------------------------------------------------------------

def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """`nn.functional`'s, whose reduction is a number: 0 none, 1 mean, 2 sum (so in the losses below)."""
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=REDUCTION[reduction])


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=REDUCTION[reduction])


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=REDUCTION[reduction])


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction=1):
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=REDUCTION[reduction])


def kl_div(input, target, reduction=1, *, log_target=False):
    return F.kl_div(input, target, reduction=REDUCTION[reduction], log_target=log_target)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=REDUCTION[reduction])


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTION[reduction], zero_infinity)


# --- grids, pooling, convolution -----------------------------------------------------------------------------------------

def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample`, whose modes are numbers: bilinear, nearest, bicubic; zeros, border, reflection."""
    return F.grid_sample(input, grid, INTERPOLATION[interpolation_mode], PADDING[padding_mode], align_corners)


def affine_grid_generator(theta, size, align_corners):
    return F.affine_grid(theta, size, align_corners)


def adaptive_max_pool1d(input, output_size):
    """(the maxima, their places)."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


def constant_pad_nd(input, pad, value=0):
    return F.pad(input, tuple(pad), "constant", value)


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolution in as many dimensions as `weight` has beyond two, or its transpose."""
    n = weight.dim() - 2
    if transposed:
        fn = getattr(F, f"conv_transpose{n}d")
        return fn(input, weight, bias, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation))
    return getattr(F, f"conv{n}d")(input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups)


def conv_tbc(input, weight, bias, pad=0):
    """1-D convolution of (time, batch, channels) with a kernel (width, channels in, channels out)."""
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.size(2) != weight.size(1):
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    return F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at `indices`; padding_idx=-1: every row has a gradient."""
    return F.embedding(indices, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scale the rows of `input` that are indexed down to `max_norm`, in place."""
    renormalise(input, indices, max_norm, norm_type)
    return input


def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """(the reduced rows of each bag, the bag of each index, the sizes of the bags, the indices of the maxima); mode: 0 sum, 1 mean,
    2 maximum."""
    if mode not in (0, 1, 2):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    refuse_sparse(sparse, weight)
    return bags(weight, indices, offsets, scale_grad_by_freq, MODES[mode], per_sample_weights, include_last_offset, padding_idx)


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """The sum, mean, max, min or prod of each segment along `axis`, given by their lengths or by where they begin (and the end)."""
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not -data.dim() <= axis < data.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-data.dim()}, {data.dim() - 1}], but got {axis})")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis %= data.dim()
    name, given = ("offsets", offsets) if offsets is not None else ("lengths", lengths)
    if given.dim() - 1 != axis:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if offsets is None:
        if not unsafe:
            if lengths.min() < 0:
                raise RuntimeError("lengths contains negative value!")
            if (lengths.sum(-1) != data.size(axis)).any():
                raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                                   "!unsafe.")
        offsets = F.pad(lengths.cumsum(-1), (1, 0))
    return apply(TABLE["segment_reduce"], (data, offsets), (reduce, initial))


def _safe_softmax(input, dim, dtype=None):
    """softmax that is 0 where all of a row is -inf."""
    nothing = (input == -torch.inf).all(dim, keepdim=True)
    return input.masked_fill(nothing, 0.0).softmax(dim, dtype=dtype).masked_fill(nothing, 0.0)


def _softmax(input, dim, half_to_float):
    """softmax as PyTorch's kernel is called; `half_to_float` is for its GPU kernels."""
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    return input.softmax(dim)


def _masked_softmax(input, mask, dim=None, mask_type=None):
    """softmax over what the mask leaves (True hides); mask_type: 0 a mask of (L, L), 1 of (B, L), 2 of the input's shape."""
    if mask.dtype is not torch.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask.shape != input.shape:
        size = input.shape if input.dim() == 4 else (0,) * 4
        wanted, shown = {0: (size[2:], "be (L, L)"), 1: ((size[0], size[2]), "be (B, L)")}.get(
            mask_type, (None, "match input shape"))
        if mask.shape != wanted:
            raise RuntimeError(f"For mask_type == {mask_type} mask shape should {shown}")
        mask = mask.reshape(-1, 1, 1, size[3]) if mask_type == 1 else mask
    return input.masked_fill(mask, -torch.inf).softmax(input.dim() - 1 if dim is None else dim)


def slow_conv3d(self, weight, kernel_size, bias=None, stride=1, padding=0):
    """`conv3d`, as PyTorch's CPU kernel is called."""
    return F.conv3d(self, weight, bias, stride, padding)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax from its result."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one, which is kept; dim=-1: over all."""
    if dim == -1:
        return v.norm(pow)
    kept = [1] * v.dim()
    kept[dim] = v.shape[dim]
    return v.movedim(dim, 0).reshape(v.shape[dim], math.prod(v.shape) // v.shape[dim]).norm(pow, 1).reshape(kept)


TORCH = DROPOUTS | recurrent.TORCH | BETWEEN_DEVICES | {f.__name__: f for f in (
    native_dropout, batch_norm, instance_norm, layer_norm, group_norm, embedding,
    native_layer_norm, native_group_norm, native_batch_norm, _native_batch_norm_legit,
    binary_cross_entropy_with_logits, cosine_embedding_loss, margin_ranking_loss, triplet_margin_loss, kl_div, poisson_nll_loss,
    ctc_loss, grid_sampler, affine_grid_generator, adaptive_max_pool1d, constant_pad_nd, convolution,
    conv_tbc, embedding_renorm_, norm_except_dim, embedding_bag, segment_reduce,
    batch_norm_update_stats, _safe_softmax, _softmax, _masked_softmax, _softmax_backward_data)}
TORCH |= dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback"), grid_sampler)
TORCH |= {name: getattr(F, name) for name in ("celu_", "selu_", "rrelu", "rrelu_", "pairwise_distance")}
TORCH["_segment_reduce"] = segment_reduce
TORCH |= dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), embedding_bag)
F.conv_tbc = conv_tbc       # the one that nn.functional shares
torch._C._nn.slow_conv3d = slow_conv3d
