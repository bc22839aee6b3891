"""Pooling."""

import torchish.nn.functional as F
from torchish.nn.modules._held import Held
from torchish.nn.modules.utils import ntuple


class _MaxPoolNd(Held):
    """The largest element of each window."""

    _shows = "kernel_size", "stride", "padding", "dilation", "ceil_mode"
    _n = None

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__(kernel_size=kernel_size, stride=stride if stride is not None else kernel_size, padding=padding,
                         dilation=dilation, return_indices=return_indices, ceil_mode=ceil_mode)

    def forward(self, input):
        return getattr(F, f"max_pool{self._n}d")(input, self.kernel_size, self.stride, self.padding, self.dilation,
                                                 ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of (N, C, L)."""

    _n = 1


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of (N, C, H, W)."""

    _n = 2


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of (N, C, D, H, W)."""

    _n = 3


class _MaxUnpoolNd(Held):
    _shows = "kernel_size", "stride", "padding"
    _n = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__(kernel_size=ntuple(kernel_size, self._n),
                         stride=ntuple(stride if stride is not None else kernel_size, self._n), padding=ntuple(padding, self._n))

    def forward(self, input, indices, output_size=None):
        return getattr(F, f"max_unpool{self._n}d")(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """Undo MaxPool1d, with zeros for what was lost."""

    _n = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Undo MaxPool2d, with zeros for what was lost."""

    _n = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Undo MaxPool3d, with zeros for what was lost."""

    _n = 3


class AvgPool1d(Held):
    """The mean of each window of (N, C, L)."""

    _shows = "kernel_size", "stride", "padding"

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size=ntuple(kernel_size, 1), stride=ntuple(stride if stride is not None else kernel_size, 1),
                         padding=ntuple(padding, 1), ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(Held):
    """The mean of each window of (N, C, H, W)."""

    _shows = "kernel_size", "stride", "padding"
    _pool = staticmethod(F.avg_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__(kernel_size=kernel_size, stride=stride if stride is not None else kernel_size, padding=padding,
                         ceil_mode=ceil_mode, count_include_pad=count_include_pad, divisor_override=divisor_override)

    def forward(self, input):
        return self._pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                          self.divisor_override)


class AvgPool3d(AvgPool2d):
    """The mean of each window of (N, C, D, H, W)."""

    _pool = staticmethod(F.avg_pool3d)


class _FractionalMaxPoolNd(Held):
    _n = None

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if output_size is None and output_ratio is None:
            raise ValueError(f"FractionalMaxPool{self._n}d requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        ratio = None if output_ratio is None else ntuple(output_ratio, self._n)
        if ratio is not None and not all(0 < r < 1 for r in ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        super().__init__(kernel_size=ntuple(kernel_size, self._n), return_indices=return_indices,
                         output_size=None if output_size is None else ntuple(output_size, self._n), output_ratio=ratio)
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input):
        return getattr(F, f"fractional_max_pool{self._n}d")(input, self.kernel_size, self.output_size, self.output_ratio,
                                                            self.return_indices, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling over pseudo-random windows."""

    _n = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling over pseudo-random windows."""

    _n = 3


class _LPPoolNd(Held):
    _shows = "norm_type", "kernel_size", "stride", "ceil_mode"
    _n = None

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)

    def forward(self, input):
        return getattr(F, f"lp_pool{self._n}d")(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of (N, C, L)."""

    _n = 1


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of (N, C, H, W)."""

    _n = 2


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of (N, C, D, H, W)."""

    _n = 3


class _AdaptivePoolNd(Held):
    _shows = "output_size",
    _n, _kind = None, None

    def _pool(self, input, *args):
        return getattr(F, f"adaptive_{self._kind}_pool{self._n}d")(input, self.output_size, *args)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    _kind = "max"

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size=output_size, return_indices=return_indices)

    def forward(self, input):
        return self._pool(input, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima over windows chosen for an output size."""

    _n = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima over windows chosen for an output size."""

    _n = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima over windows chosen for an output size."""

    _n = 3


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    _kind = "avg"

    def __init__(self, output_size):
        super().__init__(output_size=output_size)

    def forward(self, input):
        return self._pool(input)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means over windows chosen for an output size."""

    _n = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means over windows chosen for an output size."""

    _n = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means over windows chosen for an output size."""

    _n = 3
