"""PyTorch's text of a tensor, from a numpy array; and set_printoptions."""

import contextlib
import dataclasses
import math

import numpy as np


@dataclasses.dataclass
class PrintOptions:
    """What set_printoptions sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors are printed; what is None stays, but `sci_mode` None means automatic."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    given = _PROFILES.get(profile, {}) | {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """The present options, as keywords for set_printoptions."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**kwargs):
    """Options for the length of a with block."""
    old = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**old)


class _Numbers:
    """How the real numbers of one tensor are written: one notation and one width for all of them."""

    def __init__(self, values):
        self.width, self._spec, self._dot = 1, None, ""
        if values.dtype.kind != "f":
            if values.size:
                self.width = max(len(str(v)) for v in self._extremes(values))
            return
        values = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        self._spec, self._dot = ".0f", "."
        if not values.size:
            return
        magnitudes = np.abs(values)
        low, high = magnitudes.min(), magnitudes.max()
        with np.errstate(over="ignore"):
            scientific = bool(high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4)
        if PRINT_OPTS.sci_mode is not None:
            scientific = PRINT_OPTS.sci_mode
        if scientific:
            self._spec, self._dot = f".{PRINT_OPTS.precision}e", ""
        elif np.any(values != np.ceil(values)):
            self._spec, self._dot = f".{PRINT_OPTS.precision}f", ""
        # zeros and non-finite numbers do not count for the width
        self.width = max(len(format(v, self._spec) + self._dot) for v in self._extremes(values))

    @staticmethod
    def _extremes(values):
        """The ends of the range on both sides of zero: the longest text is among theirs."""
        if values.dtype == np.bool_:
            return np.unique(values).tolist()
        sides = [side for side in (values[values < 0], values[values >= 0]) if side.size]
        return [end(side).item() for side in sides for end in (np.min, np.max)]

    def write(self, value):
        if self._spec is None:
            text = str(value)
        else:
            text = format(value, self._spec) + (self._dot if math.isfinite(value) else "")
        return text.rjust(self.width)


class _Complexes:
    """Real and imaginary parts, each written in its own way."""

    def __init__(self, values):
        self._real, self._imag = _Numbers(values.real), _Numbers(values.imag)
        self.width = self._real.width + self._imag.width + 1

    def write(self, value):
        imag = self._imag.write(value.imag).lstrip() + "j"
        return self._real.write(value.real) + ("" if imag[0] in "+-" else "+") + imag


def edges(shape):
    """The indices, dimension by dimension, of the elements that a summary of this shape shows."""
    k = PRINT_OPTS.edgeitems
    return [np.r_[:k, n - k:n] if n > 2 * k else np.arange(n) for n in shape]


def _rows(values, shape, indent, cut, numbers):
    """The text of nested lists; `cut` says how many come before the dots, None without dots."""
    if not shape:
        return numbers.write(values)
    n, inner = shape[0], shape[1:]
    if inner:
        parts, dots = [_rows(v, inner, indent + 1, cut, numbers) for v in values], "..."
    else:
        # even the dots take a number's place in the line
        parts, dots = [numbers.write(v) for v in values], " ..." if cut else "..."
    if cut is not None and n > 2 * cut:
        parts.insert(cut, dots)
    margin = " " * (indent + 1)
    if inner:
        return "[" + ("," + "\n" * len(inner) + margin).join(parts) + "]"
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (numbers.width + 2))
    lines = [", ".join(parts[i:i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + (",\n" + margin).join(lines) + "]"


def format_data(array, shape, indent, reader=None):
    """The bracketed numbers of a tensor, without a name around them."""
    if math.prod(shape) == 0:
        return "[]"
    cut = PRINT_OPTS.edgeitems if math.prod(shape) > PRINT_OPTS.threshold else None
    if cut is not None and shape:
        indices = edges(shape)
        array = reader(indices) if reader else array[np.ix_(*indices)]
    elif reader:
        array = reader(None)
    if array.dtype.isbuiltin != 1 or array.dtype == np.float16:
        array = array.astype(np.float32)
    numbers = (_Complexes if array.dtype.kind == "c" else _Numbers)(array)
    return _rows(array.tolist(), shape, indent, cut, numbers)


def format_tensor(array, *, dtype_name, show_dtype=None, suffixes=(), device=None, shape=None, reader=None,
                  default_dtype="float32", name="tensor"):
    """repr(tensor): 'tensor(...)' with its numbers, and what is worth telling of its size, dtype and gradient.

    `suffixes` come last (requires_grad=True, grad_fn=<...>), `device` first. `show_dtype` None follows PyTorch's rule.
    With `shape` and `reader` no whole array is needed: `reader(indices)` returns the numbers at `edges(shape)`, and
    `reader(None)` all. With a shape alone the numbers are unknown (a meta tensor).
    """
    shape = tuple(array.shape if shape is None else shape)
    unknown = array is None and reader is None
    empty = math.prod(shape) == 0
    if show_dtype is None:
        usual = {default_dtype}
        if not (empty or unknown):
            usual |= {"int64", "bool", "complex128" if default_dtype == "float64" else "complex64"}
        show_dtype = dtype_name not in usual
    head = [f"device='{device}'"] if device else []
    if unknown or (len(shape) != 1 if empty else not PRINT_OPTS.edgeitems):
        head.append(f"size={shape}")
    if show_dtype:
        head.append(f"dtype=torch.{dtype_name}")
    text = name + "("
    indent = len(text)
    text += "..." if unknown else format_data(array, shape, indent, reader)
    # PyTorch counts the last line two characters longer than it is
    length = len(text) - text.rfind("\n") + 1
    for suffix in [*head, *suffixes]:
        if length + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
