"""Sizes given as one number or one per dimension, and names of a state dict."""

from collections.abc import Iterable


def ntuple(x, n):
    """`x` per dimension, as a tuple."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n


def _ntuple(n, name="parse"):
    """A function that repeats a number `n` times and makes a tuple of any sequence."""
    def parse(x):
        return ntuple(x, n)
    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1))


def _reverse_repeat_tuple(t, n):
    """The elements from the last to the first, each `n` times: padding as `nn.functional.pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """`out_size`, where it is None the last of `defaults`."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size):])]


def _without_prefix(table, prefix):
    for key in [key for key in table if key.startswith(prefix)]:
        table[key[len(prefix):]] = table.pop(key)


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take `prefix` (such as "module.", of DataParallel) off the names of a state dict, in place."""
    _without_prefix(state_dict, prefix)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        # the wrapper's own entry gives way to that of the module in it
        if prefix.rstrip(".") in metadata:
            metadata[""] = metadata.pop(prefix.rstrip("."))
        _without_prefix(metadata, prefix)
