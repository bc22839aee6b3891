"""torch.nn.functional."""
# ruff: noqa: E402, F403

import types as _types

from torchish.api.bind import functional as _rows
from torchish.api.bind import torch as _torch

# The rows of the op table come first; what needs another signature or is composed of several operations replaces them.
globals().update(_rows)

from torchish.nn import grad
from torchish.nn._functional.activation import (
    alpha_dropout,
    celu,
    celu_,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    elu,
    elu_,
    feature_alpha_dropout,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    mish,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    tanh,
    threshold,
    threshold_,
)
from torchish.nn._functional.attention import multi_head_attention_forward
from torchish.nn._functional.dispatching import *
from torchish.nn._functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from torchish.nn._functional.matrices import *
from torchish.nn._functional.norm import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from torchish.nn._functional.pooling import *
from torchish.nn._functional.sparse import embedding, embedding_bag, one_hot, scaled_dot_product_attention

# saved modules hold functions by the names that PyTorch knows
for _name, _fn in [*globals().items()]:
    if isinstance(_fn, _types.FunctionType) and _fn.__module__.startswith("torch") and _torch.get(_name) is not _fn:
        _fn.__module__ = __name__
