"""Padding."""

import torchish.nn.functional as F
from torchish.nn.modules._held import Held
from torchish.nn.modules.utils import ntuple


class _Pad(Held):
    """Pad the last `_n` dimensions."""

    _n, _mode = None, None

    def __init__(self, padding):
        super().__init__(padding=ntuple(padding, 2 * self._n))

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad the last dimension with one value."""

    _n = 1


class ConstantPad2d(_ConstantPad):
    """Pad the last two dimensions with one value."""

    _n = 2


class ConstantPad3d(_ConstantPad):
    """Pad the last three dimensions with one value."""

    _n = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Pad the last dimension with zeros."""

    _n = 1


class ZeroPad2d(_ZeroPad):
    """Pad the last two dimensions with zeros."""

    _n = 2


class ZeroPad3d(_ZeroPad):
    """Pad the last three dimensions with zeros."""

    _n = 3


class ReflectionPad1d(_Pad):
    """Pad with the reflected input."""

    _n, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pad with the reflected input."""

    _n, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pad with the reflected input."""

    _n, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pad with the border's values."""

    _n, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pad with the border's values."""

    _n, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pad with the border's values."""

    _n, _mode = 3, "replicate"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Pad with the other end of the input."""

    _n = 1


class CircularPad2d(_CircularPad):
    """Pad with the other end of the input."""

    _n = 2


class CircularPad3d(_CircularPad):
    """Pad with the other end of the input."""

    _n = 3
