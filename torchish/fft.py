"""torch.fft."""

from torchish.api.bind import fft as _rows

globals().update(_rows)
