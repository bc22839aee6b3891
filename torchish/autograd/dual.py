"""Forward mode: inside a level, tensors carry tangents, and every operation pushes them on as operations of their own.

A tangent hangs on its tensor (`Tensor._dual`), together with the level it belongs to, so what an ended level leaves behind is
never seen again. The tangent of a view is that view of the base's tangent: a write through either reaches both.
"""

from torchish.autograd import dispatch
from torchish.autograd.graph import OpNode, SavedResult, edge_of, plain_copy
from torchish.autograd.modes import state, suspended
from torchish.ops import TABLE
from torchish.ops.derive import inplace_op, push_of
from torchish.program import record, signature
from torchish.tensor import Tensor

FULL = TABLE["full"]


class Level:
    """The dual level of a thread, in `state.level`; operations come here while it is open."""

    def tangent(self, t):
        """The tangent of a tensor at this level, or None."""
        if not isinstance(t, Tensor):
            return None
        d = t._dual
        if d is not None and d[0] is self:
            return d[1]
        base = t._meta.base if t._meta is not None else None
        if base is None or base is t:
            return None
        along = self.tangent(base)
        if along is None:
            return None
        known = len(base._view.chain) if base._view is not None else 0
        with suspended():
            for row, numbers, attrs in t._view.chain[known:]:
                along = dispatch.view(row, along, numbers, attrs)
        t._dual = self, along
        return along

    def apply(self, op, args, attrs):
        """`dispatch.apply`, and the tangents of what it gives."""
        along = [self.tangent(a) for a in args] if op.differentiable and not state.inference else ()
        with suspended():
            out = dispatch.apply(op, args, attrs)
            if not any(a is not None for a in along):
                return out
            sig, pushed = self.pushed(op, args, attrs, along)
        outs = (out,) if isinstance(out, Tensor) else out
        for k, tangent in zip(sig.floats, pushed):
            outs[k]._dual = self, tangent
        self.mark(outs)
        return out

    def pushed(self, op, args, attrs, along):
        """(signature, tangents of its floating-point results)."""
        sig = signature(op, [a._value if isinstance(a, Tensor) else a for a in args], attrs)
        wrt = tuple(i for i, a in enumerate(along) if a is not None and sig.operands[i].dtype.kind in "fcV")
        if not wrt or not sig.floats:
            return sig, ()
        tangents = [_cast(along[i], args[i].dtype) for i in wrt]
        out = dispatch.apply(push_of(sig, wrt), (*[a if d is None else self.primal(a) for a, d in zip(args, along)], *tangents))
        return sig, (out,) if isinstance(out, Tensor) else out

    def primal(self, t):
        """The tensor without its tangent, in the same place of the graph."""
        out = plain_copy(t)
        out._dual = self, None
        edge = edge_of(t)
        if edge is not None:
            out._fn, out._nr = edge
        return out

    def mark(self, outs):
        """A backward through dual tensors runs node by node, so that its own operations push tangents too."""
        for node in {t._fn for t in outs if t._fn is not None}:
            node.plain = False
            if isinstance(node, OpNode):
                for s in node.saved:
                    if s.__class__ is SavedResult:
                        s.tensor._dual = outs[s.nr]._dual

    def share(self, out, t, view):
        """`out` is a view of `t`: its tangent is that view of the tangent."""
        along = self.tangent(t)
        if along is not None:
            with suspended():
                out._dual = self, view(along)
            self.mark((out,))

    def inplace(self, row, t, args, attrs, overlap_ok):
        """An in-place write: the tangent changes in place as well, or begins."""
        operands = (t, *args)
        along = [self.tangent(a) for a in operands] if row.differentiable else [None]
        with suspended():
            pushed = ()
            if any(a is not None for a in along):
                pushed = self.pushed(inplace_op(row), operands, attrs, along)[1]
            dispatch.inplace(row, t, args, attrs, overlap_ok)
            if pushed:
                self.rewrite(t, pushed[0])
        self.mark((t,))
        return t

    def function(self, cls, ctx, args, out):
        """The tangents of a custom Function's results, from its `jvp`."""
        along = [self.tangent(a) for a in args]
        if not any(a is not None for a in along):
            return
        with suspended():
            pushed = cls.jvp(ctx, *along)
        pushed = pushed if isinstance(pushed, tuple) else (pushed,)
        outs = out if isinstance(out, tuple) else (out,)
        if len(pushed) != len(outs):
            raise RuntimeError(f"{cls.__name__}.jvp: expected {len(outs)} tangents, one an output, but got {len(pushed)}")
        for y, tangent in zip(outs, pushed):
            if tangent is not None:
                y._dual = self, tangent

    def rewrite(self, t, new):
        old = self.tangent(t)
        if old is None and t._meta is not None:
            base = t._meta.base
            base._dual = self, Tensor._of(record(FULL, (0,), (base._aval.shape, base.dtype)))
            old = self.tangent(t)
        if old is None:
            t._dual = self, new
        else:
            old.copy_(new)
            t._dual = self, old


def check_size(t, tangent):
    """Refuse a tangent of another size than its tensor's."""
    if t.shape != tangent.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                           f"supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
                           f"{list(tangent.shape)}.")


def _cast(t, dtype):
    return t if t.dtype is dtype else dispatch.apply(dispatch.CAST, (t,), (dtype,))

