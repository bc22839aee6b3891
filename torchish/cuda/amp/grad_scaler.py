"""torch.cuda.amp.grad_scaler."""

from torchish.amp._old import scaler_of
from torchish.amp.grad_scaler import OptState

__all__ = ["GradScaler", "OptState"]
GradScaler = scaler_of("cuda")
