"""torch.utils.dlpack: arrays to and from other libraries."""

from torchish.api.creation import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
