"""torch.special."""

from torchish.api.bind import special as _rows

globals().update(_rows)
