"""Loss functions of torch.nn.functional."""

import math

import jax
import jax.numpy as jnp

from torchish.ops.pointwise import magnitude, xlogy
from torchish.ops.promote import dtype_of, kernel, promote, promote_float, result_type, wrap_dims
from torchish.ops.table import op

REDUCED = {"mean": "MeanBackward0", "sum": "SumBackward0"}


def reduced(x, reduction):
    if reduction == "mean":
        return jnp.sum(x) / x.size if x.size else jnp.full((), jnp.nan, x.dtype)
    if reduction == "sum":
        return jnp.sum(x)
    if reduction == "none":
        return x
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _pointwise_loss(fn, input, target, weight, reduction, name=None):
    x, y = promote(input, target)
    if name is not None:
        kernel(name, x, "fc")
    loss = fn(x, y)
    return reduced(loss if weight is None else loss * weight, reduction)


@op(names="functional", saves="01")
def mse_loss(input, target, weight=None, /, reduction="mean"):
    return _pointwise_loss(lambda x, y: (x - y) * (x - y), input, target, weight, reduction, "mse_cpu")


@op(names="functional", saves="", node="AbsBackward0", by="reduction", variants=REDUCED)
def l1_loss(input, target, weight=None, /, reduction="mean"):
    if reduction == "mean" and result_type(input, target).category < 2:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                           f"Got: {result_type(input, target).legacy}")
    return _pointwise_loss(lambda x, y: magnitude(x - y), input, target, weight, reduction)


@op(names="functional", saves="01")
def smooth_l1_loss(input, target, /, reduction="mean", beta=1.0):
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _pointwise_loss(lambda x, y: magnitude(x - y), input, target, None, reduction)

    def loss(x, y):
        a = magnitude(x - y)
        return jnp.where(a < beta, 0.5 * (x - y) * (x - y) / beta, a - 0.5 * beta)
    return _pointwise_loss(loss, input, target, None, reduction, "smooth_l1_cpu")


@op(names="functional", saves="01")
def huber_loss(input, target, weight=None, /, reduction="mean", delta=1.0):
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")

    def loss(x, y):
        a = magnitude(x - y)
        return jnp.where(a <= delta, 0.5 * (x - y) * (x - y), delta * (a - 0.5 * delta))
    return _pointwise_loss(loss, input, target, weight, reduction, "huber_cpu")


@jax.custom_jvp
def _bce(x, y):
    return (y - 1) * jnp.maximum(jnp.log1p(-x), -100) - y * jnp.maximum(jnp.log(x), -100)


@_bce.defjvp
def _bce_jvp(primals, tangents):
    # PyTorch bounds x (1 - x) from below by 1e-12
    (x, y), (tx, ty) = primals, tangents
    slope = (x - y) / jnp.maximum((1 - x) * x, jnp.asarray(1e-12, x.dtype))
    dy = jnp.maximum(jnp.log1p(-x), -100) - jnp.maximum(jnp.log(x), -100)
    return _bce(x, y), tx * slope + ty * dy


@op(names="functional", saves="01", constant={"weight": "binary_cross_entropy"})
def binary_cross_entropy(input, target, weight=None, /, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Using a target size ({_size(target)}) that is different to the input size ({_size(input)}) is "
                         "deprecated. Please ensure they have the same size.")
    if input.dtype != target.dtype:
        raise RuntimeError(f"Found dtype {dtype_of(target).legacy} but expected {dtype_of(input).legacy}")
    kernel("binary_cross_entropy", input, "f")
    loss = _bce(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


def _size(x):
    return f"torch.Size({list(x.shape)})"


@op(names="functional", saves="01", constant=dict.fromkeys(("weight", "pos_weight"), "binary_cross_entropy_with_logits"))
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, /, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({_size(target)}) must be the same as input size ({_size(input)})")
    x, y = promote(input, target)
    kernel("log_sigmoid_cpu", x, "f")
    # log(sigmoid(x)) with slope 0.5 at 0
    log_sig = jnp.where(x < 0, x, 0) - jnp.log1p(jnp.exp(jnp.where(x < 0, x, -x)))
    w = 1 if pos_weight is None else (pos_weight - 1) * y + 1
    loss = (1 - y) * x - w * log_sig
    return reduced(loss if weight is None else loss * weight, reduction)


def _check_classes(input, target, weight):
    """Shapes of nll_loss; PyTorch has a routine of its own for images, which words it otherwise."""
    batch = target.shape[0] if target.ndim else 0
    if input.ndim > 1 and input.shape[0] != batch:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({batch}).")
    if input.ndim == 2 and target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = input.shape[:1] + input.shape[2:]
    if input.ndim == 4 and target.ndim != 3:
        raise RuntimeError(f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}")
    if input.ndim == 4 and target.shape != wanted:
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}")
    if input.ndim > 2 and target.shape != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    classes = input.shape[input.ndim > 1]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
                           f"{list(weight.shape)}")


