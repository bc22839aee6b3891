"""torch.nn.parallel: one device, so DataParallel is its module."""

from torchish.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
