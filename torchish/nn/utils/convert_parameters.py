"""Parameters as one vector."""

import torchish as torch


def parameters_to_vector(parameters):
    """All parameters, flattened and joined."""
    return torch.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Give the parameters the slices of `vec` as their data."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec)}")
    at = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[at:at + n].view_as(p).data
        at += n
