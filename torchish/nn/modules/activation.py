"""Activations."""

import warnings

import torchish as torch
import torchish.nn.functional as F
from torchish.nn.modules._held import Held
from torchish.nn.modules.module import Module
from torchish.nn.parameter import Parameter


class Threshold(Held):
    """input where greater than the threshold, value elsewhere."""

    _shows = "threshold", "value"

    def __init__(self, threshold, value, inplace=False):
        super().__init__(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)


class ReLU(Held):
    """max(0, input)."""

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class RReLU(Held):
    """Leaky ReLU with a random slope in training."""

    _shows = "lower", "upper"

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(Held):
    """input, clamped."""

    _shows = "min_val", "max_val"

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning, stacklevel=2)
        super().__init__(min_val=min_val if min_value is None else min_value,
                         max_val=max_val if max_value is None else max_value, inplace=inplace)
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val must be larger than min_val, got min_val={self.min_val}, max_val={self.max_val}")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(0, input), 6)."""

    _shows = ()

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input):
        return F.relu6(input, self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-input))."""

    def forward(self, input):
        return torch.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input):
        return torch.tanh(input)


class Hardsigmoid(Held):
    """relu6(input + 3) / 6."""

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class SiLU(Held):
    """input * sigmoid(input)."""

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Mish(Held):
    """input * tanh(softplus(input))."""

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class Hardswish(Held):
    """input * relu6(input + 3) / 6."""

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


class ELU(Held):
    """input where positive, alpha * (exp(input) - 1) elsewhere."""

    _shows = "alpha",

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(Held):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""

    _shows = "alpha",

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class SELU(Held):
    """The self-normalising scaled ELU."""

    def __init__(self, inplace=False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.selu(input, self.inplace)


class GLU(Held):
    """The first half times sigmoid of the second half."""

    _shows = "dim",

    def __init__(self, dim=-1):
        super().__init__(dim=dim)

    def forward(self, input):
        return F.glu(input, self.dim)


class GELU(Held):
    """input * Phi(input), or its tanh approximation."""

    _shows = "approximate",

    def __init__(self, approximate="none"):
        super().__init__(approximate=approximate)

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)


class Hardshrink(Held):
    """input where |input| > lambd, 0 elsewhere."""

    def __init__(self, lambd=0.5):
        super().__init__(lambd=lambd)

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Softshrink(Held):
    """input moved towards 0 by lambd."""

    def __init__(self, lambd=0.5):
        super().__init__(lambd=lambd)

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class LeakyReLU(Held):
    """input where positive, negative_slope * input elsewhere."""

    _shows = "negative_slope",

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class LogSigmoid(Module):
    """log(sigmoid(input))."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softplus(Held):
    """log(1 + exp(beta * input)) / beta; linear above the threshold."""

    _shows = "beta", "threshold"

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__(beta=beta, threshold=threshold)

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)


class PReLU(Module):
    """Leaky ReLU with learnt slopes."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Set the slopes to their starting value."""
        torch.nn.init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """input / (1 + |input|)."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """input - tanh(input)."""

    def forward(self, input):
        return F.tanhshrink(input)


class Softmin(Held):
    """softmax of -input."""

    _shows = "dim",

    def __init__(self, dim=None):
        super().__init__(dim=dim)

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(Held):
    """exp(input) normalised to sum 1 along `dim`."""

    _shows = "dim",

    def __init__(self, dim=None):
        super().__init__(dim=dim)

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(Held):
    """The logarithm of softmax."""

    _shows = "dim",

    def __init__(self, dim=None):
        super().__init__(dim=dim)

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)


class MultiheadAttention(Module):
    """Attention with several heads over (length, batch, features), or batch first."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.add_zero_attn = add_zero_attn

        def empty(*size):
            return Parameter(torch.empty(*size, device=device, dtype=dtype))
        if self._qkv_same_embed_dim:
            self.in_proj_weight = empty(3 * embed_dim, embed_dim)
            separate = None, None, None
        else:
            separate = empty(embed_dim, embed_dim), empty(embed_dim, self.kdim), empty(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        for name, weight in zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), separate):
            self.register_parameter(name, weight)
        self.register_parameter("in_proj_bias", empty(3 * embed_dim) if bias else None)
        self.out_proj = torch.nn.modules.linear.NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device,
                                                                                dtype=dtype)
        self.register_parameter("bias_k", empty(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", empty(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self):
        init = torch.nn.init
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        """(output, weights); the weights are None unless `need_weights`."""
        swap = self.batch_first and query.dim() == 3
        if swap:
            same = query is key, key is value
            query = query.transpose(1, 0)
            key = query if same[0] else key.transpose(1, 0)
            value = key if same[1] else value.transpose(1, 0)
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal)
        return (out.transpose(1, 0) if swap else out), weights
