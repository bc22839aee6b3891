"""Activations, softmaxes, dropout."""

import math
import warnings

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.api.random import bernoulli_numbers
from torchish.autograd.dispatch import inplace as _write
from torchish.ops import TABLE


def _run(name, input, attrs, inplace):
    """A row of one operand, in place on request."""
    return _write(TABLE[name], input, (), attrs) if inplace else _rows[name](input, *attrs)


def _sloped(name, input, attrs, inplace, shown):
    """`_run` of a function with a slope below 0: in place, PyTorch reads the input's sign off the result, which a negative slope hides."""
    out = _run(name, input, attrs, inplace)
    if inplace and attrs[0] < 0 and out.grad_fn is not None:
        def refuse(gradients):
            raise RuntimeError(f"In-place {shown} backward calculation is triggered with a negative slope which is not supported. This "
                               "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
                               "instead.")
        out.grad_fn.register_prehook(refuse)
    return out


def relu(input, inplace=False):
    """max(0, input)."""
    return _run("relu", input, (), inplace)


def relu6(input, inplace=False):
    """min(max(0, input), 6)."""
    return _run("relu6", input, (), inplace)


def elu(input, alpha=1.0, inplace=False):
    """input where positive, alpha * (exp(input) - 1) elsewhere."""
    return _sloped("elu", input, (alpha,), inplace, "elu")


def selu(input, inplace=False):
    """The self-normalising scaled ELU."""
    return _run("selu", input, (), inplace)


def celu(input, alpha=1.0, inplace=False):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    return _sloped("celu", input, (alpha,), inplace, "elu")


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input where positive, negative_slope * input elsewhere."""
    return _sloped("leaky_relu", input, (negative_slope,), inplace, "leakyReLu")


def silu(input, inplace=False):
    """input * sigmoid(input)."""
    return _run("silu", input, (), inplace)


def mish(input, inplace=False):
    """input * tanh(softplus(input))."""
    return _run("mish", input, (), inplace)


def hardswish(input, inplace=False):
    """input * relu6(input + 3) / 6."""
    return _run("hardswish", input, (), inplace)


def hardsigmoid(input, inplace=False):
    """relu6(input + 3) / 6."""
    return _run("hardsigmoid", input, (), inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input, clamped."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _run("hardtanh", input, (min_val, max_val), inplace)


def threshold(input, threshold, value, inplace=False):
    """input where greater than the threshold, value elsewhere."""
    return _run("threshold", input, (threshold, value), inplace)


def glu(input, dim=-1):
    """The first half times sigmoid of the second half."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _rows["glu"](input, dim)


def relu_(input):
    """`relu` in place."""
    return relu(input, True)


def elu_(input, alpha=1.0):
    """`elu` in place."""
    return elu(input, alpha, True)


def selu_(input):
    """`selu` in place."""
    return selu(input, True)


def celu_(input, alpha=1.0):
    """`celu` in place."""
    return celu(input, alpha, True)


def leaky_relu_(input, negative_slope=0.01):
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, True)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, True)


def threshold_(input, threshold, value):
    """`threshold` in place."""
    return _run("threshold", input, (threshold, value), True)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU with a random slope for each negative element; the mean slope when not training."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    negative = input.detach() <= 0
    # PyTorch draws in double precision, for the negative elements only
    draws = torch.empty(int(negative.sum()), dtype=torch.float64).uniform_(lower, upper).to(input.dtype)
    slopes = torch.ones_like(input, requires_grad=False).masked_scatter(negative, draws)
    return input.mul_(slopes) if inplace else input * slopes


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, True)


def tanh(input):
    """Hyperbolic tangent."""
    return input.tanh()


def sigmoid(input):
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


# --- softmaxes ----------------------------------------------------------------------------------------------------------

def _implicit_dim(name, ndim, stacklevel):
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  stacklevel=stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) normalised to sum 1 along `dim`."""
    dim = _implicit_dim("softmax", input.dim(), _stacklevel) if dim is None else dim
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input."""
    dim = _implicit_dim("softmin", input.dim(), _stacklevel) if dim is None else dim
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax."""
    dim = _implicit_dim("log_softmax", input.dim(), _stacklevel) if dim is None else dim
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-Softmax distribution; `hard` makes it one-hot with the soft gradient."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -torch.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    one = torch.zeros_like(logits).scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0)
    return one - soft.detach() + soft


# --- dropout ------------------------------------------------------------------------------------------------------------

def _checked(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask(input, p, per_channel):
    """Draws in PyTorch's order: one Bernoulli number per element, or per channel."""
    if per_channel:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = input.shape[:2] + (1,) * (input.dim() - 2)
    else:
        shape = input.shape
    return bernoulli_numbers(shape, 1 - p, input)


def _drop(input, p, training, inplace, per_channel=False):
    if p == 0 or not training or input.numel() == 0:
        return input
    if p == 1:
        nothing = torch.zeros((), dtype=input.dtype, device=input.device)
        return input.mul_(nothing) if inplace else input * nothing
    noise = _mask(input, p, per_channel).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


ALPHA = 1.7580993408473766  # minus the limit of SELU at minus infinity


def _drop_alpha(input, p, training, inplace, per_channel=False):
    if p == 0 or not training or input.numel() == 0:
        return input
    if p == 1:
        return _drop(input, p, training, inplace)
    a = 1.0 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    noise = _mask(input, p, per_channel)
    shift = noise.add(-1).mul_(ALPHA * a).add_(ALPHA * a * p)
    noise.mul_(a)
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
    _checked(p)
    return _drop(input, p, training, inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps the mean and variance of SELU networks."""
    _checked(p)
    return _drop_alpha(input, p, training, inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels."""
    _checked(p)
    return _drop_alpha(input, p, training, inplace, per_channel=True)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels of (N, C, L) or (C, L)."""
    _checked(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists "
                           "to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                           "optional batch dimension (i.e. 2D or 3D inputs).")
    return _drop_batched(input, p, training, inplace, 3)


def _drop_batched(input, p, training, inplace, ndim):
    """Channels of an input that may lack the batch dimension."""
    if input.dim() == ndim:
        return _drop(input, p, training, inplace, True)
    if inplace:
        return _drop(input.unsqueeze_(0), p, training, True, True).squeeze_(0)
    return _drop(input.unsqueeze(0), p, training, False, True).squeeze(0)


def _advise(n, ndim, wanted):
    warnings.warn(
        f"dropout{n}d: Received a {ndim}-D input to dropout{n}d, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout{n}d exists to "
        f"provide channel-wise dropout on inputs with {n} spatial dimensions, a channel dimension, and an optional batch "
        f"dimension (i.e. {wanted} inputs).", stacklevel=3)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels of (N, C, H, W)."""
    _checked(p)
    if input.dim() not in (3, 4):
        _advise(2, input.dim(), "3D or 4D")
    if input.dim() == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
                      "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
                      "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
                      "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.", stacklevel=2)
    return _drop(input, p, training, inplace, True)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Drop whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _checked(p)
    if input.dim() not in (4, 5):
        _advise(3, input.dim(), "4D or 5D")
    return _drop_batched(input, p, training, inplace, 5)
