"""Composites over the table's rows: histograms, finite differences, sums to a size, and the derivatives of digamma."""

import math

import numpy as np

from torchish.api import bind
from torchish.api.bind import named, operand, put_out, static
from torchish.api.creation import tensor
from torchish.api.viewing import _reshape
from torchish.autograd.dispatch import apply, inplace
from torchish.ops import TABLE, dtypes
from torchish.ops.pointwise import refuse_bool_sub
from torchish.ops.promote import CTYPES, wrap_dim
from torchish.tensor import Tensor

# --- histograms ------------------------------------------------------------------------------------------------------

def _edges(points, d, bins, limits):
    """Equal bins in one dimension: within the limits, or from the least to the greatest element, which are read."""
    if bins < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {d}")
    if limits is not None:
        lo, hi = limits
    elif points._aval.size:
        column = points.select(-1, d)
        lo, hi = (apply(TABLE[name], (column,)).item() for name in ("min_all", "max_all"))
    else:
        lo, hi = 0.0, 1.0
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{lo:g}, {hi:g}] is not finite")
    if lo > hi:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {lo:g} max {hi:g} for dimension {d}")
    if lo == hi:
        lo, hi = lo - 0.5, hi + 0.5
    kind, i = points.dtype.np.type, np.arange(bins + 1)
    lo, hi = kind(lo), kind(hi)
    step = (hi - lo) / kind(bins)
    return tensor(np.where(i < (bins + 1) // 2, lo + step * i.astype(kind), hi - step * (bins - i).astype(kind)))


def _given_edges(input, d, edges):
    if edges.ndim != 1:
        raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the bins "
                           f"tensor for dimension {d}")
    if not edges.numel():
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor "
                           f"for dimension {d}")
    if edges.dtype is not input.dtype:
        raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                           f"{CTYPES[input.dtype.legacy]} and bins for dimension {d} with dtype {CTYPES[edges.dtype.legacy]}")
    return edges


def _counts(input, bins, range, weight, density):
    """(hist, edges of each dimension) of the rows of `input`."""
    n = input._aval.shape[-1]
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.legacy}'")
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got "
                           f"{len(range)}")
    if weight is not None and weight._aval.shape != input._aval.shape[:-1]:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                           f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
                           f"{list(weight.shape)}")
    edges = tuple(_given_edges(input, d, b) if isinstance(b, Tensor) else
                  _edges(input, d, b, None if range is None else range[2 * d:2 * d + 2]) for d, b in enumerate(bins))
    hist = apply(TABLE["histogramdd"], (input, weight, *edges))
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().reshape((-1,) + (1,) * (n - 1 - d))
    return hist, edges


def histogram(input, bins, *, range=None, weight=None, density=False, out=None):
    """Counts of the elements in bins: a number of equal ones, or between given edges."""
    if not isinstance(input, Tensor):
        operand(input, "histogram", "input", 1, False)
    flat = input.reshape(-1, 1)
    if weight is not None and weight._aval.shape == input._aval.shape:
        weight = weight.reshape(-1)
    hist, (edges,) = _counts(flat, (bins if isinstance(bins, Tensor) else static(bins),), range, weight, density)
    result = named("histogram", "hist bin_edges")(hist, edges)
    return result if out is None else put_out("histogram", result, out)


def histogramdd(input, bins, range=None, weight=None, density=False):
    """Counts of points, the rows of the last dimension, in boxes."""
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = input._aval.shape[-1]
    bins = (bins,) * n if isinstance(bins, int) else tuple(bins)
    if len(bins) != n:
        if any(isinstance(b, Tensor) for b in bins):
            raise RuntimeError(f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional histogram but got "
                               f"{len(bins)}")
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    return named("histogramdd", "hist bin_edges")(*_counts(input, bins, range, weight, density))


# --- finite differences ----------------------------------------------------------------------------------------------

