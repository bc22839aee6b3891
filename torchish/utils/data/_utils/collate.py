"""Samples to batches."""

import collections.abc
import copy

import numpy as np

import torchish as torch

default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data):
    """Arrays inside `data` as tensors, everything else as it is."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if isinstance(data, np.ndarray) and data.dtype.kind in "SUO" or isinstance(data, (np.str_, np.bytes_)) else \
            torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _like(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _like(data, [default_convert(v) for v in data])
    return data


def _like(old, new):
    """`new` in the type of `old` where that can be made."""
    try:
        if isinstance(old, (collections.abc.MutableMapping, collections.abc.MutableSequence)):
            made = copy.copy(old)
            if isinstance(new, dict):
                made.update(new)
            else:
                for i, v in enumerate(new):
                    made[i] = v
            return made
        return type(old)(new)
    except TypeError:
        return new


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors, stacked."""
    return torch.stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Arrays, stacked to a tensor."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(a) for a in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """Array scalars as a tensor."""
    return torch.as_tensor(np.stack(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    """Floats as a double tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Integers (and booleans) as a tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Strings stay a list."""
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def collate(batch, *, collate_fn_map=None):
    """A batch in the structure of its samples, its leaves made by the functions in `collate_fn_map`."""
    elem = batch[0]
    kind = type(elem)
    table = collate_fn_map or {}
    if kind in table:
        return table[kind](batch, collate_fn_map=collate_fn_map)
    for known, fn in table.items():
        if isinstance(elem, known):
            return fn(batch, collate_fn_map=collate_fn_map)

    def inner(samples):
        return collate(samples, collate_fn_map=collate_fn_map)
    if isinstance(elem, collections.abc.Mapping):
        return _like(elem, {key: inner([sample[key] for sample in batch]) for key in elem})
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return kind(*(inner(samples) for samples in zip(*batch)))
    if isinstance(elem, collections.abc.Sequence):
        if any(len(sample) != len(elem) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(samples) for samples in zip(*batch)]
        return columns if isinstance(elem, tuple) else _like(elem, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def default_collate(batch):
    """Stack samples to a batch: tensors, arrays and numbers become tensors, containers keep their structure."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
