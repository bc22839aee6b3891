"""Losses."""

import math
import warnings

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.autograd.modes import in_float32


def legacy_reduction(size_average, reduce, reduction):
    """The reduction that the old pair of flags stands for."""
    if size_average is None and reduce is None:
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    meant = "none" if not reduce else "mean" if size_average else "sum"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=3)
    return meant


def _valid(reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduced(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    _valid(reduction)
    return loss


def _same_size(input, target):
    if target.size() != input.size():
        warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
                      "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                      stacklevel=3)


def _weighted(name, input, target, weight, reduction, **attrs):
    """A loss per element; with weights the mean is over the elements, not over the weights."""
    if weight is None:
        return _rows[name](input, target, reduction=reduction, **attrs)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return _reduced(_rows[name](input, target, reduction="none", **attrs) * weight, reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target) squared."""
    _same_size(input, target)
    return _weighted("mse_loss", input, target, weight, legacy_reduction(size_average, reduce, reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|."""
    _same_size(input, target)
    return _weighted("l1_loss", input, target, weight, legacy_reduction(size_average, reduce, reduction))


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Quadratic below delta, linear above."""
    _same_size(input, target)
    return _weighted("huber_loss", input, target, weight, reduction, delta=delta)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """The Huber loss divided by beta."""
    _same_size(input, target)
    return _rows["smooth_l1_loss"](input, target, reduction=legacy_reduction(size_average, reduce, reduction), beta=beta)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy of probabilities."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is not None and weight.size() != target.size():
        weight = weight.expand(target.size())
    return _rows["binary_cross_entropy"](input, target, weight=weight, reduction=reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """Cross entropy of sigmoid(input)."""
    return _rows["binary_cross_entropy_with_logits"](input, target, weight=weight, pos_weight=pos_weight,
                                                     reduction=legacy_reduction(size_average, reduce, reduction))


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative of input at the target class."""
    return _rows["nll_loss"](input, target, weight=weight, ignore_index=ignore_index,
                             reduction=legacy_reduction(size_average, reduce, reduction))


@in_float32
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """nll_loss of log_softmax; the target holds classes, or probabilities in the shape of input."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    class_dim = 0 if input.dim() == 1 else 1
    if input.size() == target.size():
        return _cross_entropy_of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing, class_dim)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    log_p = input.log_softmax(class_dim)
    loss = _rows["nll_loss"](log_p, target, weight=weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return loss
    kept = target != ignore_index
    smooth = -(log_p if weight is None else log_p * _per_class(weight, input, class_dim)).sum(class_dim) * kept
    if reduction == "mean":
        share = kept.sum() if weight is None else (weight[torch.where(kept, target, 0)] * kept).sum()
        smooth = smooth.sum() / share
    elif reduction == "sum":
        smooth = smooth.sum()
    return (1 - label_smoothing) * loss + smooth * (label_smoothing / input.size(class_dim))


def _per_class(weight, input, class_dim):
    return weight.view([-1 if d == class_dim else 1 for d in range(input.dim())])


def _cross_entropy_of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing, class_dim):
    if not target.is_floating_point():
        names = {torch.int64: "Long", torch.int32: "Int", torch.bool: "Bool", torch.uint8: "Byte", torch.int16: "Short",
                 torch.int8: "Char"}
        raise RuntimeError("Expected floating point type for target with class probabilities, got "
                           f"{names.get(target.dtype, target.dtype)}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input.size(class_dim)
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but "
                           f"got weight tensor of shape: {list(weight.shape)}")
    if label_smoothing > 0.0:
        if label_smoothing > 1.0:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
        target = target * (1 - label_smoothing) + label_smoothing / classes
    loss = input.log_softmax(class_dim) * target
    if weight is not None:
        loss = loss * _per_class(weight, input, class_dim)
    if reduction == "mean":
        return -loss.sum() / (input.numel() // classes) if input.numel() else -loss.sum().fill_(math.nan)
    return -loss.sum() if reduction == "sum" else -loss.sum(class_dim)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input)."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                      "'mean' will be changed to behave the same as 'batchmean' in the next major release.", stacklevel=2)
    if reduction == "batchmean" and input.dim() != 0:
        return _rows["kl_div"](input, target, reduction="sum", log_target=log_target) / input.size(0)
    return _rows["kl_div"](input, target, reduction="sum" if reduction == "batchmean" else reduction, log_target=log_target)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """exp(input) - target * input, or input - target * log(input + eps)."""
    reduction = _valid(legacy_reduction(size_average, reduce, reduction))
    return _rows["poisson_nll_loss"](input, target, log_input=log_input, full=full, eps=eps, reduction=reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Half of log(var) + (input - target)**2 / var, with var clamped from below."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(v for i, v in zip(input.size(), var.size()) if i != v) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with torch.no_grad():  # the clamp does not stop the gradient
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where the target is 1, max(0, margin - input) where it is -1."""
    return _rows["hinge_embedding_loss"](input, target, margin=margin,
                                         reduction=legacy_reduction(size_average, reduce, reduction))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))."""
    return _rows["soft_margin_loss"](input, target, reduction=legacy_reduction(size_average, reduce, reduction))


@in_float32
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@in_float32
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and not input1.dim() == input2.dim() == 2:
        raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with sizes "
                           f"{list(input1.size())} and {list(input2.size())}.")
    if target.dim() == 0 and not input1.dim() == input2.dim() == 1:
        raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with sizes "
                           f"{list(input1.size())} and {list(input2.size())}.")
    eps = 1e-12  # inside the roots, as PyTorch does here and not in cosine_similarity
    dot = (input1 * input2).sum(-1)
    cos = dot / (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    zero = torch.zeros_like(cos)
    return _reduced(torch.where(target == 1, 1 - cos, zero) + torch.where(target == -1, (cos - margin).clamp_min(0), zero),
                    reduction)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return torch.norm(x1 - x2 + eps, p, -1, keepdim)


@in_float32
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """`triplet_margin_loss` with a distance of your own."""
    _valid(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def _triplet(anchor, positive, negative, distance, margin, swap, reduction):
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduced((margin + near - far).clamp_min(0), reduction)


def _margin_input(input):
    if input.dim() > 2 or 0 in input.shape[-1:]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The hinge of all other classes against the target class."""
    reduction = _valid(legacy_reduction(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _margin_input(input)
    rows, classes = (1, input.numel()) if input.dim() < 2 else tuple(input.shape)
    if target.dim() > 1 or target.numel() != rows:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
                           f"Expected target size [{rows}], but got {list(target.shape)}. Input has shape {list(input.shape)}.")
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    if target.dtype is not torch.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")
    return _rows["multi_margin_loss"](input, target, p=p, margin=margin, weight=weight, reduction=reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """One logistic loss per class, averaged over the classes."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    logsigmoid = _rows["logsigmoid"]
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return _reduced(loss.sum(-1) / input.size(-1), reduction)


@in_float32
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The hinge of every class outside the target list (ended by -1) against every class in it."""
    reduction = _valid(legacy_reduction(size_average, reduce, reduction))
    _margin_input(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    x, t = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1, -1))
    listed = ((t < 0).cumsum(1) == 0)  # the entries before the first -1
    index = torch.where(listed, t, 0)
    member = torch.zeros_like(x, requires_grad=False).scatter_add(1, index, listed.to(x.dtype)) > 0
    gaps = (1 - (x.gather(1, index).unsqueeze(2) - x.unsqueeze(1))).clamp_min(0)
    keep = listed.unsqueeze(2) & ~member.unsqueeze(1)
    loss = (gaps * keep).sum((1, 2)) / x.size(1)
    return _reduced(loss if input.dim() == 2 else loss[0], reduction)


@in_float32
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The connectionist temporal classification loss, by the forward recursion in log space."""
    _valid(reduction)
    single = log_probs.dim() == 2
    lp = log_probs.unsqueeze(1) if single else log_probs
    steps, batch, _ = lp.shape
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if isinstance(lengths, torch.Tensor) and lengths.is_floating_point():
            raise RuntimeError(f"{name} must be integral")
    in_len = [int(n) for n in torch.as_tensor(input_lengths).reshape(-1).tolist()]
    longest = max(in_len, default=0)
    if longest > log_probs.size(0):
        raise RuntimeError(f"Expected input_lengths to have value at most {log_probs.size(0)}, but got value {longest} (while checking "
                           "arguments for ctc_loss_allocate_outputs)")
    out_len = [int(n) for n in torch.as_tensor(target_lengths).reshape(-1).tolist()]
    longest = max(out_len, default=0)
    flat = targets.dim() == 1 and not single
    rows, at = [], 0
    for b, n in enumerate(out_len):
        row = targets[at:at + n] if flat else (targets if single else targets[b])[:n]
        at += n
        rows.append(torch.cat([row.long(), torch.full((longest - n,), blank, dtype=torch.int64)]))
    labels = torch.stack(rows)
    # blanks around every label
    path = torch.full((batch, 2 * longest + 1), blank, dtype=torch.int64)
    path[:, 1::2] = labels
    never = torch.full((batch, 2), -math.inf, dtype=lp.dtype)
    skip = torch.zeros_like(path, dtype=torch.bool)
    skip[:, 2:] = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    emit = lp.gather(2, path.unsqueeze(0).expand(steps, -1, -1))
    alpha = torch.cat([emit[0][:, :2], torch.full((batch, max(2 * longest - 1, 0)), -math.inf, dtype=lp.dtype)], 1)[:, :path.size(1)]
    alphas = [alpha]
    for t in range(1, steps):
        stay = torch.cat([never[:, :1], alpha[:, :-1]], 1)
        jump = torch.where(skip, torch.cat([never, alpha[:, :-2]], 1)[:, :path.size(1)], never[:, :1])
        # log-sum-exp with a finite gradient where all three are impossible
        terms = torch.stack([alpha, stay, jump])
        dead = (terms == -math.inf).all(0)
        alpha = torch.where(dead, never[:, :1], torch.where(dead, torch.zeros_like(terms), terms).logsumexp(0)) + emit[t]
        alphas.append(alpha)
    losses = []
    for b, (n, m) in enumerate(zip(in_len, out_len)):
        last = alphas[n - 1][b, max(2 * m - 1, 0):2 * m + 1]
        losses.append(-last.logsumexp(0))
    loss = torch.stack(losses)
    # PyTorch's gradient is the one with respect to the logits of a log_softmax: exp(log_probs) comes on top
    used = torch.arange(steps).unsqueeze(1) < torch.tensor(in_len)
    total = (lp.exp().sum(2) * used).sum(0)
    loss = loss + (total - total.detach())
    if zero_infinity:
        loss = torch.where(loss == math.inf, torch.zeros_like(loss), loss)
    if reduction == "mean":
        return (loss / torch.tensor(out_len, dtype=loss.dtype).clamp_min(1)).mean()
    loss = loss[0] if single else loss
    return loss.sum() if reduction == "sum" else loss
