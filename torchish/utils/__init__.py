"""torch.utils."""

from torchish.utils import _mode_utils, _pytree, checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
