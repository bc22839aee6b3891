"""Tensors that carry a mask: not in torchish, which has the functions of torch.masked only."""

_INSTEAD = "torchish has no MaskedTensor; call the functions of torch.masked with mask=…"


class MaskedTensor:
    """Not implemented."""

    def __init__(self, data, mask, requires_grad=False):
        raise NotImplementedError(_INSTEAD)


def masked_tensor(data, mask, requires_grad=False):
    """Not implemented."""
    raise NotImplementedError(_INSTEAD)


def as_masked_tensor(data, mask):
    """Not implemented."""
    raise NotImplementedError(_INSTEAD)


def is_masked_tensor(obj, /):
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)
