"""torch.backends.mkldnn."""

import sys

from torchish.backends._flags import held

enabled, deterministic, allow_tf32, fp32_precision = True, False, None, "none"


def is_available():
    return False


def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Settings for the length of a `with`."""
    return held(sys.modules[__name__], enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32,
                fp32_precision=fp32_precision)