def _check_gradient(input, count, dim, edge_order):
    """PyTorch's checks; returns the wrapped dimensions. `count`: how many spacings are listed, None for a number."""
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if count is not None and dim is None and count not in (1, input.ndim):
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = "
                           f"{input.ndim}', since dim argument was not given, but got a list of length {count}")
    if count is not None and dim is not None and count != len(dim):
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
                           f"the same length, but got a spacing argument of length {count} and a dim argument of length {len(dim)}.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = []
    for d in range(input.ndim) if dim is None else dim:
        d = wrap_dim(d, input.ndim)
        if d in dims:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        dims.append(d)
    if any(input._aval.shape[d] < edge_order + 1 for d in dims if input.ndim):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return dims if input.ndim else ()


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Numerical gradient along each dimension: a tuple."""
    spacing = 1 if spacing is None else spacing
    listed = isinstance(spacing, (list, tuple))
    dim = (dim,) if isinstance(dim, int) else dim
    dims = _check_gradient(input, len(spacing) if listed else None, dim, edge_order)
    refuse_bool_sub(input._aval, input._aval)
    if listed and any(isinstance(s, Tensor) for s in spacing):
        for i, s in enumerate(spacing):
            if not isinstance(s, Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument 1, but got {bind.type_name(s)}")
            if s._device != input._device:
                raise RuntimeError("torch.gradient expected each tensor to be on the same device, but got devices "
                                   f"{input.device} and {s.device}!")
    steps = tuple(spacing) * (len(dims) if len(spacing) == 1 else 1) if listed else (spacing,) * len(dims)
    return tuple(apply(TABLE["gradient"], (input, s), (1.0, d, edge_order)) if isinstance(s, Tensor) and s.ndim else
                 apply(TABLE["gradient"], (input, None), (static(s), d, edge_order)) for s, d in zip(steps, dims))


# --- methods ---------------------------------------------------------------------------------------------------------

def sum_to_size(self, *size):
    """The sum over the dimensions that broadcasting from `size` would add or widen."""
    if not size:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"')
    size = tuple(size[0]) if isinstance(size[0], (list, tuple)) else size
    if not size:
        return bind.torch["sum"](self)
    shape = self._aval.shape
    extra = len(shape) - len(size)
    if extra < 0 or any(n not in (1, m) for n, m in zip(size, shape[extra:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    dims = tuple(d for d, m in enumerate(shape) if d < extra or size[d - extra] == 1 != m)
    t = bind.torch["sum"](self, dims, True) if dims else self
    return _reshape(t, size) if extra else t


def __rdiv__(self, other):
    return self.reciprocal() * other


def polygamma(self, n):
    """The n-th derivative of digamma."""
    return apply(TABLE["polygamma"], (self,), (static(n),))


def polygamma_(self, n):
    """The n-th derivative of digamma, in place."""
    return inplace(TABLE["polygamma"], self, (), (static(n),))


def float_power_(self, exponent):
    """Power in double precision, in place: only for tensors that can hold it."""
    wide = self.dtype.is_complex or isinstance(exponent, complex) or isinstance(exponent, Tensor) and exponent.dtype.is_complex
    needed = dtypes.complex128 if wide else dtypes.float64
    if self.dtype is not needed:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype.legacy} but the operation's result requires dtype "
                           f"{needed.legacy}")
    return bind.method["float_power_"](self, exponent)


def igamma_(self, other):
    """The lower regularized incomplete gamma function, in place."""
    return inplace(TABLE["special_gammainc"], self, (other,), ())


def igammac_(self, other):
    """The upper regularized incomplete gamma function, in place."""
    return inplace(TABLE["special_gammaincc"], self, (other,), ())


TORCH = {f.__name__: f for f in (histogram, histogramdd, gradient)}
METHODS = {f.__name__: f for f in (histogram, sum_to_size, __rdiv__, polygamma, polygamma_, float_power_, igamma_, igammac_)}