@op(names="functional", node="NllLossBackward0", saves="012", constant={"weight": "nll_loss_forward"},
    by="input._aval.ndim > 2", variants={True: "NllLoss2DBackward0"})
def nll_loss(input, target, weight=None, /, ignore_index=-100, reduction="mean"):
    if input.ndim == 0 or (input.ndim == 1 and target.ndim > 1):
        raise RuntimeError("input tensor should be 1D or 2D")
    if input.ndim == target.ndim == 1:
        if target.size != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.size}")
        target = target.reshape(())
    _check_classes(input, target, weight)
    axis = 1 if input.ndim > 1 else 0
    if dtype_of(target).name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {dtype_of(target).legacy}")
    kept = target != ignore_index
    index = jnp.where(kept, target, 0)
    picked = jnp.squeeze(jnp.take_along_axis(input, jnp.expand_dims(index, axis), axis=axis), axis)
    w = kept.astype(input.dtype) if weight is None else jnp.where(kept, weight[index], 0)
    loss = jnp.where(kept, -picked * w, 0)
    if reduction == "mean":
        return jnp.sum(loss) / jnp.sum(w)
    return reduced(loss, reduction)


@op(names="functional", saves="01", node="SubBackward0", by="(reduction, log_target)", variants={
    (k, log): (node, "" if log else "0:11") for log in (False, True)
    for k, node in (REDUCED | {"none": "MulBackward0" if log else "SubBackward0", "batchmean": "DivBackward0"}).items()})
def kl_div(input, target, /, size_average=None, reduce=None, reduction="mean", log_target=False):
    x, y = promote(input, target)
    if dtype_of(x).category < 2:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    loss = jnp.exp(y) * (y - x) if log_target else xlogy(y, y) - y * x
    if reduction == "batchmean":
        return jnp.sum(loss) / (x.shape[0] if x.ndim else 1)
    return reduced(loss, reduction)


@op(names="functional", saves="01", constant={"target": "soft_margin_loss"})
def soft_margin_loss(input, target, /, reduction="mean"):
    return _pointwise_loss(lambda x, y: jnp.log1p(jnp.exp(-y * x)), input, target, None, reduction)


@op(names="functional")
def multi_margin_loss(input, target, weight=None, /, p=1, margin=1.0, reduction="mean"):
    x = input if input.ndim > 1 else input.reshape(1, -1)
    t = target.reshape(-1)
    right = jnp.take_along_axis(x, t[:, None], axis=1)
    z = jnp.where(margin - right + x > 0, margin - right + x, 0)
    z = z if p == 1 else z * z
    z = z if weight is None else z * weight[t][:, None]
    z = jnp.where(jnp.arange(x.shape[1]) == t[:, None], 0, z)
    loss = jnp.sum(z, axis=1) / x.shape[1]
    return reduced(loss.reshape(target.shape), reduction)


@op(names="functional", saves="0:11", node="SubBackward0", by="reduction", variants=REDUCED)
def poisson_nll_loss(input, target, /, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None,
                     reduction="mean"):
    input, target = promote_float(input, target)

    def loss(x, y):
        out = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
        if full:
            big = jnp.where(y > 1, y, 1)
            out = out + jnp.where(y > 1, big * jnp.log(big) - big + 0.5 * jnp.log(2 * math.pi * big), 0)
        return out
    return _pointwise_loss(loss, input, target, None, reduction)


@op(names="torch functional", node="SumBackward1")
def cosine_similarity(x1, x2, /, dim=1, eps=1e-08):
    a, b = promote(x1, x2)
    a, b = jnp.broadcast_arrays(a, b)
    dims = wrap_dims(dim, a.ndim)

    def unit(v):
        n = jnp.sum(v * v, axis=dims, keepdims=True)
        return v / jnp.maximum(jnp.where(n == 0, 0, jnp.sqrt(jnp.where(n == 0, 1, n))), jnp.asarray(eps, v.dtype))
    return jnp.sum(unit(a) * unit(b), axis=dims)


@op(names="torch functional", saves="", node="AddBackward0", by="reduction", variants=REDUCED)
def hinge_embedding_loss(input, target, /, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    def loss(x, y):
        gap = margin - x
        return jnp.where(y != 1, jnp.where(gap > 0, gap, 0), 0) + jnp.where(y != -1, x, 0)
    return _pointwise_loss(loss, input, target, None, reduction)
