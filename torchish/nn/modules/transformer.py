"""Transformers."""

import copy

import torchish as torch
import torchish.nn.functional as F
from torchish.nn import init
from torchish.nn.modules.activation import MultiheadAttention
from torchish.nn.modules.container import ModuleList
from torchish.nn.modules.dropout import Dropout
from torchish.nn.modules.linear import Linear
from torchish.nn.modules.module import Module
from torchish.nn.modules.normalization import LayerNorm


def _activation(given):
    if isinstance(given, str):
        if given not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {given}")
        return getattr(F, given)
    return given


def _copies(module, n):
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class _Block(Module):
    """Attention and feed-forward parts that the two kinds of layers share."""

    def _set_up(self, d_model, nhead, dim_feedforward, dropout, activation, eps, batch_first, norm_first, bias, device, dtype, norms):
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made)
        if norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **made)
        self.norm_first = norm_first
        for i in range(1, norms + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=eps, bias=bias, **made))
        for i in range(1, norms + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(self, attention, drop, x, memory, mask, padding, causal):
        y = attention(x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=causal and mask is not None,
                      need_weights=False)[0]
        return drop(y)

    def _feed(self, drop, x):
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _through(self, x, parts):
        """x plus each part of it, normalised before or after."""
        for norm, part in parts:
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward network."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self._set_up(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
                     dtype, 2)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        return self._through(src, [
            (self.norm1, lambda x: self._attend(self.self_attn, self.dropout1, x, x, src_mask, src_key_padding_mask, is_causal)),
            (self.norm2, lambda x: self._feed(self.dropout2, x))])


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to the memory, and a feed-forward network."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self._set_up(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
                     dtype, 3)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        return self._through(tgt, [
            (self.norm1, lambda x: self._attend(self.self_attn, self.dropout1, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)),
            (self.norm2, lambda x: self._attend(self.multihead_attn, self.dropout2, x, memory, memory_mask, memory_key_padding_mask,
                                                memory_is_causal)),
            (self.norm3, lambda x: self._feed(self.dropout3, x))])


class TransformerEncoder(Module):
    """Several encoder layers."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Several decoder layers."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(decoder_layer, num_layers), num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal),
                        memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        made = {"device": device, "dtype": dtype}
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*shape, **made)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*shape, **made)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made))
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """Zeros on and below the diagonal, -inf above it."""
        return torch.triu(torch.full((sz, sz), -torch.inf, dtype=dtype, device=device), diagonal=1)
