"""torch.masked: reductions and normalizations that leave out the elements where a mask is False.

Each puts a function's identity in the place of what is left out and calls the function.
"""

import builtins
import inspect

import torchish as torch
from torchish.masked.maskedtensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
           "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax",
           "softmin", "std", "sum", "var"]


def _limit(name, dtype, sign):
    """The smallest (sign -1) or largest number of a dtype: what never wins a maximum or a minimum."""
    if dtype is torch.bool:
        raise NotImplementedError(f"identity of {name} on torch.bool input")
    if dtype.is_floating_point or dtype.is_complex and name == "logsumexp":
        return sign * float("inf")
    limits = torch.iinfo(dtype)
    return limits.max if sign > 0 else limits.min


def _input_mask(input, *args, mask=None, **kwargs):
    """The mask of a call as bools in the shape of its input."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.expand(input.shape).to(torch.bool)


def _fill(input, mask, value):
    """The input with `value` where the mask is False."""
    if mask is None:
        return input
    return torch.where(_input_mask(input, mask=mask), input, torch.tensor(value, dtype=input.dtype))


def _without(name, input, mask, sign):
    """The input with the dtype's limit where the mask is False."""
    return input if mask is None else _fill(input, mask, _limit(name, input.dtype, sign))


def _dims(dim, ndim):
    """The dimensions of a reduction as a tuple; None and () mean all."""
    dims = builtins.range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    n, out = builtins.max(ndim, 1), []
    for d in dims:
        if d in out:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        out.append(d % n)
    return tuple(out)


def _counting(input, dtype):
    """The dtype of a sum or product: integers are summed in int64."""
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else torch.int64


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum; 0 where all is masked out."""
    return torch.sum(_fill(input, mask, 0), _dims(dim, input.ndim), bool(keepdim), dtype=_counting(input, dtype))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product; 1 where all is masked out."""
    dtype = _counting(input, dtype)
    result = _fill(input, mask, 1)
    for d in sorted(_dims(dim, input.ndim), reverse=True):
        result = result.prod(d, bool(keepdim), dtype=dtype)
    return result.to(dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The maximum; the dtype's smallest value where all is masked out."""
    return _amax("amax", input, dim, keepdim, dtype, mask, torch.amax, -1)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The minimum; the dtype's largest value where all is masked out."""
    return _amax("amin", input, dim, keepdim, dtype, mask, torch.amin, 1)


def _amax(name, input, dim, keepdim, dtype, mask, fn, sign):
    filled = _without(name, input, mask, sign)
    return fn(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the maximum, in the dtype of the input."""
    filled = _without("argmax", input, mask, -1)
    return torch.argmax(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the minimum, in the dtype of the input."""
    filled = _without("argmin", input, mask, 1)
    return torch.argmin(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input, dims, keepdim, mask):
    return sum(torch.ones(input.shape, dtype=torch.int64), dims, keepdim=keepdim, mask=mask)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements that are not masked out; nan where there is none."""
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError("mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                         f"Got: {dtype}")
    if mask is None:
        return torch.mean(input, _dims(dim, input.ndim), bool(keepdim), dtype=dtype)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median along one dimension; nan where all is masked out."""
    dtype = dtype or input.dtype
    (dim,) = _dims(dim, input.ndim)
    floating = input.dtype.is_floating_point
    values = torch.nanmedian(_fill(input if floating else input.real.float() if input.is_complex() else input.float(), mask,
                                   float("nan")), dim, bool(keepdim)).values
    if not floating and not dtype.is_floating_point and values.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return values.to(dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(input)))."""
    filled = _without("logsumexp", input, mask, -1)
    return torch.logsumexp(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), each with a mask of its own."""
    filled = (_without("logaddexp", t, mask, -1) for t, mask in ((input, input_mask), (other, other_mask)))
    return torch.logaddexp(*filled).to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm."""
    filled = _fill(input, mask, float("inf") if ord == float("-inf") else 0)
    return torch.linalg.vector_norm(filled, ord, _dims(dim, input.ndim), bool(keepdim), dtype=dtype or input.dtype)


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask, root):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    correction = correction if correction is not None else 1 if unbiased in (None, True) else 0
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.float32
    count = _count(input, dim, True, mask)
    gap = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    total = sum(gap * gap.conj(), dim, keepdim=keepdim, dtype=dtype, mask=mask)
    free = (count if keepdim else _count(input, dim, False, mask)) - correction
    result = total / torch.clamp(free, min=0)
    return torch.sqrt(result) if root else result


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that are not masked out."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements that are not masked out."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, True)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Partial sums along a dimension."""
    (dim,) = _dims(dim, input.ndim)
    return torch.cumsum(_fill(input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Partial products along a dimension."""
    (dim,) = _dims(dim, input.ndim)
    return torch.cumprod(_fill(input, mask, 1), dim, dtype=dtype or input.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """Softmax over the elements that are not masked out; 0 for the others."""
    filled = _without("amax", input, mask, -1)
    return torch.softmax(filled, *_dims(dim, input.ndim), dtype=dtype or input.dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of the softmax; -inf for what is masked out."""
    filled = _without("amax", input, mask, -1)
    return torch.log_softmax(filled, *_dims(dim, input.ndim), dtype=dtype or input.dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """Softmax of the negated elements."""
    filled = _without("amin", input, mask, 1)
    return torch.softmax(-filled, *_dims(dim, input.ndim), dtype=dtype or input.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements divided by their norm along a dimension, which counts as `eps` at least."""
    dtype = dtype or input.dtype
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _fill(input, mask, 0).to(dtype) / torch.maximum(size, torch.tensor(eps, dtype=size.dtype))


_REDUCTIONS = (sum, prod, amax, amin, argmax, argmin, mean, median, norm, var, std, logsumexp)


def _output_mask(op, input, *args, **kwargs):
    """Where the result of a call depends on elements that are not masked out."""
    mask = _input_mask(input, mask=kwargs.get("mask"))
    if op not in _REDUCTIONS:
        return mask
    call = inspect.signature(op).bind(input, *args, **kwargs)
    call.apply_defaults()
    return torch.any(mask, _dims(call.arguments["dim"], input.ndim), bool(call.arguments["keepdim"]))
