"""Floor 3: Tensor, Storage, views, dtype, device. Knows programs and ops, not gradients."""

from torchish.tensor.devices import device
from torchish.tensor.size import Size
from torchish.tensor.storage import Storage, View, number_of, put_number
from torchish.tensor.tensor import Tensor, tensor_of

__all__ = ["Size", "Storage", "Tensor", "View", "device", "number_of", "put_number", "tensor_of"]
