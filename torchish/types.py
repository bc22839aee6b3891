"""torch.types: names for annotations."""

import os
from collections.abc import Sequence
from typing import IO

from torchish.ops.dtypes import dtype as _dtype  # noqa: F401
from torchish.tensor import Size, Storage, Tensor  # noqa: F401  (names for annotations)
from torchish.tensor import device as _device

_int, _float, _bool, _complex = int, float, bool, complex
_TensorOrTensors = Tensor | Sequence[Tensor]
_size = Size | list[int] | tuple[int, ...]
Number = int | float | bool
Device = _device | str | int | None
FileLike = str | os.PathLike | IO[bytes]
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
