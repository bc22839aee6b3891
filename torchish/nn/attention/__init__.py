"""torch.nn.attention: choosing a kernel for scaled_dot_product_attention. There is one here, which XLA fuses: the mathematical one."""

import contextlib
import enum

from torchish.backends import cuda as _switches

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl",
           "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """The kernels that PyTorch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    def __str__(self):
        return f"SDPBackend.{self.name}"


# whether a kernel is allowed, and the switch
_SWITCH = {
    SDPBackend.CUDNN_ATTENTION: (_switches.cudnn_sdp_enabled, _switches.enable_cudnn_sdp),
    SDPBackend.FLASH_ATTENTION: (_switches.flash_sdp_enabled, _switches.enable_flash_sdp),
    SDPBackend.EFFICIENT_ATTENTION: (_switches.mem_efficient_sdp_enabled, _switches.enable_mem_efficient_sdp),
    SDPBackend.MATH: (_switches.math_sdp_enabled, _switches.enable_math_sdp),
}


def _cur_sdpa_kernel_backends(with_priority=False):
    return [backend for backend, (enabled, _) in _SWITCH.items() if enabled()]


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Allow only these kernels inside (also as a decorator)."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    wanted = {backends} if isinstance(backends, SDPBackend) else set(backends)
    before = _cur_sdpa_kernel_backends()
    try:
        for backend, (_, enable) in _SWITCH.items():
            enable(backend in wanted)
        yield {}
    finally:
        for backend, (_, enable) in _SWITCH.items():
            enable(backend in before)


def _sdpa_kernel_variadic(*backends):
    return sdpa_kernel(list(backends))


def list_flash_attention_impls():
    """No exchangeable kernels."""
    return []


def current_flash_attention_impl():
    """None: there is none."""
    return None


def register_flash_attention_impl(impl, *, register_fn):
    """Refused: kernels are XLA's."""
    raise NotImplementedError("torchish has no flash attention kernels to exchange; scaled_dot_product_attention is compiled by XLA")


def activate_flash_attention_impl(impl):
    """Refused: kernels are XLA's."""
    raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")


def restore_flash_attention_impl(_raise_warn=True):
    """Nothing was activated."""


from torchish.nn.attention import bias, flex_attention
