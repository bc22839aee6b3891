"""Everything that becomes a method, operator or property of Tensor."""

import copy as _copy
import numbers

import numpy as np

from torchish import program
from torchish.api import (
    bind,
    bounds,
    copies,
    creation,
    distinct,
    indexing,
    kept,
    lazy,
    legacy,
    linalg,
    lowrank,
    overloads,
    random,
    storages,
    viewing,
)
from torchish.api.bind import PLAIN, operand
from torchish.autograd.batching import like
from torchish.autograd.dispatch import apply, check_inplace, inplace
from torchish.autograd.graph import Node
from torchish.autograd.modes import state
from torchish.autograd.showing import shown
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor
from torchish.tensor.printing import format_tensor
from torchish.tensor.tensor import template

for _name, _fn in {**bind.method, **viewing.METHODS, **overloads.METHODS, **distinct.METHODS, **copies.METHODS, **lazy.METHODS, **linalg.METHODS,
                   **lowrank.METHODS, **random.METHODS, **kept.METHODS, **storages.METHODS}.items():
    if _name == "is_floating_point" or hasattr(Tensor, _name) and _name in ("item", "tolist"):
        continue
    setattr(Tensor, _name, _fn)


# --- operators -------------------------------------------------------------------------------------------------------

def _by_operand(row, first=True):
    """The row where the operand is a number and where it is a tensor; `first`: the operand stands behind the tensor."""
    a, b = row.operands[:2] if first else row.operands[1::-1]
    return [bind.variant(row, **{a: template, b: value}) for value in (1, template)]


def _operator(row, extra=(), attrs=(), swap=False, check=None):
    numbers, tensors = _by_operand(row, not swap)

    def method(self, other):
        row = numbers
        if other.__class__ in PLAIN:
            if other is None:
                return NotImplemented
        elif isinstance(other, Tensor):
            row = tensors
        else:
            try:
                other = operand(other, row.name, "other", 2)
            except TypeError:
                return NotImplemented
        if self.__class__ in PLAIN:     # called through the class
            raise TypeError(f"descriptor '{method.__name__}' for 'torch._C.TensorBase' objects doesn't apply to a "
                            f"'{type(self).__name__}' object")
        if check is not None:
            check(other if swap else self, self if swap else other)
        return apply(row, (other, self, *extra) if swap else (self, other, *extra), attrs)
    return method


def _augmented(name, extra=(), attrs=(), check=None):
    numbers, tensors = _by_operand(TABLE[name])

    def method(self, other):
        row = numbers
        if isinstance(other, Tensor):
            row = tensors
        elif other.__class__ not in PLAIN:
            try:
                other = operand(other, name, "other", 2)
            except TypeError:
                return NotImplemented
        if check is not None:
            check(self, other)
        return inplace(row, self, (other, *extra), attrs)
    return method


def _matmul(self, other):
    return overloads.matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _compare(name):
    operator = _operator(TABLE[name])

    def method(self, other):
        if other is None or isinstance(other, str):
            return NotImplemented
        return operator(self, other)
    return method


