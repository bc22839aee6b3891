"""What tensors and torch say about sparse layouts. Every torchish tensor is dense."""

from torchish.tensor import Tensor

# method -> the layout that PyTorch asks for
_EXPECTED = {
    "values": "sparse", "indices": "sparse coordinate", "coalesce": "sparse coordinate", "is_coalesced": "sparse coordinate",
    "crow_indices": "sparse row compressed", "col_indices": "sparse row compressed",
    "ccol_indices": "sparse column compressed", "row_indices": "sparse column compressed",
}


def _only_sparse(name, kind):
    def method(self):
        raise RuntimeError(f"{name} expected {kind} tensor layout but got Strided")
    return method


def refused(name):
    """A function of sparse tensors."""
    def function(*args, **kwargs):
        raise NotImplementedError(f"torch.{name}: torchish has no sparse tensors; use a dense one, or jax.experimental.sparse")
    return function


METHODS = {name: _only_sparse(name, kind) for name, kind in _EXPECTED.items()}
METHODS |= {name: refused("Tensor." + name) for name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr",
                                                         "to_sparse_bsc", "sparse_mask")}
METHODS |= {"sparse_dim": lambda self: 0, "dense_dim": lambda self: self.dim(), "to_dense": lambda self, dtype=None, *, masked_grad=None: (
    self if dtype is None else self.to(dtype))}
TORCH = {name: refused(name) for name in ("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
                                           "sparse_bsc_tensor", "sparse_compressed_tensor")}

for _name, _method in METHODS.items():
    _method.__name__ = _name
    setattr(Tensor, _name, _method)
