"""Filling tensors with starting values, in place and outside of the graph."""

import math
import warnings

import torchish as torch

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance through a nonlinearity."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform numbers from [a, b)."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal numbers."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers within [a, b], by rejection."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=2)

    def below(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0
    with torch.no_grad():
        if below((b - mean) / std) - below((a - mean) / std) > 0.3:
            drawn = _redrawn_normal(tensor, mean, std, a, b, generator)
        else:
            drawn = _accepted_uniform(tensor, mean, std, a, b, generator)
        return tensor.copy_(drawn)


def _redrawn_normal(tensor, mean, std, a, b, generator):
    """Most normal numbers lie inside: draw all again, keep what was good."""
    # the bounds as the tensor's dtype holds them
    low, high = (torch.tensor(x, dtype=tensor.dtype).item() for x in (a, b))
    drawn = torch.empty_like(tensor).normal_(mean, std, generator=generator)
    while True:
        outside = (drawn < low) | (drawn > high)
        if not outside.any():
            return drawn
        drawn = torch.where(outside, torch.empty_like(drawn).normal_(mean, std, generator=generator), drawn)


def _accepted_uniform(tensor, mean, std, a, b, generator):
    """Few would: draw uniformly, accept with the density's probability."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    drawn = torch.empty_like(tensor).uniform_(a, b, generator=generator)
    candidates, pending = drawn, None
    while True:
        log_density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        refused = torch.empty_like(drawn).uniform_(generator=generator).log_().gt(log_density)
        pending = refused if pending is None else pending & refused
        if not pending.any():
            return drawn
        candidates = torch.empty_like(drawn).uniform_(a, b, generator=generator)
        drawn = torch.where(pending, candidates, drawn)


def constant_(tensor, val):
    """One value everywhere."""
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor):
    """The identity matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        return tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor, groups=1):
    """A convolution's weight that passes its channels through."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    centre = tuple(n // 2 for n in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(g * per_group + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = 1
    for n in tensor.shape[2:]:
        field *= n
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of {['fan_in', 'fan_out']}")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _xavier_std(tensor, gain):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Glorot's uniform initialisation."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Glorot's normal initialisation."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _nothing_to_fill(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He's uniform initialisation."""
    if _nothing_to_fill(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He's normal initialisation."""
    if _nothing_to_fill(tensor):
        return tensor
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix, by the QR decomposition of normal numbers."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = torch.empty(rows, columns, dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
    q, r = torch.linalg.qr(flat.t() if rows < columns else flat)
    q = q * torch.diag(r, 0).sign()  # uniform over the orthogonal group
    with torch.no_grad():
        return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers with a share of zeros in every column."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for c in range(columns):
            # PyTorch draws the rows from the global generator
            tensor[torch.randperm(rows)[:zeros], c] = 0
    return tensor


def _old_name(fn):
    new, old = fn.__name__, fn.__name__[:-1]

    def deprecated(*args, **kwargs):
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return fn(*args, **kwargs)
    deprecated.__name__ = old
    deprecated.__doc__ = f"The old name of `{new}`."
    return deprecated


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = map(
    _old_name, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