_ops = {
    "__add__": _operator(TABLE["add"], (1,)), "__radd__": _operator(TABLE["add"], (1,)),
    "__sub__": _operator(TABLE["sub"], (1,)), "__rsub__": _operator(TABLE["rsub"], (1,)),
    "__mul__": _operator(TABLE["mul"]), "__rmul__": _operator(TABLE["mul"]),
    "__truediv__": _operator(TABLE["div"], (), (None,)),
    "__floordiv__": _operator(TABLE["floor_divide"], check=bounds.divisor),
    "__rfloordiv__": _operator(TABLE["floor_divide"], swap=True, check=bounds.divisor),
    "__mod__": _operator(TABLE["remainder"], check=bounds.divisor), "__rmod__": _operator(TABLE["remainder"], swap=True, check=bounds.divisor),
    "__matmul__": _matmul, "__rmatmul__": lambda self, other: _matmul(other, self) if isinstance(other, Tensor) else NotImplemented,
    "__and__": _operator(TABLE["bitwise_and"]), "__rand__": _operator(TABLE["bitwise_and"]),
    "__or__": _operator(TABLE["bitwise_or"]), "__ror__": _operator(TABLE["bitwise_or"]),
    "__xor__": _operator(TABLE["bitwise_xor"]), "__rxor__": _operator(TABLE["bitwise_xor"]),
    "__lshift__": _operator(TABLE["bitwise_left_shift"]), "__rshift__": _operator(TABLE["bitwise_right_shift"]),
    "__rlshift__": _operator(TABLE["bitwise_left_shift"], swap=True), "__rrshift__": _operator(TABLE["bitwise_right_shift"], swap=True),
    "__ilshift__": _augmented("bitwise_left_shift"), "__irshift__": _augmented("bitwise_right_shift"),
    "__eq__": _compare("eq"), "__ne__": _compare("ne"), "__lt__": _compare("lt"), "__le__": _compare("le"),
    "__gt__": _compare("gt"), "__ge__": _compare("ge"),
    "__iadd__": _augmented("add", (1,)), "__isub__": _augmented("sub", (1,)), "__imul__": _augmented("mul"),
    "__itruediv__": _augmented("div", (), (None,)), "__ifloordiv__": _augmented("floor_divide", check=bounds.divisor),
    "__imod__": _augmented("remainder", check=bounds.divisor), "__ipow__": _augmented("pow"), "__iand__": _augmented("bitwise_and"),
    "__ior__": _augmented("bitwise_or"), "__ixor__": _augmented("bitwise_xor"),
    "__getitem__": indexing.getitem, "__setitem__": indexing.setitem,
    "index_put_": indexing.index_put_, "index_put": indexing.index_put, "masked_select": indexing.masked_select,
    "nonzero": indexing.nonzero,
}
for _name, _fn in _ops.items():
    if _fn.__name__ == "method":
        _fn.__name__ = _fn.__qualname__ = _name
    setattr(Tensor, _name, _fn)


for _name, _other in (("__div__", "__truediv__"), ("__idiv__", "__itruediv__"), ("__long__", "__int__"), ("__nonzero__", "__bool__")):
    setattr(Tensor, _name, getattr(Tensor, _other))


def method(fn):
    setattr(Tensor, fn.__name__, fn)
    return fn


@method
def __neg__(self):
    return bind.torch["neg"](self)


@method
def __pos__(self):
    return self


@method
def __abs__(self):
    return bind.torch["abs"](self)


@method
def __invert__(self):
    return bind.torch["bitwise_not"](self)


@method
def __pow__(self, other):
    if other.__class__ not in PLAIN and not isinstance(other, (Tensor, numbers.Number)):
        return NotImplemented
    return overloads.pow(self, other)


@method
def __rpow__(self, other):
    return overloads.pow(other, self)


@method
def __rtruediv__(self, other):
    if other.__class__ in PLAIN and other is not None:
        # PyTorch computes reciprocal() * other
        return apply(TABLE["mul"], (apply(TABLE["reciprocal"], (self,)), other))
    return _operator(TABLE["div"], (), (None,), swap=True)(self, other)


@method
def __iter__(self):
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(viewing.unbind(self, 0))


@method
def __contains__(self, element):
    return bool((self == element).any())


# --- printing --------------------------------------------------------------------------------------------------------

def _suffixes(t):
    try:
        node = t.grad_fn
    except RuntimeError:        # the history of this view is lost
        node = suffixes = ["grad_fn=<Invalid>"]
    if isinstance(node, Node):
        suffixes = [f"grad_fn=<{type(node).__name__}>"]
    elif node is None:
        suffixes = ["requires_grad=True"] if t.requires_grad else []
    tangent = None if state.level is None else state.level.tangent(t)
    return suffixes if tangent is None else [*suffixes, f"tangent={tangent!r}"]


@method
def __repr__(self, *, tensor_contents=None):
    if (state.transforms or self._aval.traced.__class__ is tuple) and (text := shown(self)) is not None:
        return text
    a = self._numpy()
    d = self.dtype
    if d.is_floating_point and d.itemsize < 4:
        a = a.astype("float32")
    device = None if self._device.type == "cpu" else str(self._device)
    return format_tensor(a, dtype_name=d.name, suffixes=_suffixes(self), device=device, default_dtype=dtypes.get_default().name)


Tensor.__str__ = __repr__


# --- copying ---------------------------------------------------------------------------------------------------------

