"""Short-time Fourier transforms, composed of the table's rows."""

import warnings

import numpy as np

from torchish.api import bind
from torchish.api.creation import _into, finish, tensor, zeros
from torchish.api.viewing import view_as_real
from torchish.autograd.dispatch import apply
from torchish.autograd.gradients import warn_once
from torchish.ops import TABLE

NO_WINDOW = ("A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows "
             "such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning "
             "and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.")
ONESIDED_COMPLEX = "Cannot have onesided output if window or input is complex"


def _call(name, shown, window, **rest):
    """The call as PyTorch's messages show it."""
    flag = {True: 1, False: 0}
    given = {k: flag.get(v, v) if isinstance(v, bool) else v for k, v in rest.items()}
    given["window"] = None if window is None else f"torch.{window.dtype.legacy}Tensor{{{list(window.shape)}}}"
    order = ["n_fft", "hop_length", "win_length", "window"]
    order += [k for k in given if k not in order]
    return f"{name}({shown}, " + ", ".join(f"{k}={given[k]}" for k in order) + ")"


def _centred(window, win_length, n_fft, like):
    """A window of length n_fft: the given one (or ones) with zeros around it."""
    if window is None:
        if win_length == n_fft:
            return None
        window = tensor(np.ones(win_length, like))
    return _around(window, win_length, n_fft)


def _around(t, size, n_fft):
    """Zeros around the last dimension, which `size` positions of n_fft are taken of."""
    left = (n_fft - size) // 2
    return bind.functional["pad"](t, (left, n_fft - size - left)) if size < n_fft else t


def _check_stft(call, input, n_fft, hop_length, win_length, window):
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    n = input._aval.shape[-1]
    if not 0 < n_fft <= n:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {n}, but got n_fft={n_fft}")
    if hop_length <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and window._aval.shape != (win_length,):
        raise RuntimeError(f"{call} : expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
                           f"{list(window.shape)}")


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """Fourier transforms of windowed frames: frequencies by frames."""
    if window is None:
        warn_once(NO_WINDOW)
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    complex_result = input.is_complex() or window is not None and window.is_complex()
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center and input.ndim < 3:
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        input = bind.functional["pad"](rows, (n_fft // 2, n_fft // 2), pad_mode).reshape(*input.shape[:-1], -1)
    _check_stft(_call("stft", f"torch.{input.dtype.legacy}Tensor{list(input.shape)}", window, n_fft=n_fft, hop_length=hop_length,
                      win_length=win_length, normalized=normalized, onesided=onesided, return_complex=return_complex,
                      align_to_window=align_to_window), input, n_fft, hop_length, win_length, window)
    if return_complex is None and not complex_result:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")
    onesided = not complex_result if onesided is None else onesided
    if onesided and complex_result:
        raise RuntimeError(ONESIDED_COMPLEX)
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    if align_to_window:
        rows = _around(rows, win_length, n_fft)
    frames = rows.unfold(-1, n_fft, hop_length)
    window = _centred(window, win_length, n_fft, input.dtype.to_real().np)
    frames = frames if window is None else frames * window
    result = bind.fft["rfft" if onesided else "fft"](frames, norm="ortho" if normalized else None).transpose(1, 2)
    result = result.squeeze(0) if input.ndim == 1 else result
    return view_as_real(result) if return_complex is False else result


def _overlap(frames, hop_length):
    """The sum of frames (batch, frame, position) at their places."""
    batch, count, size = frames._aval.shape
    place = (hop_length * np.arange(count)[:, None] + np.arange(size)).reshape(-1)
    return zeros(batch, size + hop_length * (count - 1), dtype=frames.dtype).index_add(1, tensor(place), frames.reshape(batch, -1))


def _check_istft(call, input, n_fft, hop_length, win_length, window, onesided):
    if not input.numel():
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{call} : expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    size = input._aval.shape[-2]
    if size != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match "
                           f"n_fft{' / 2 + 1' if onesided else ''} when onesided={bool(onesided)}, but got {size}")
    if not 0 < hop_length <= win_length:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if window is not None and window._aval.shape != (win_length,):
        raise RuntimeError(f"{call} : Invalid window shape. window has to be 1D and length of `win_length`")


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """The signal whose short-time Fourier transform is nearest to `input`."""
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if input.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim - 1}, {input.ndim}], but got -3)")
    call = _call("istft", f"CPU{input.dtype.legacy}Type{list(input.shape)}", window, n_fft=n_fft, hop_length=hop_length,
                 win_length=win_length, center=center, normalized=normalized, onesided=onesided, length=length,
                 return_complex=return_complex)
    onesided = input._aval.shape[-2] != n_fft if onesided is None else onesided
    _check_istft(call, input, n_fft, hop_length, win_length, window, onesided)
    complex_window = window is not None and window.is_complex()
    if return_complex and onesided:
        raise RuntimeError(ONESIDED_COMPLEX)
    if not return_complex and complex_window:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    batch = input if input.ndim == 3 else input.unsqueeze(0)
    if window is None:
        window = tensor(np.ones(win_length, input.dtype.to_real().np))
    window = _centred(window, win_length, n_fft, None)
    norm = "ortho" if normalized else None
    # a real signal is made of the first half of the frequencies, whatever the others are
    frames = bind.fft["ifft" if return_complex else "irfft"](batch.transpose(1, 2), n=n_fft, norm=norm)
    signal = _overlap(frames * window, hop_length)
    weight = _overlap((window * window).expand(1, frames.shape[1], n_fft), hop_length)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else signal.shape[1] - (n_fft // 2 if center else 0)
    signal, weight = signal[:, start:end], weight[:, start:end]
    if weight.abs().min() < 1e-11:
        raise RuntimeError(f"{call} window overlap add min: 1\n[ CPUBoolType{{}} ]")
    result = signal / weight
    missing = end - start - result.shape[1]
    if missing > 0:
        warnings.warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
                      "Please check your center and hop_length settings.", UserWarning, stacklevel=2)
        result = bind.functional["pad"](result, (0, missing))
    return result.squeeze(0) if input.ndim == 2 else result


def _frequencies(name):
    row = TABLE["fft_" + name]

    def factory(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
        return _into(out, finish(apply(row, (), (n, d, dtype)), requires_grad, device))
    factory.__name__, factory.__doc__ = name, "The frequencies of the elements of a transform of n points, d apart."
    return factory


FFT = {name: _frequencies(name) for name in ("fftfreq", "rfftfreq")}
TORCH = METHODS = {f.__name__: f for f in (stft, istft)}
