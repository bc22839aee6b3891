"""Plain data from tensors, and comparisons of plain data. Knows no library."""

import math
import re
import warnings

import pytest


def plain(x):
    """Lists, numbers and strings, for comparison and for JSON; tensors become nested lists."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if isinstance(x, complex):
        return [x.real, x.imag]
    if x is None or isinstance(x, bool | int | float | str):
        return x
    return plain(x.detach().tolist()) if hasattr(x, "detach") else str(x)


def name(dtype):
    """A dtype without the library's name."""
    return str(dtype).rpartition(".")[2]


def agree(got, expected, rtol=2e-5, atol=1e-7, where="value"):
    """Assert that two pieces of plain data agree: floats nearly, everything else exactly."""
    got, expected = plain(got), plain(expected)
    if isinstance(expected, float) and type(got) is float:
        same = got == expected or (math.isnan(got) and math.isnan(expected))
        assert same or abs(got - expected) <= atol + rtol * abs(expected), f"{where}: {got!r} is not {expected!r}"
    elif isinstance(expected, list) and isinstance(got, list):
        assert len(got) == len(expected), f"{where}: {len(got)} items, not {len(expected)}"
        for i, pair in enumerate(zip(got, expected, strict=True)):
            agree(*pair, rtol, atol, f"{where}[{i}]")
    elif isinstance(expected, dict) and isinstance(got, dict):
        assert list(got) == list(expected), f"{where}: keys {list(got)}, not {list(expected)}"
        for key in expected:
            agree(got[key], expected[key], rtol, atol, f"{where}.{key}")
    else:
        assert type(got) is type(expected) and got == expected, f"{where}: {got!r} is not {expected!r}"


def raises(kind, text):
    """`pytest.raises` for a message that begins with `text`; what torchish adds may follow it."""
    return pytest.raises(kind, match="^" + re.escape(text))


def warnings_of(function):
    """The warnings of a call as [category, first line] pairs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [[w.category.__name__, str(w.message).splitlines()[0]] for w in caught]
