"""torch.fft."""

from torchish._torch_docs import common_args, factory_common_args  # noqa: F401
from torchish.api.bind import fft as _rows
from torchish.api.spectral import FFT as _made
from torchish.tensor import Tensor  # noqa: F401  (torch.fft.Tensor)

globals().update(_rows, **_made)
