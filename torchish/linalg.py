"""torch.linalg."""

from torchish.api.bind import linalg as _rows

globals().update(_rows)
