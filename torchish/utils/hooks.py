"""torch.utils.hooks."""

from torchish.autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
