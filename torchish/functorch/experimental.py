"""functorch.experimental: names that have moved to torch.func since."""

from torchish.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from torchish.func.vmap import chunk_vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
