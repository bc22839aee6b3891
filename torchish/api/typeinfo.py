"""torch.finfo and torch.iinfo: the limits of a dtype."""

import ml_dtypes
import numpy as np

from torchish.ops import dtypes


class _Info:
    """Limits, taken from numpy's description of the dtype."""

    __slots__ = ("_np", "dtype", "bits", "max", "min")

    def _fill(self, d, info, convert):
        self._np = info
        self.dtype, self.bits = d.name, info.bits
        self.max, self.min = convert(info.max), convert(info.min)

    def __eq__(self, other):
        return type(other) is type(self) and other.dtype == self.dtype

    __hash__ = None

    def __repr__(self):
        shown = (f"{n}={getattr(self, n):.6g}" for n in self._shown)
        return f"{type(self).__name__}({', '.join(shown)}, dtype={self.dtype})"


class finfo(_Info):
    """Limits of a floating-point dtype; of a complex one, those of its parts."""

    __slots__ = ("eps", "tiny", "smallest_normal", "resolution")
    __module__ = "torch"
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type=None):
        d = dtypes.get_default() if type is None else dtypes.given(type, "finfo", "'type' (position 1)").to_real()
        if not d.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        info = ml_dtypes.finfo(d.np)
        self._fill(d, info, float)
        self.eps, self.tiny = float(info.eps), float(info.smallest_normal)
        self.smallest_normal = self.tiny
        self.resolution = 1.0 if d in dtypes.EIGHT_BITS else float(f"1e-{info.precision}")


class iinfo(_Info):
    """Limits of an integer dtype."""

    __slots__ = ()
    __module__ = "torch"
    _shown = ("min", "max")

    def __init__(self, type):
        d = dtypes.given(type, "iinfo", "'type' (position 1)")
        if d is dtypes.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if d.category != 1:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self._fill(d, np.iinfo(d.np), int)
