"""torch.storage."""

from torchish.api.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
