"""torch.optim.adamw."""

from torchish.optim.adam import AdamW

__all__ = ["AdamW"]
