"""torch.autograd.forward_ad: tensors that carry a tangent through ordinary code are not supported; torch.func.jvp is."""

__all__ = ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def _unsupported(name):
    def function(*args, **kwargs):
        raise NotImplementedError(f"torchish has no dual tensors ({name}); use torch.func.jvp(f, primals, tangents), or torch.func.jacfwd")
    function.__name__ = function.__qualname__ = name
    return function


dual_level, enter_dual_level, exit_dual_level, make_dual, unpack_dual = map(_unsupported, __all__)
