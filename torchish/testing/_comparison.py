"""assert_close: equal in structure, attributes and, within tolerances, in values."""

import cmath
import collections.abc
import warnings

import numpy as np

from torchish.ops import dtypes
from torchish.tensor import Tensor

_RELATIVE = {dtypes.float16: 1e-3, dtypes.bfloat16: 1.6e-2, dtypes.float32: 1.3e-6, dtypes.float64: 1e-7, dtypes.complex64: 1.3e-6,
             dtypes.complex128: 1e-7}
_NUMBERS = (bool, int, float, complex)
_SCALARS = (*_NUMBERS, np.bool_, np.number)


def default_tolerances(*inputs):
    """(rtol, atol): the loosest that the inputs' dtypes call for."""
    ds = [x.dtype if isinstance(x, Tensor) else x for x in inputs]
    return (max(_RELATIVE.get(d, 0.0) for d in ds),
            max(1e-7 if d in (dtypes.float64, dtypes.complex128) else 1e-5 if d in _RELATIVE else 0.0 for d in ds))


def get_tolerances(*inputs, rtol, atol, id=()):
    """The given tolerances, or the default ones if neither is given."""
    if (rtol is None) != (atol is None):
        given, absent = ("rtol", "atol") if atol is None else ("atol", "rtol")
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.")
    return default_tolerances(*inputs) if rtol is None else (rtol, atol)


class _Comparison:
    """The options of one assert_close; `where` is the path of keys to what is compared."""

    def __init__(self, rtol, atol, **options):
        self.rtol, self.atol = rtol, atol
        vars(self).update(options)

    def fail(self, text, where):
        if where:
            text += f"\n\nThe failure occurred for item {''.join(f'[{k!r}]' for k in where)}"
        msg = self.msg
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg) from None

    def compare(self, actual, expected, where=()):
        if actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", where)
        elif isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
            self._mappings(actual, expected, where)
        elif self._sequences(actual) and self._sequences(expected):
            if len(actual) != len(expected):
                self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
            for i, (a, e) in enumerate(zip(actual, expected)):
                self.compare(a, e, (*where, i))
        elif isinstance(actual, _SCALARS) and isinstance(expected, _SCALARS):
            self._scalars(*(x.item() if isinstance(x, np.generic) else x for x in (actual, expected)), where)
        else:
            self._tensors(_tensor(actual, expected), _tensor(expected, actual), where)

    @staticmethod
    def _sequences(x):
        return isinstance(x, collections.abc.Sequence) and not isinstance(x, str)

    def _mappings(self, actual, expected, where):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            self.fail(f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(missing, key=str)}\n"
                      f"Additional keys in the actual mapping: {sorted(extra, key=str)}", where)
        for key in sorted(actual, key=str):
            self.compare(actual[key], expected[key], (*where, key))

    def _scalars(self, a, e, where):
        if self.check_dtype and type(a) is not type(e):
            self.fail(f"The (d)types do not match: {type(a)} != {type(e)}.", where)
        rtol, atol = get_tolerances(*map(_scalar_dtype, (a, e)), rtol=self.rtol, atol=self.atol)
        if a == e or self.equal_nan and a != a and e != e:
            return
        difference = abs(a - e)
        if cmath.isfinite(e) and difference <= atol + rtol * abs(e):
            return
        relative = difference / abs(e) if e else float("inf")
        self.fail(_report("Scalars", f"Expected {e} but got {a}.", "Absolute difference", "Relative difference", difference, relative,
                          rtol, atol), where)

    def _tensors(self, a, e, where):
        checks = [("shape", True, lambda t: t.shape), ("device", self.check_device, lambda t: t.device),
                  ("dtype", self.check_dtype, lambda t: t.dtype), ("layout", self.check_layout, lambda t: t.layout),
                  ("stride()", self.check_stride, lambda t: t.stride())]
        for name, wanted, get in checks:
            if wanted and get(a) != get(e):
                self.fail(f"The values for attribute '{name}' do not match: {get(a)} != {get(e)}.", where)
        rtol, atol = get_tolerances(a, e, rtol=self.rtol, atol=self.atol)
        a, e = _comparable(a, e)
        with np.errstate(all="ignore"):
            difference = np.abs(a - e)
            close = a == e
            if rtol or atol:
                close |= np.isfinite(e) & (difference <= atol + rtol * np.abs(e))
            if self.equal_nan:
                close |= np.isnan(a) & np.isnan(e)
            if close.all():
                return
            relative = np.where(close, 0, difference / np.abs(e))
            difference = np.where(close, np.zeros((), difference.dtype), difference)
        if not close.ndim:
            self.fail(_report("Scalars", f"Expected {e.item()} but got {a.item()}.", "Absolute difference", "Relative difference",
                              difference.item(), relative.item(), rtol, atol), where)
        self.fail(_tensor_report(close, difference, relative, rtol, atol), where)


def _scalar_dtype(x):
    return dtypes.bool if isinstance(x, bool) else dtypes.int64 if isinstance(x, int) else (
        dtypes.complex128 if isinstance(x, complex) else dtypes.float64)


def _tensor(x, other):
    from torchish import as_tensor
    if isinstance(x, Tensor):
        if isinstance(other, (Tensor, *_NUMBERS)):
            return x
    elif isinstance(x, (np.ndarray, np.generic)) and not isinstance(other, Tensor) or (
            isinstance(x, _NUMBERS) and isinstance(other, (Tensor, np.ndarray, np.generic))):
        return as_tensor(x)
    pair = (other, x) if isinstance(other, Tensor) else (x, other)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(pair[0])} and {type(pair[1])}.")


def _comparable(a, e):
    """numpy arrays of one dtype, wide enough to subtract."""
    common = dtypes.promote_types(a.dtype, e.dtype)
    wide = common if common.category in (2, 3) and common.itemsize >= 4 else dtypes.int64 if common.category < 2 else dtypes.float32
    return [x.detach().cpu().to(wide).numpy() for x in (a, e)]


def _tensor_report(close, difference, relative, rtol, atol):
    wrong = close.size - int(close.sum())
    first = f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"

    def at(x):
        return f" at index {tuple(map(int, np.unravel_index(int(x.argmax()), x.shape)))}"

    return _report("Tensor-likes", first, "Greatest absolute difference", "Greatest relative difference", difference.max().item(),
                   relative.max().item(), rtol, atol, at(difference), at(relative))


def _report(kind, first, absolute, relative, difference, quotient, rtol, atol, at="", at_quotient=""):
    exact = not rtol and not atol
    allowed = ["" if exact else f" (up to {limit:g} allowed)" if isinstance(limit, float) else f" (up to {limit} allowed)"
               for limit in (atol, rtol)]
    return (f"{kind} are not {'equal' if exact else 'close'}!\n\n{first}\n"
            f"{absolute}: {difference}{at}{allowed[0]}\n{relative}: {quotient}{at_quotient}{allowed[1]}")


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """Raise AssertionError unless `actual` and `expected` are close; the tolerances follow the dtype."""
    get_tolerances(dtypes.float32, rtol=rtol, atol=atol)
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    _Comparison(rtol, atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype, check_layout=check_layout,
                check_stride=check_stride, msg=msg).compare(actual, expected)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The old form of assert_close, which looks at values alone."""
    from torchish import as_tensor
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
                  "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
                  "https://github.com/pytorch/pytorch/issues/61844.", FutureWarning, stacklevel=2)
    actual, expected = (x if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected))
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False,
                 msg=msg or None)
