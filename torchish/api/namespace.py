"""torch's own top-level names, gathered from their homes."""

import functools
import math

from torchish import program
from torchish.api import (
    bind,
    copies,
    creation,
    distinct,
    factories,
    gammas,
    indexing,
    kept,
    lazy,
    legacy,
    linalg,
    lowrank,
    overloads,
    random,
    settings,
    sparse,
    storages,
    viewing,
)
from torchish.api.typeinfo import finfo, iinfo
from torchish.autograd import gradients
from torchish.ops import dtypes
from torchish.tensor import Tensor, layout


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


NAMESPACE = dict(bind.torch)
NAMESPACE.update(viewing.TORCH)
NAMESPACE.update(overloads.TORCH)
NAMESPACE.update(distinct.TORCH)
NAMESPACE.update(copies.TORCH)
NAMESPACE.update(lazy.TORCH)
NAMESPACE.update(random.TORCH)
NAMESPACE.update(gammas.TORCH)
NAMESPACE.update(linalg.TORCH)
NAMESPACE.update(lowrank.TORCH)
NAMESPACE.update(sparse.TORCH)
NAMESPACE.update({d.name: d for d in (*dtypes.ALL, *dtypes.UNHELD)}, **dtypes.ALIASES)
NAMESPACE.update(legacy.TORCH)
NAMESPACE.update(layout.NAMES)
NAMESPACE.update(settings.TORCH)
NAMESPACE.update(storages.TORCH)
NAMESPACE.update(kept.TORCH)
NAMESPACE.update({n: getattr(creation, n) for n in (
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "empty_strided", "arange", "range",
    "linspace", "logspace", "eye", "tril_indices", "triu_indices", "tensor", "as_tensor", "asarray", "scalar_tensor", "from_numpy",
    "from_jax", "frombuffer", "from_file", "from_dlpack", "to_dlpack")})
NAMESPACE.update(creation.windows)
NAMESPACE.update(complex=creation.complex_, masked_select=indexing.masked_select, nonzero=indexing.nonzero,
                 index_put=indexing.index_put, return_types=bind.return_types)
NAMESPACE.update({f.__name__: f for f in (
    set_default_dtype, get_default_dtype, set_default_tensor_type, set_warn_always, is_warn_always_enabled, compile,
    typename, finfo, iinfo)})
NAMESPACE.update(factories.behind_checks(NAMESPACE))
for _name, _factory in factories.behind_checks(vars(Tensor)).items():
    setattr(Tensor, _name, _factory)
NAMESPACE.update(pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, newaxis=None, Tensor=Tensor)
