"""torch.testing: comparing tensors, and making them."""

from torchish.testing._comparison import assert_allclose, assert_close
from torchish.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
