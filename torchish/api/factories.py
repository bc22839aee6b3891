"""What every factory checks before it makes a tensor: dtype, layout, pinned memory, keywords that it does not know."""

import functools
import inspect

from torchish.api.bind import type_name
from torchish.autograd.modes import state
from torchish.ops import dtypes
from torchish.tensor import layout as layouts

# keywords that factories take through **kw
PASSED = {"size", "generator", "layout", "memory_format", "pin_memory"}

# what dispatch modes do not see, or see the parts of
UNSEEN = {"scalar_tensor", "from_file", "normal"}


def checked(name, factory):
    """The factory `name` behind the checks."""
    known = PASSED.union(inspect.signature(factory).parameters, getattr(factory, "attrs", ()))

    @functools.wraps(factory)
    def door(*args, layout=None, pin_memory=False, **kw):
        if "dtype" in kw:
            kw["dtype"] = dtypes.given(kw["dtype"], name)
        if layout is not None and layout is not layouts.strided:
            if not isinstance(layout, layouts.layout):
                raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type_name(layout)}")
            raise NotImplementedError(f"{name}: torchish has no {layout!r} tensors; use torch.strided")
        if pin_memory:
            raise RuntimeError("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
                               "this system.")
        for key in kw:
            if key not in known:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if state.below is not None and name not in UNSEEN:
            return state.below.made(name, *args, **kw)
        return factory(*args, **kw)
    door.__name__ = door.__qualname__ = name
    return door


def behind_checks(functions):
    """The factories among `functions`, by name: whatever has a `layout`."""
    return {name: checked(name, f) for name, f in functions.items()
            if inspect.isfunction(f) and "layout" in inspect.signature(f).parameters}