@method
def __deepcopy__(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                           "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                           "https://github.com/pytorch/pytorch/pull/103001")
    key = ("storage", id(self._storage))
    if key not in memo:
        from torchish.tensor import Storage
        memo[key] = Storage(self._storage.value)
    new = type(self)._wrap(memo[key], self._aval, self._view)
    if lazy.is_conj(self) or lazy.is_neg(self):
        new = self.detach().clone()
    elif self._view is not None:
        from torchish.tensor import View
        new._view = View(self._view.chain, self._view.strides, self._view.offset)
    new._req, new._device = self._req, self._device
    memo[id(self)] = new
    if self._grad is not None:
        new._grad = _copy.deepcopy(self._grad, memo)
    for k, v in self.__dict__.items():
        if not k.startswith("_"):
            setattr(new, k, _copy.deepcopy(v, memo))
    return new


@method
def __copy__(self):
    new = type(self)._wrap(self._storage, self._aval, self._view)
    new._req, new._device = self.requires_grad, self._device
    return new


def _pickled(obj):
    """A tensor or a storage as a call that reads a file of ours."""
    import io

    from torchish import serialization
    f = io.BytesIO()
    serialization.save(obj, f)
    return serialization._load_from_bytes, (f.getvalue(),)


@method
def __reduce_ex__(self, protocol):
    return _pickled(self.detach().requires_grad_(self.requires_grad) if type(self) is Tensor else self)


storages._Memory.__reduce__ = _pickled


@method
def share_memory_(self):
    return self


@method
def is_shared(self):
    return False


# --- devices, interop ------------------------------------------------------------------------------------------------

@method
def cpu(self, memory_format=None):
    return self.to("cpu")


@method
def cuda(self, device=None, non_blocking=False, memory_format=None):
    return self.to("cuda" if device is None else device)


@method
def __jax_array__(self):
    return self._value.force()


@method
def __dlpack__(self, **kw):
    if lazy.is_conj(self):
        raise BufferError("Can't export tensors with the conjugate bit set")
    return program.to_dlpack(self._value, **kw)


@method
def __dlpack_device__(self):
    return self._value.force().__dlpack_device__()


@method
def __array_wrap__(self, array, context=None, return_scalar=False):
    return creation.from_array(np.asarray(array))


@method
def pin_memory(self, device=None):
    return self


@method
def is_pinned(self, device=None):
    return False


# --- factories of the same kind --------------------------------------------------------------------------------------

def _new(factory):
    def method(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **kw):
        if "size" in kw:
            size = (kw["size"],)
        t = like(factory(*size, dtype=dtype or self.dtype, device=device or self._device), self)
        return t.requires_grad_() if requires_grad else t
    return method


Tensor.new_zeros, Tensor.new_ones, Tensor.new_empty = map(_new, (creation.zeros, creation.ones, creation.empty))


@method
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    t = like(creation.full(size, fill_value, dtype=dtype or self.dtype, device=device or self._device), self)
    return t.requires_grad_() if requires_grad else t


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return creation.tensor(data, dtype=dtype or self.dtype, device=device or self._device, requires_grad=requires_grad)


@method
def new(self, *args, **kw):
    return legacy.constructed(args, self.dtype, **kw)


def _make_subclass(cls, data, require_grad=False):
    """A `cls` instance over `data`'s storage."""
    t = cls._wrap(data._storage, data._aval, data._view)
    if data._counter is not None:
        t._counter = data._counter
    t._device = data._device
    if require_grad:
        if data._aval.dtype.kind not in "fcV":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t._req = True
    return t


Tensor._make_subclass = staticmethod(_make_subclass)


@method
def as_subclass(self, cls):
    return _make_subclass(cls, self, self._req)


def _construct(cls, *args, size=None, data=None, device=None):
    """torch.Tensor(...): sizes or data, in the default dtype."""
    t = legacy.constructed(args, dtypes.get_default(), size, data, device, any_dtype=True)
    return t if cls is Tensor else _make_subclass(cls, t)


Tensor.__new__ = _construct


for _name in ("T", "mT", "H", "mH"):
    setattr(Tensor, _name, property(getattr(viewing, _name)))
Tensor.real = property(viewing.real, lambda self, v: viewing.real(self).copy_(v))
Tensor.imag = property(viewing.imag, lambda self, v: viewing.imag(self).copy_(v))


def _in_place_view(fn):
    """squeeze_, t_ …: the same tensor shown in another shape."""
    def method(self, *args, **kw):
        check_inplace(self, self.requires_grad)
        v = fn(self, *args, **kw)
        self._aval, self._view = v._aval, v._view
        if v._fn is not None:
            self._fn, self._nr, self._req = v._fn, v._nr, False
        self._bump()
        return self
    return method


for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims", "as_strided"):
    setattr(Tensor, _name + "_", _in_place_view(viewing.METHODS[_name]))
