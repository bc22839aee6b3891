"""torch.sparse: its names, which refuse; every torchish tensor is dense."""

from torchish.api.sparse import refused

globals().update({name: refused("sparse." + name) for name in (
    "mm", "addmm", "sampled_addmm", "softmax", "log_softmax", "sum", "spdiags", "spsolve", "to_sparse_semi_structured", "as_sparse_gradcheck",
    "check_sparse_tensor_invariants")})
