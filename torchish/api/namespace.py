"""torch's own top-level names, gathered from their homes."""

import functools
import math
import threading
import warnings

from torchish import program
from torchish.api import bind, copies, creation, indexing, linalg, lowrank, overloads, random, sparse, viewing
from torchish.api.typeinfo import finfo, iinfo
from torchish.autograd import gradients
from torchish.ops import dtypes
from torchish.tensor import Tensor, devices


def set_default_dtype(d):
    """The floating-point dtype of factories and of integer division."""
    if not isinstance(d, dtypes.dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default(d)
    program.use_table(d.name)


def get_default_dtype():
    return dtypes.get_default()


def set_default_tensor_type(t):
    """Old spelling of set_default_dtype."""
    names = {"torch.FloatTensor": dtypes.float32, "torch.DoubleTensor": dtypes.float64, "torch.HalfTensor": dtypes.float16}
    set_default_dtype(names[t] if isinstance(t, str) else t.dtype)


def set_warn_always(b):
    """Repeat warnings that PyTorch gives once a process."""
    gradients.warn_always = bool(b)


def is_warn_always_enabled():
    return gradients.warn_always


def get_num_threads():
    return max(1, threading.active_count())


def set_num_threads(n):
    """Accepted; XLA sizes its own thread pool."""


def get_num_interop_threads():
    return get_num_threads()


def set_num_interop_threads(n):
    """Accepted; XLA sizes its own thread pool."""


_settings = {"deterministic": False, "warn_only": False, "matmul": "highest"}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Kept, and changes nothing: torchish computes deterministically on CPU."""
    _settings.update(deterministic=bool(mode), warn_only=bool(mode) and warn_only)


def are_deterministic_algorithms_enabled():
    return _settings["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    return _settings["warn_only"]


def set_float32_matmul_precision(precision):
    """Kept, and changes nothing: torchish multiplies in full precision."""
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", stacklevel=2)
        return
    _settings["matmul"] = precision


def get_float32_matmul_precision():
    return _settings["matmul"]


def is_autocast_enabled(device_type=None):
    """Never: torchish has no autocast."""
    return False


def set_default_device(device):
    """The device of factories that are given none."""
    devices.default = devices.check(device)


def get_default_device():
    return devices.default


def compile(model=None, **options):
    """`model` with the same results; a program that it takes part in is one fully optimized executable at first sight.

    PyTorch's options (fullgraph, dynamic, backend, mode, options, disable) are accepted: XLA is the only backend.
    """
    if model is None:
        return functools.partial(compile, **options)
    if options.get("disable"):
        return model
    if isinstance(model, type) or not hasattr(model, "forward"):
        @functools.wraps(model)
        def compiled(*args, **kwargs):
            program.whole()
            return model(*args, **kwargs)
        return compiled
    model.register_forward_pre_hook(lambda module, args: program.whole())
    return model


def typename(obj):
    if isinstance(obj, Tensor):
        return obj.type()
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


class _LegacyMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor) and obj.dtype is cls.dtype

    def __call__(cls, *args):
        if len(args) == 1 and isinstance(args[0], (list, tuple)) or args and hasattr(args[0], "dtype"):
            return creation.tensor(args[0], dtype=cls.dtype)
        return creation.empty(*args, dtype=cls.dtype)


def _legacy(d):
    return _LegacyMeta(d.legacy + "Tensor", (), {"dtype": d, "__module__": "torch"})


NAMESPACE = dict(bind.torch)
NAMESPACE.update(viewing.TORCH)
NAMESPACE.update(overloads.TORCH)
NAMESPACE.update(copies.TORCH)
NAMESPACE.update(random.TORCH)
NAMESPACE.update(linalg.TORCH)
NAMESPACE.update(lowrank.TORCH)
NAMESPACE.update(sparse.TORCH)
NAMESPACE.update({d.name: d for d in dtypes.ALL}, **dtypes.ALIASES)
NAMESPACE.update({d.legacy + "Tensor": _legacy(d) for d in dtypes.ALL})
NAMESPACE.update({n: getattr(creation, n) for n in (
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "empty_strided", "arange", "range",
    "linspace", "logspace", "eye", "tril_indices", "triu_indices", "tensor", "as_tensor", "asarray", "scalar_tensor", "from_numpy",
    "from_jax")})
NAMESPACE.update(creation.windows)
NAMESPACE.update(complex=creation.complex_, masked_select=indexing.masked_select, nonzero=indexing.nonzero,
                 index_put=indexing.index_put, return_types=bind.return_types)
NAMESPACE.update({f.__name__: f for f in (
    set_default_dtype, get_default_dtype, set_default_tensor_type, set_warn_always, is_warn_always_enabled, get_num_threads,
    set_num_threads, get_num_interop_threads, set_num_interop_threads, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled, set_float32_matmul_precision,
    get_float32_matmul_precision, is_autocast_enabled, set_default_device, get_default_device, compile, typename, finfo, iinfo)})
NAMESPACE.update(pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, newaxis=None, Tensor=Tensor)
