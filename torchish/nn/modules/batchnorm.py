"""Batch and instance normalisation."""

import warnings

import torchish as torch
import torchish.nn.functional as F
from torchish.nn import init
from torchish.nn.modules.lazy import LazyModuleMixin
from torchish.nn.modules.module import Module
from torchish.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter


class _NormBase(Module):
    """Scale, shift and running statistics, one of each per channel."""

    _version = 2  # since 2 the state dict has num_batches_tracked

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats

        def empty():
            return torch.empty(num_features, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(empty()) if affine else None)
        self.register_parameter("bias", Parameter(empty()) if affine and bias else None)
        self.register_buffer("running_mean", torch.zeros(num_features, device=device, dtype=dtype) if track_running_stats else None)
        self.register_buffer("running_var", torch.ones(num_features, device=device, dtype=dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked",
                             torch.tensor(0, dtype=torch.long, device=device) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Scale one, shift zero, no statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _check_input_dim(self, input):
        if input.dim() not in self._dims:
            raise ValueError(f"expected {' or '.join(f'{d}D' for d in self._dims)} input (got {input.dim()}D input)")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats:
            # older files have no counter
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        follow = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if follow else None, self.running_var if follow else None, self.weight,
                            self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalise the channels of (N, C) or (N, C, L)."""

    _dims = 2, 3


class BatchNorm2d(_BatchNorm):
    """Normalise the channels of (N, C, H, W)."""

    _dims = 4,


class BatchNorm3d(_BatchNorm):
    """Normalise the channels of (N, C, D, H, W)."""

    _dims = 5,


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over all processes; with one process it is the plain one."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with every BatchNorm replaced."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(made, name, getattr(module, name))
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        feature_dim = input.dim() - self._dims[0]
        channels = input.size(feature_dim)
        if channels != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={feature_dim} to match num_features ({self.num_features}), "
                                 f"but got: {channels}.")
            warnings.warn(f"input's size at dim={feature_dim} does not match num_features. You can silence this warning by not "
                          "passing in num_features, which is not used because affine=False", stacklevel=2)
        if input.dim() == self._dims[0]:  # no batch
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _get_no_batch_dim(self):
        return self._dims[0]

    def _normalise(self, input):
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats,
                               0.0 if self.momentum is None else self.momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Normalise every channel of every sample of (N, C, L) or (C, L)."""

    _dims = 2, 3


class InstanceNorm2d(_InstanceNorm):
    """Normalise every channel of every sample of (N, C, H, W) or (C, H, W)."""

    _dims = 3, 4


class InstanceNorm3d(_InstanceNorm):
    """Normalise every channel of every sample of (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 4, 5


class _LazyNormBase(LazyModuleMixin):
    """A normalisation whose `num_features` come from the first input."""

    # the defaults are BatchNorm's, for the instance norms too (as in PyTorch)
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self._wait(affine, track_running_stats, device, dtype, bias)

    def _wait(self, affine, track_running_stats, device, dtype, bias=True):
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self):
        """As the normalisation's, once there is something to fill."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Take the number of features from `input`."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for value in (self.weight, self.bias, self.running_mean, self.running_var):
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A BatchNorm1d whose `num_features` come from the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A BatchNorm2d whose `num_features` come from the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A BatchNorm3d whose `num_features` come from the first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """A InstanceNorm1d whose `num_features` come from the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """A InstanceNorm2d whose `num_features` come from the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """A InstanceNorm3d whose `num_features` come from the first input."""

    cls_to_become = InstanceNorm3d
