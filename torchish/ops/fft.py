"""Discrete Fourier transforms (torch.fft)."""

import jax.numpy as jnp

from torchish.ops import dtypes
from torchish.ops.promote import cast, dtype_of, promote_float, wrap_dim
from torchish.ops.table import op


def _operand(input, norm, real=None, text="{} expects a real input tensor, but got {}"):
    """The operand in a dtype that is transformed, and the mode of normalization; `real` names a transform of real numbers."""
    (x,) = promote_float(input)
    d = dtype_of(x)
    if real and d.is_complex:
        raise RuntimeError(text.format(real, d.legacy))
    if d in (dtypes.float16, dtypes.bfloat16):
        raise RuntimeError(f"Unsupported dtype {d.legacy}")
    norm = "backward" if norm is None else norm
    if norm not in _SWAP:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return x, norm


def _axis(dim, ndim):
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def _points(n):
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _one(name, fn, node, complex_input):
    def row(input, /, n=None, dim=-1, norm=None):
        x, norm = _operand(input, norm, None if complex_input else name)
        axis = _axis(dim, x.ndim)
        # half of the spectrum makes a real signal of an even length
        _points(n if n is not None else 2 * (x.shape[axis] - 1) if node == "FftC2RBackward0" else x.shape[axis])
        return fn(x, n, axis, norm)
    real = {"fft": "FftR2CBackward0", "ifft": "ConjBackward0", "rfft": node, "ihfft": "ConjBackward0"}.get(name)
    op(row, name="fft_" + name, names="fft", node=node, saves="",
       by="(input._aval.dtype.kind == 'c', n is None or [*input._aval.shape][dim:][:1] == [n])",
       variants=real and {(False, whole): (real, "0" if whole else "") for whole in (True, False)} or {})


def _axes(s, dim, ndim):
    """The transformed dimensions: all, the last ones, or given ones, as many as sizes."""
    if dim is None:
        if s is not None and len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        return tuple(range(ndim - (ndim if s is None else len(s)), ndim))
    axes = tuple(_axis(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim))
    if len(set(axes)) < len(axes):
        raise RuntimeError("FFT dims must be unique")
    if s is not None and len(s) != len(axes):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return axes


def _many(name, fn, node, complex_input, dims):
    full = name.replace("2", "n")

    def row(input, /, s=None, dim=dims, norm=None):
        x, norm = _operand(input, norm, None if complex_input else full, "Only supports floating-point dtypes, but found: {1}"
                           if full == "ihfftn" else "{} expects a real-valued input tensor, but got {}")
        s = (s,) if isinstance(s, int) else s
        axes = _axes(s, dim, x.ndim)
        if not axes:
            if node == "FftC2CBackward0":
                return cast(x, dtype_of(x).to_complex())
            raise RuntimeError(f"{full} must transform at least one axis")
        if s is not None:
            s = tuple(x.shape[a] if k == -1 else k for a, k in zip(axes, s))
        for n in s or [x.shape[a] for a in axes]:
            _points(n)
        return fn(x, s, axes, norm)
    op(row, name="fft_" + name, names="fft", node=node, by="s is None", variants={False: (node, "")}, saves="" if complex_input else "0")


_SWAP = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hfftn(x, s, axes, norm):
    return jnp.fft.irfftn(jnp.conj(x), s, axes, _SWAP[norm])


def _ihfftn(x, s, axes, norm):
    return jnp.conj(jnp.fft.rfftn(x, s, axes, _SWAP[norm]))


for _n, _f, _node, _c in (("fft", jnp.fft.fft, "FftC2CBackward0", True), ("ifft", jnp.fft.ifft, "FftC2CBackward0", True),
                          ("rfft", jnp.fft.rfft, "FftR2CBackward0", False), ("irfft", jnp.fft.irfft, "FftC2RBackward0", True),
                          ("hfft", jnp.fft.hfft, "FftC2RBackward0", True), ("ihfft", jnp.fft.ihfft, "FftR2CBackward0", False)):
    _one(_n, _f, _node, _c)
for _n, _f, _node, _c in (("fft", jnp.fft.fftn, "FftC2CBackward0", True), ("ifft", jnp.fft.ifftn, "FftC2CBackward0", True),
                          ("rfft", jnp.fft.rfftn, "FftR2CBackward0", False), ("irfft", jnp.fft.irfftn, "FftC2RBackward0", True),
                          ("hfft", _hfftn, "FftC2RBackward0", True), ("ihfft", _ihfftn, "FftR2CBackward0", False)):
    _many(_n + "n", _f, _node, _c, None)
    _many(_n + "2", _f, _node, _c, (-2, -1))


def _shifted(input, dim):
    return None if dim is None else tuple(wrap_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim))


@op(names="fft", node="RollBackward0")
def fft_fftshift(input, /, dim=None):
    return jnp.fft.fftshift(input, _shifted(input, dim))


@op(names="fft", node="RollBackward0")
def fft_ifftshift(input, /, dim=None):
    return jnp.fft.ifftshift(input, _shifted(input, dim))


@op(names="fft", differentiable=False)
def fft_fftfreq(*, n, d=1.0, dtype=None):
    return cast(jnp.fft.fftfreq(n, d), dtype or dtypes.get_default())


@op(names="fft", differentiable=False)
def fft_rfftfreq(*, n, d=1.0, dtype=None):
    return cast(jnp.fft.rfftfreq(n, d), dtype or dtypes.get_default())
