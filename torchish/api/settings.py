"""torch's settings of the process, and constants that describe a build."""

import enum
import importlib
import threading
import warnings

from torchish.autograd.modes import state
from torchish.tensor import Tensor, devices

_settings = {"deterministic": 0, "matmul": "highest"}
_LEVELS = ("default", "warn", "error")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Kept, and changes nothing: torchish computes deterministically on CPU."""
    _settings["deterministic"] = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled():
    return _settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled():
    return _settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` by a name or number: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _LEVELS:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = _LEVELS.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _settings["deterministic"] = debug_mode


def get_deterministic_debug_mode():
    return _settings["deterministic"]


def set_float32_matmul_precision(precision):
    """Kept, and changes nothing: torchish multiplies in full precision."""
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", stacklevel=2)
        return
    _settings["matmul"] = precision


def get_float32_matmul_precision():
    return _settings["matmul"]


def set_flush_denormal(mode):
    """False, as PyTorch says where the processor's mode cannot be set: XLA decides it."""
    return False


def set_anomaly_enabled(mode, check_nan=True):
    """Switch anomaly mode."""
    state.anomaly, state.check_nan = bool(mode), bool(check_nan)


# --- threads ---------------------------------------------------------------------------------------------------------

def get_num_threads():
    return max(1, threading.active_count())


def set_num_threads(num):
    """Accepted; XLA sizes its own thread pool."""


def get_num_interop_threads():
    return get_num_threads()


def set_num_interop_threads(num):
    """Accepted; XLA sizes its own thread pool."""


def init_num_threads():
    """Accepted; XLA sizes its own thread pool."""


def thread_safe_generator():
    """The generator of a data loader's worker thread; None elsewhere."""
    return None


# --- devices ---------------------------------------------------------------------------------------------------------

def set_default_device(device):
    """The device of factories that are given none."""
    devices.default = devices.check(device)


def get_default_device():
    return devices.default


def get_device_module(device=None):
    """The module of a device: torch.cuda, torch.cpu."""
    kind = "cuda" if device is None and devices.count("cuda") else "cpu" if device is None else devices.device(device).type
    try:
        return importlib.import_module(f"torchish.{kind}")
    except ImportError:
        raise RuntimeError(f"Invalid device module '{kind}': torchish has no module torch.{kind}") from None


# --- control flow ----------------------------------------------------------------------------------------------------

def cond(pred, true_fn, false_fn, operands=()):
    """`true_fn(*operands)` or `false_fn(*operands)`; the condition is read."""
    if not isinstance(pred, (bool, Tensor)) or isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if pred else false_fn)(*operands)


class AggregationType(enum.IntEnum):
    """torch.AggregationType."""

    SUM, AVG = 0, 1


TORCH = {f.__name__: f for f in (
    use_deterministic_algorithms, are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode, get_deterministic_debug_mode, set_float32_matmul_precision, get_float32_matmul_precision,
    set_flush_denormal, set_anomaly_enabled, get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads,
    init_num_threads, thread_safe_generator, set_default_device, get_default_device, get_device_module, cond, AggregationType)}
TORCH |= {"SUM": AggregationType.SUM, "AVG": AggregationType.AVG, "PRIVATE_OPS": ("unique_dim",), "TYPE_CHECKING": False,
          "USE_GLOBAL_DEPS": True, "USE_RTLD_GLOBAL_WITH_LIBTORCH": False, "has_lapack": True, "has_openmp": True, "has_spectral": True}
