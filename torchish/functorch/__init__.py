"""functorch, PyTorch's second top-level package: the transforms under their first names, which warn.

`import functorch` finds this package once `torchish.install()` has made `import torch` mean torchish.
"""

import functools
import warnings

from torchish import func
from torchish.functorch import make_functional as _models
from torchish.functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from torchish.version import __version__

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value",
           "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx",
           "vjp", "vmap"]


def _renamed(fn, now):
    """`fn` with the warning that its name here is the old one."""
    text = (f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{fn.__name__}` is deprecated as "
            f"of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `{now}` instead; see the PyTorch "
            "2.0 release notes and/or the `torch.func` migration guide for more details "
            "https://pytorch.org/docs/main/func.migrating.html")

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        warnings.warn(text, FutureWarning, stacklevel=2)
        return fn(*args, **kwargs)
    return wrapper


vmap = _renamed(func.vmap, "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, functionalize = [
    _renamed(fn, f"torch.func.{fn.__name__}")
    for fn in (func.grad, func.grad_and_value, func.vjp, func.jvp, func.jacrev, func.jacfwd, func.hessian, func.functionalize)]
make_functional, make_functional_with_buffers = [
    _renamed(fn, "torch.func.functional_call") for fn in (_models.make_functional, _models.make_functional_with_buffers)]
combine_state_for_ensemble = _renamed(_models.combine_state_for_ensemble, "torch.func.stack_module_state")


def make_fx(*args, **kwargs):
    """Refused: PyTorch's graphs of nodes; JAX's own are at hand."""
    raise NotImplementedError("make_fx: torchish has no torch.fx graphs; jax.make_jaxpr shows a function of torchish tensors as a graph")
