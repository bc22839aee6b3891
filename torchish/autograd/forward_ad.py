"""torch.autograd.forward_ad: dual tensors, which carry a tangent through ordinary code."""

from typing import NamedTuple

from torchish.autograd import dual
from torchish.autograd.modes import _Mode, state
from torchish.autograd.modes import set_forward_enabled as _set_fwd_grad_enabled  # noqa: F401 - torch's name
from torchish.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def enter_dual_level():
    """Open the one level of forward mode; returns its number."""
    if state.level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    state.level = dual.Level()
    if state.door is state.below:
        state.door = state.level
    return 0


def exit_dual_level(*, level=None):
    """Close the level: tangents made in it are gone."""
    if state.level is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if state.door is state.level:
        state.door = state.below
    state.level.open, state.level = False, None


class dual_level(_Mode):
    """Context manager: the block in which dual tensors live."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """A tensor that aliases `tensor` and carries `tangent`, of the same size.

    RuntimeError outside a level, for another size, or when `tensor` has a tangent already; ValueError for a dtype that is not
    floating point or complex.
    """
    now = state.level
    if now is None or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if tangent.shape == tensor.shape and not _laid_out_alike(tensor, tangent):
        tangent = _laid_out(tensor, tangent)
    return dual.begin(now, tensor, tangent)


def _is_fwd_grad_enabled():
    """Whether operations push tangents on."""
    return state.forward


def _memory(t):
    return t._storage.value.aval.size


def _laid_out_alike(a, b):
    """Whether views of the two stay in step. A vmap keeps a tangent as it is."""
    return b._aval.traced.__class__ is tuple or a.stride() == b.stride() and _memory(a) == _memory(b) and \
        a.is_conj() == b.is_conj() and a.is_neg() == b.is_neg()


def _laid_out(tensor, tangent):
    """A copy of the tangent in as much memory, and at the same places of it."""
    if _memory(tensor) == tensor.numel():
        return tangent.clone()
    memory = tangent.new_zeros(_memory(tensor)).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    memory.copy_(tangent)
    return memory


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor, *, level=None):
    """(the tensor without its tangent, its tangent or None)."""
    now = state.level
    if now is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*dual.end(now, tensor))


def __getattr__(name):
    if name == "_current_level":
        return -1 if state.level is None else 0
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
