"""Batch normalisation in evaluation folded into the linear map before it."""

import copy

import torchish as torch
from torchish.nn.parameter import Parameter


def _fused(weight, bias, mean, var, eps, scale, shift, dim):
    """The weight and the bias of both maps together; `dim` counts the outputs of `weight`."""
    bias = torch.zeros_like(mean) if bias is None else bias
    scale = torch.ones_like(mean) if scale is None else scale
    shift = torch.zeros_like(mean) if shift is None else shift
    factor = scale * torch.rsqrt(var + eps)
    shape = [1] * weight.dim()
    shape[dim] = -1
    new_weight = (weight * factor.reshape(shape)).to(dtype=weight.dtype)
    new_bias = ((bias - mean) * factor + shift).to(dtype=bias.dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias.requires_grad)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """The (weight, bias) of a convolution and the batch norm after it."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """The (weight, bias) of a Linear and the batch norm after it."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _check_evaluation(*modules):
    if any(m.training for m in modules):
        raise AssertionError("Fusion only for eval!")


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution that does what both modules do."""
    _check_evaluation(conv, bn)
    made = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    made.weight, made.bias = fuse_conv_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
                                                  transpose)
    return made


def fuse_linear_bn_eval(linear, bn):
    """A copy of the Linear that does what both modules do."""
    _check_evaluation(linear, bn)
    made = copy.deepcopy(linear)
    if made.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    made.weight, made.bias = fuse_linear_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                    bn.bias)
    return made
