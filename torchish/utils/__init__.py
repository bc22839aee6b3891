"""torch.utils."""

from torchish.utils import _mode_utils, _python_dispatch, _pytree, checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
