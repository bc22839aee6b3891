"""torch.utils._python_dispatch: modes that see every operation below autograd, forward and backward."""

import contextlib

from torchish.autograd import dispatch
from torchish.autograd.dispatch import node_of, save_results
from torchish.autograd.graph import plain_copy
from torchish.autograd.modes import dispatched, state
from torchish.program import signature
from torchish.tensor import Tensor
from torchish.utils import _aten


class _Under:
    """What runs inside is under autograd, autocast and forward mode, and meets the modes behind a door."""

    def __init__(self, below):
        self.below = below

    def __enter__(self):
        self.previous = state.below, state.door, state.level, state.grad
        state.below = state.door = self.below
        state.level, state.grad = None, False

    def __exit__(self, *exc):
        state.below, state.door, state.level, state.grad = self.previous


def _door(modes):
    return _Door(tuple(modes)) if modes else None


class _Door:
    """Where operations go while dispatch modes are on: to the innermost mode, and then into the graph."""

    def __init__(self, modes):
        self.modes = modes

    def call(self, func, args, kwargs):
        """What the innermost mode makes of an operation."""
        with _Under(_door(self.modes[:-1])):
            return self.modes[-1].__torch_dispatch__(func, (), args, kwargs)

    def run(self, op, args, attrs):
        with _Under(self):
            out = _aten.carried_out(op, args, attrs)
        return self.call(*_aten.call_of(op, args, attrs)) if out is None else out

    def apply(self, op, args, attrs):
        """`dispatch.apply`, computed by the modes."""
        sig = signature(op, [a._value if isinstance(a, Tensor) else a for a in args], attrs)
        wrt = () if not (state.grad and op.differentiable and sig.floats) else tuple(
            i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad and i not in op.nondiff)
        node = node_of(op, sig, wrt, args, ()) if wrt else None
        out = self.run(op, args, attrs)
        if node is None or isinstance(out, Tensor) != sig.single:
            return out if sig.single or not isinstance(out, list) else tuple(out)
        outs = [out] if sig.single else list(out)
        for k in sig.floats:
            if outs[k].requires_grad or outs[k]._meta is not None or any(outs[k] is a for a in args):
                outs[k] = plain_copy(outs[k])
            outs[k]._fn, outs[k]._nr = node, k
        if op.saves or getattr(node, "pull", None) is not None and node.pull.results:
            save_results(node, op, outs)
        return outs[0] if sig.single else tuple(outs)

    def inplace(self, row, t, args, attrs, overlap_ok):
        """`dispatch.inplace`, written by the modes."""
        return dispatch.inplace(row, t, args, attrs, overlap_ok, lambda: self.call(*_aten.inplace_of(row, t, args, attrs)))

    def view(self, row, t, numbers, attrs, creation, source, number):
        """`dispatch.view`; where a mode gives something else than a view of `t`, that in its place of the graph."""
        made = self.call(*_aten.view_of(row, t, numbers, attrs))
        with dispatched():
            out = dispatch.view(row, t, numbers, attrs, creation, source, number)
        if not isinstance(made, Tensor) or made._storage is t._storage:
            return out
        made = plain_copy(made)
        made._fn, made._nr = out._fn, out._nr
        return made

    def update(self, row, targets, args, attrs):
        """`dispatch.update`."""
        self.call(*_aten.update_of(row, targets, args, attrs))

    def detached(self, t):
        """`t.detach()`."""
        return self.call(_aten.aten.detach.default, (t,), {})

    def made(self, name, *args, requires_grad=False, **kwargs):
        """What a factory makes."""
        t = self.call(getattr(_aten.aten, name).default, _aten.sized(name, args), kwargs)
        return t.requires_grad_() if requires_grad else t


class TorchDispatchMode:
    """Context manager: inside, `__torch_dispatch__(func, types, args, kwargs)` is called for every operation below autograd, and what it
    returns is the operation's result. Operations that it runs itself go on to the next outer mode."""

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode: torchish has no dispatch keys; all modes are below autograd")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """The mode itself: `with Mode():` is enough."""
        import warnings
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode is part of a compiler."""
        return False

    @classmethod
    def ignore_compile_internals(cls):
        """Whether what torch.compile optimizes is nothing to the mode."""
        return cls.is_infra_mode()


# -- the stack ----------------------------------------------------------------------------------------------------------

def _get_current_dispatch_mode_stack():
    """The modes that are on, the innermost last."""
    return list(state.below.modes) if state.below is not None else []


def _get_current_dispatch_mode():
    """The innermost mode that is on, or None."""
    return state.below.modes[-1] if state.below is not None else None


def _switch(modes):
    dispatched(_door(modes)).__enter__()


def _push_mode(mode):
    _switch([*_get_current_dispatch_mode_stack(), mode])


def _pop_mode(k=None):
    *rest, mode = _get_current_dispatch_mode_stack()
    _switch(rest)
    return mode


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """Inside, the innermost mode is off."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes():
    """Inside, no mode is on."""
    modes = _get_current_dispatch_mode_stack()
    _switch(())
    try:
        yield modes
    finally:
        _switch(modes)


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is on."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in _get_current_dispatch_mode_stack())


def is_traceable_wrapper_subclass(t):
    """Whether `t` is a tensor that consists of others: there are none here."""
    return False
