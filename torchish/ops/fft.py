"""Discrete Fourier transforms (torch.fft)."""

import jax.numpy as jnp

from torchish.ops import dtypes
from torchish.ops.promote import cast, dtype_of, promote_float, wrap_dim
from torchish.ops.table import op


def _one(name, fn, node, complex_input):
    def row(input, /, n=None, dim=-1, norm=None):
        (x,) = promote_float(input)
        if not complex_input and dtype_of(x).is_complex:
            raise RuntimeError(f"{name} expects a real input tensor, but got {dtype_of(x).legacy}")
        if n is not None and n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        return fn(x, n, wrap_dim(dim, x.ndim, False), norm or "backward")
    op(row, name="fft_" + name, names="fft", node=node)


def _many(name, fn, node, complex_input, dims):
    def row(input, /, s=None, dim=dims, norm=None):
        (x,) = promote_float(input)
        if not complex_input and dtype_of(x).is_complex:
            raise RuntimeError(f"{name} expects a real-valued input tensor, but got {dtype_of(x).legacy}")
        if dim is None:
            axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
        else:
            axes = tuple(wrap_dim(d, x.ndim, False) for d in ((dim,) if isinstance(dim, int) else dim))
        if s is not None:
            s = tuple(x.shape[a] if k == -1 else k for a, k in zip(axes, s))
        return fn(x, s, axes, norm or "backward")
    op(row, name="fft_" + name, names="fft", node=node)


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


@op(names="fft", node="RollBackward0")
def fft_fftshift(input, /, dim=None):
    return jnp.fft.fftshift(input, dim)


@op(names="fft", node="RollBackward0")
def fft_ifftshift(input, /, dim=None):
    return jnp.fft.ifftshift(input, dim)


@op(names="fft", differentiable=False)
def fft_fftfreq(*, n, d=1.0, dtype=None):
    return cast(jnp.fft.fftfreq(n, d), dtype or dtypes.get_default())


@op(names="fft", differentiable=False)
def fft_rfftfreq(*, n, d=1.0, dtype=None):
    return cast(jnp.fft.rfftfreq(n, d), dtype or dtypes.get_default())
