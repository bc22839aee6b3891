"""torch.backends.cudnn."""

import sys

from torchish.backends._flags import held

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit, fp32_precision = None, "none"


def is_available():
    return False


def version():
    return None


def is_acceptable(tensor):
    return False


def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Settings for the length of a `with`."""
    return held(sys.modules[__name__], enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
                deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision)
