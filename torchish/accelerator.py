"""torch.accelerator: the GPU, if JAX has one."""

from torchish import cuda as _cuda
from torchish.tensor.devices import device as _device


def is_available():
    return _cuda.is_available()


def device_count():
    return _cuda.device_count()


def current_accelerator(check_available=False):
    return _device("cuda") if is_available() else None


def current_device_index():
    return _cuda.current_device()


def set_device_index(device, /):
    _cuda.set_device(device)


def synchronize(device=None, /):
    _cuda.synchronize(device)


def empty_cache():
    _cuda.empty_cache()
