"""How linear_cross_entropy may cut its batch into chunks."""

from dataclasses import dataclass

import torchish as torch

_DTYPES = None, torch.float16, torch.bfloat16, torch.float32, torch.float64


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Settings of the chunked computation."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: torch.dtype | None = None

    def __post_init__(self):
        if self.chunking_method not in (None, "auto"):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.batch_chunk_size is not None and self.batch_chunk_size < 1:
            raise ValueError(f"batch_chunk_size must be positive int or None, got {self.batch_chunk_size}")
        if self.acc_dtype not in _DTYPES:
            raise ValueError(f"acc_dtype must be one of {{{', '.join(map(str, _DTYPES))}}}, got {self.acc_dtype}. Pass acc_dtype=None "
                             "to let the op pick automatically.")
