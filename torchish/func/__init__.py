"""torch.func: derivatives and batching of functions, composable."""

from torchish.func.forward import hessian, jacfwd, jvp, linearize
from torchish.func.modules import functional_call, functionalize, replace_all_batch_norm_modules_, stack_module_state
from torchish.func.rearrange import rearrange
from torchish.func.reverse import grad, grad_and_value, jacrev, vjp
from torchish.func.vmap import debug_unwrap, vmap

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
