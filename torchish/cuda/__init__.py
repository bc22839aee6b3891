"""torch.cuda: JAX's GPUs, or PyTorch's answers of a build without CUDA where there is none."""

import collections

from torchish.api import random as _random
from torchish.ops import dtypes as _dtypes
from torchish.tensor import Tensor as _Tensor
from torchish.tensor import devices as _devices


def device_count():
    """How many GPUs JAX sees."""
    return _devices.count("cuda")


def is_available():
    return device_count() > 0


def is_initialized():
    return is_available()


def _need():
    if not is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")


def init():
    _need()


def current_device():
    _need()
    return 0


def set_device(device):
    """Choose the GPU that "cuda" means; torchish always means JAX's first."""
    _need()
    if _index(device) != 0:
        raise NotImplementedError("torchish computes on JAX's first GPU; choose it with CUDA_VISIBLE_DEVICES")


def _index(device):
    return device if isinstance(device, int) else (_devices.device(device).index or 0)


def get_device_name(device=None):
    _need()
    return _devices.name("cuda", 0 if device is None else _index(device))


def synchronize(device=None):
    """Wait for nothing: reading a tensor waits for its own value."""
    _need()


def empty_cache():
    """Accepted; JAX's allocator keeps its memory."""


def ipc_collect():
    _need()


def memory_allocated(device=None):
    return _devices.memory("cuda", "bytes_in_use")


def max_memory_allocated(device=None):
    return _devices.memory("cuda", "peak_bytes_in_use")


def memory_reserved(device=None):
    return _devices.memory("cuda", "bytes_reserved")


def max_memory_reserved(device=None):
    return _devices.memory("cuda", "peak_bytes_reserved")


def memory_stats(device=None):
    return collections.OrderedDict()


def is_bf16_supported(including_emulation=True):
    return is_available()


def manual_seed(seed):
    """Seed the GPU's stream; ignored without one, as in PyTorch. Torchish's GPU tensors draw from the CPU stream."""


def manual_seed_all(seed):
    manual_seed(seed)


def seed():
    return None


def seed_all():
    return None


def initial_seed():
    _need()
    return _random.initial_seed()


def get_rng_state(device="cuda"):
    _need()
    return _random.get_rng_state()


def set_rng_state(new_state, device="cuda"):
    _need()
    _random.set_rng_state(new_state)


def get_rng_state_all():
    return [get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states):
    for state in new_states:
        set_rng_state(state)


class device:
    """Context manager that chooses a GPU."""

    def __init__(self, device):
        self.idx = _index(device) if device is not None else -1

    def __enter__(self):
        if not is_available():
            raise RuntimeError("PyTorch was compiled without CUDA support")
        if self.idx >= 0:
            set_device(self.idx)

    def __exit__(self, *exc):
        return False


class _Legacy(type):
    """torch.cuda.FloatTensor and its kind: types to ask about, not to call."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, _Tensor) and obj.is_cuda and obj.dtype is cls.dtype

    def __call__(cls, *args, **kwargs):
        if not is_available():
            raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")
        raise NotImplementedError(f"torch.cuda.{cls.__name__}(...): use torch.tensor(..., dtype={cls.dtype}, device='cuda')")


class _Absent(NotImplementedError, AttributeError):
    """For `hasattr`, which must answer False and not fail, too."""


def __getattr__(name):
    made = next((_Legacy(name, (), {"dtype": d, "__module__": "torch.cuda"}) for d in _dtypes.ALL if d.legacy + "Tensor" == name), None)
    if made is not None:
        return globals().setdefault(name, made)
    if name in ("Stream", "Event", "CUDAGraph", "graph", "stream", "current_stream", "default_stream"):
        raise _Absent(f"torch.cuda.{name}: torchish has no streams or graphs; its programs are compiled as a whole")
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


from torchish.cuda import amp, random
