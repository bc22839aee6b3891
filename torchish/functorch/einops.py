"""functorch.einops: `rearrange` under its first name."""

from torchish.func import rearrange

__all__ = ["rearrange"]
