"""torch.signal.windows: symmetric by default; `sym=False` gives one period less its last point."""

import functools
import inspect
import math

import torchish as torch

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]

_COMMON = inspect.signature(lambda *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False: None).parameters


def _check(name, M, dtype, layout):
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")


def _window(fn, checked_as=None):
    """The public function of `fn(ramp, last, **shape)`: `ramp` counts the points from 0, and `last` is where a symmetric window
    ends. PyTorch's messages name the function that does the work: `checked_as`."""
    name = checked_as or fn.__name__

    @functools.wraps(fn)
    def window(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False, **shape):
        dtype = torch.get_default_dtype() if dtype is None else dtype
        _check(name, M, dtype, layout)
        check = _CHECKS.get(fn.__name__)
        if check is not None:
            check(sym=sym, **shape)
        made = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        if M == 0:
            return torch.empty((0,), **made)
        return fn(torch.arange(M, **made), M - 1 if sym or M == 1 else M, **shape)
    own = list(inspect.signature(fn).parameters.values())[2:]
    window.__signature__ = inspect.Signature([inspect.Parameter("M", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own,
                                              *_COMMON.values()])
    return window


def _check_exponential(sym, center=None, tau=1.0):
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")


def _check_gaussian(sym, std=1.0):
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")


def _check_kaiser(sym, beta=12.0):
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")


def _check_cosines(sym, a):
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")


_CHECKS = {"exponential": _check_exponential, "gaussian": _check_gaussian, "kaiser": _check_kaiser, "general_cosine": _check_cosines}


def _cosines(ramp, last, a):
    """a0 - a1 cos(angle) + a2 cos(2 angle) - …; 1 for a single point."""
    if ramp.numel() == 1:
        return torch.ones_like(ramp)
    angle = ramp * (2 * math.pi / last)
    return sum((-1) ** k * c * torch.cos(k * angle) for k, c in enumerate(a))


@_window
def exponential(ramp, last, *, center=None, tau=1.0):
    """exp(-|k - center| / tau)."""
    return torch.exp(-torch.abs(ramp - (last / 2 if center is None else center)) / tau)


@_window
def cosine(ramp, last):
    """Half a period of the sine, its points in the middle of equal steps."""
    return torch.sin((ramp + 0.5) * (math.pi / (last + 1)))


@_window
def gaussian(ramp, last, *, std=1.0):
    """exp(-((k - centre) / std)^2 / 2)."""
    return torch.exp(-((ramp - last / 2) / std) ** 2 / 2)


@_window
def kaiser(ramp, last, *, beta=12.0):
    """The Kaiser window."""
    if ramp.numel() == 1:
        return torch.ones_like(ramp)
    t = ramp * (2 / last) - 1
    return torch.i0(beta * torch.sqrt(torch.clamp(1 - t * t, min=0))) / torch.i0(torch.tensor(float(beta), dtype=ramp.dtype))


@_window
def bartlett(ramp, last):
    """A triangle from 0 to 1 to 0."""
    return torch.ones_like(ramp) if ramp.numel() == 1 else 1 - torch.abs(ramp * (2 / last) - 1)


@_window
def general_cosine(ramp, last, *, a):
    """A sum of cosines with the coefficients `a`, with alternating signs."""
    return _cosines(ramp, last, a)


@_window
def blackman(ramp, last):
    """Three cosine terms: 0.42, 0.5, 0.08."""
    return _cosines(ramp, last, (0.42, 0.5, 0.08))


@functools.partial(_window, checked_as="general_cosine")
def general_hamming(ramp, last, *, alpha=0.54):
    """alpha - (1 - alpha) cos(angle)."""
    return _cosines(ramp, last, (alpha, 1 - alpha))


@functools.partial(_window, checked_as="general_cosine")
def hamming(ramp, last):
    """The general Hamming window with alpha 0.54."""
    return _cosines(ramp, last, (0.54, 0.46))


@functools.partial(_window, checked_as="general_cosine")
def hann(ramp, last):
    """The general Hamming window with alpha 0.5."""
    return _cosines(ramp, last, (0.5, 0.5))


@functools.partial(_window, checked_as="general_cosine")
def nuttall(ramp, last):
    """Four cosine terms, as Nuttall gives them."""
    return _cosines(ramp, last, (0.3635819, 0.4891775, 0.1365995, 0.0106411))
