"""torch.autograd.anomaly_mode: anomaly mode under PyTorch's module name."""

from torchish.autograd.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
