"""torch.cpu.amp.grad_scaler."""

from torchish.amp._old import scaler_of

__all__ = ["GradScaler"]
GradScaler = scaler_of("cpu")
