"""Phrases about arguments that many functions share, for docstrings made with `.format(**common_args)`."""

common_args = {
    "input": "input (Tensor): what the function is applied to.",
    "generator": "generator (torch.Generator, optional): where the random numbers come from.",
    "out": "out (Tensor, optional): where the result is written.",
    "memory_format": "memory_format (torch.memory_format, optional): accepted; results are contiguous.",
}
multi_dim_common = common_args | {
    "dtype": "dtype (torch.dtype, optional): `input` is cast to it first.",
    "dim": "dim (int or tuple of ints): what is reduced.",
    "opt_dim": "dim (int or tuple of ints, optional): what is reduced.",
    "opt_dim_all_reduce": "dim (int or tuple of ints, optional): what is reduced; None: everything.",
    "keepdim": "keepdim (bool): whether reduced dimensions stay, with size 1.",
    "opt_keepdim": "keepdim (bool, optional): whether reduced dimensions stay, with size 1. Default: False.",
    "keepdim_details": "With `keepdim` the result has as many dimensions as `input`; without it those in `dim` are gone.",
}
factory_common_args = common_args | {
    "dtype": "dtype (torch.dtype, optional): of the result. Default: torch.get_default_dtype().",
    "layout": "layout (torch.layout, optional): torch.strided is the only one.",
    "device": "device (torch.device, optional): where the result lives.",
    "requires_grad": "requires_grad (bool, optional): whether the result is a leaf that gets a gradient. Default: False.",
    "pin_memory": "pin_memory (bool, optional): accepted without effect.",
    "check_invariants": "check_invariants (bool, optional): of sparse tensors, which torchish does not have.",
    "sparse_factory_device_note": "Sparse tensors are not supported.",
}
