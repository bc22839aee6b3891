"""How PyTorch's messages name a value's type."""

import torchish as torch


def typename(value):
    """torch.FloatTensor for tensors, otherwise the qualified name of the class, without `builtins`."""
    if isinstance(value, torch.Tensor):
        return value.type()
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"
