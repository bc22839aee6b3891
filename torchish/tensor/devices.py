"""torch.device: names of JAX devices."""

import re

import jax

_PYTORCHS = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
             "mps", "meta", "hpu", "mtia", "privateuseone")
_TYPES = (*_PYTORCHS, "tpu")


class device:
    """A device name with an optional index. `cuda` and `tpu` mean JAX devices where they exist."""

    __slots__ = ("type", "index")

    def __new__(cls, type="cpu", index=None):
        if isinstance(type, device):
            return type
        self = object.__new__(cls)
        if isinstance(type, int):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        m = re.fullmatch(r"([a-z]+)(?::(\d+))?", type)
        if not m:
            raise RuntimeError(f"Invalid device string: '{type}'")
        if m.group(1) not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_PYTORCHS)} device type at start of device string: {m.group(1)}")
        self.type = m.group(1)
        self.index = int(m.group(2)) if m.group(2) else index
        return self

    def __repr__(self):
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self):
        return self.type + (f":{self.index}" if self.index is not None else "")

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (str(self),)

    def __enter__(self):
        """The device of factories that are given none, until the `with` ends."""
        global default
        _outer.append(default)
        default = check(self)
        return self

    def __exit__(self, *exc):
        global default
        default = _outer.pop()


cpu = device("cpu")
_outer = []    # defaults that a `with device` hides
default = cpu  # of factories that are given none: torch.set_default_device


def check(d):
    """The device to put a tensor on; raises PyTorch's message when this machine lacks it."""
    if d is None:
        return cpu
    d = device(d)
    if d.type == "cpu":
        return cpu
    if d.type == "cuda":
        if not any(p.platform == "gpu" for p in jax.devices()):
            raise AssertionError("Torch not compiled with CUDA enabled")
        return d
    if d.type in ("tpu", "xla"):
        if not any(p.platform == "tpu" for p in jax.devices()):
            raise RuntimeError(f"no {d.type} device is visible to JAX on this machine")
        return d
    raise NotImplementedError(f"torchish has no device '{d}'; use 'cpu', 'cuda' or 'tpu'")


_PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}


def _visible(kind):
    return [d for d in jax.devices() if d.platform == _PLATFORMS[kind]]


def count(kind):
    """How many devices of that kind JAX sees."""
    return len(_visible(kind))


def name(kind, index):
    return _visible(kind)[index].device_kind


def memory(kind, figure):
    """A figure of the allocator of the first device of that kind, in bytes; 0 where it is unknown."""
    found = _visible(kind)
    return ((found[0].memory_stats() or {}) if found else {}).get(figure, 0)
