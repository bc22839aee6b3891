"""make_tensor: random tensors for tests."""

import math

from torchish.api.typeinfo import finfo
from torchish.ops import dtypes

_DEFAULT = {0: (0, 2), 1: (-9, 10), 2: (-9, 9), 3: (-9, 9)}   # by category: [low, high) of bool, int, float, complex


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
                memory_format=None):
    """A tensor with numbers drawn from [low, high)."""
    import torchish as torch
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    shape = tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
                         f"{memory_format=}")
    low_default, high_default = (0, 10) if dtype is dtypes.uint8 else _DEFAULT[dtype.category]
    low, high = low_default if low is None else low, high_default if high is None else high
    apart = noncontiguous and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if apart else shape
    if dtype.category < 2:
        first, end = (0, 2) if dtype is dtypes.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1)
        if low >= end or high <= first:
            raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
                             f"[{first}, {end})")
        low, high = max(low, first), min(high, end)
        result = torch.randint(math.ceil(low), math.ceil(high), drawn, device=device, dtype=dtype)
    elif dtype.is_complex:
        result = torch.empty(drawn, device=device, dtype=dtype)
        torch.view_as_real(result).uniform_(low, high)
    else:
        result = torch.empty(drawn, device=device, dtype=dtype).uniform_(low, high)
    if apart:
        result = result[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        tiny = 1 if dtype.category < 2 else finfo(dtype).tiny
        result[result == 0] = complex(tiny, tiny) if dtype.is_complex else tiny
    return result.requires_grad_() if requires_grad else result
