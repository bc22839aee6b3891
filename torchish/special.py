"""torch.special."""

from torchish._torch_docs import common_args, multi_dim_common  # noqa: F401
from torchish.api.bind import special as _rows

globals().update(_rows)
