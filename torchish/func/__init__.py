"""torch.func: derivatives and batching of functions, composable."""

from torchish.func.derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from torchish.func.modules import functional_call, stack_module_state
from torchish.func.vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state",
           "vjp", "vmap"]
