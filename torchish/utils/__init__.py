"""torch.utils."""

from torchish.utils import _pytree, checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
