"""autocast: matrix products in half precision, what needs the range in single precision."""

import functools
import warnings

from torchish.amp.casts import cast
from torchish.amp.settings import get_autocast_dtype, is_autocast_available, is_autocast_enabled, settings
from torchish.ops import dtypes
from torchish.tensor import Tensor, devices

_CPU_DTYPES = (dtypes.bfloat16, dtypes.float16)


def _check_kind(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


class autocast:
    """Context manager or decorator: matrix products, convolutions and recurrent layers take their operands in `dtype`.

    The graph holds the casts, so that gradients have the dtypes of the parameters.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_kind(device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = settings.cache if cache_enabled is None else cache_enabled
        if enabled and device_type == "cpu" and self.fast_dtype not in _CPU_DTYPES:
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports "
                          f"dtypes of {', '.join(map(str, _CPU_DTYPES))} currently.", stacklevel=2)
            enabled = False
        if enabled and device_type == "cuda" and not devices.count("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._before = []

    def __enter__(self):
        self._before.append(settings.kept())
        others = settings.on - {self.device}
        settings.nesting += 1
        settings.restore((others | {self.device} if self._enabled else others, {**settings.fast, self.device: self.fast_dtype},
                          self._cache_enabled))
        return self

    def __exit__(self, *exc):
        settings.nesting -= 1
        settings.restore(self._before.pop())
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def within(*args, **kwargs):
            with self:
                return func(*args, **kwargs)
        return within


def _cast_tree(value, kind, dtype):
    """All tensors inside, cast."""
    if isinstance(value, Tensor):
        return cast(value, dtype, kind)
    if isinstance(value, dict):
        return {_cast_tree(k, kind, dtype): _cast_tree(v, kind, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast_tree(v, kind, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorator of a Function's forward: with `cast_inputs` it gets tensors of that dtype and runs without autocast."""
    _check_kind(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args, **kwargs):
        ctx, dtype, on = args[0], get_autocast_dtype(device_type), is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = dtype, on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast_tree(args, device_type, cast_inputs), **_cast_tree(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type):
    """Decorator of a Function's backward: it runs with autocast as the forward did."""
    _check_kind(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward
