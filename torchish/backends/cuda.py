"""torch.backends.cuda."""

import contextlib

from torchish.tensor import devices as _devices


class _Matmul:
    """What may be rounded in matrix products on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


matmul = _Matmul()
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built():
    return _devices.count("cuda") > 0


def _switch(kind):
    def enabled():
        return _sdp[kind]

    def enable(enabled):
        _sdp[kind] = bool(enabled)

    enabled.__doc__ = f"Whether the {kind} kernel of attention is allowed."
    enable.__doc__ = f"Allow or forbid the {kind} kernel of attention; XLA's own is used in either case."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Allowed kernels of attention for the length of a `with`."""
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _sdp.update(before)
