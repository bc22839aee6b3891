"""The autograd attributes and methods of Tensor (the tensor floor only carries the slots)."""

import warnings
import weakref
from collections import OrderedDict

from torchish.autograd import gradients
from torchish.autograd import hooks as _hooks
from torchish.autograd.graph import grad_fn_of
from torchish.autograd.modes import state
from torchish.tensor import Tensor

NOT_LEAF_GRAD = ("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                 "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                 "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
                 "leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.")
CHANGE_FLAG = "you can only change requires_grad flags of leaf variables."
DETACH_ADVICE = (" If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
                 "var.detach().")
INFERENCE_FLAG = ("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")


def differentiable(t):
    return t._aval.dtype.kind in "fcV"


def attach(target):
    """Decorator that puts a function or property on Tensor."""
    setattr(Tensor, target.fget.__name__ if isinstance(target, property) else target.__name__, target)
    return target


def _get_requires_grad(self):
    if self._fn is not None or self._req:
        return True
    m = self._meta
    return m is not None and m.base is not self and m.base.requires_grad and differentiable(self)


IN_TRANSFORM = ("You are attempting to call {call} inside of a function being transformed by a functorch transform. This is unsupported, "
                "please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {name} outside of a "
                "function being transformed instead.")


def _set_requires_grad(self, flag=None):
    if not isinstance(flag, bool):
        raise RuntimeError("requires_grad must be a bool")
    if not self.is_leaf:
        if flag:
            raise RuntimeError(CHANGE_FLAG)
        raise RuntimeError(CHANGE_FLAG + DETACH_ADVICE)
    if flag and not differentiable(self):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if flag and self._inference and not state.inference:
        raise RuntimeError(INFERENCE_FLAG)
    self._req = bool(flag)


Tensor.requires_grad = property(_get_requires_grad, _set_requires_grad, _set_requires_grad, doc="Whether gradients flow to or through this tensor.")


@attach
def requires_grad_(self, requires_grad=True):
    """Set the flag; returns self. Accepted on a non-leaf only when it changes nothing."""
    if state.transforms:
        raise RuntimeError(IN_TRANSFORM.format(call="Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)",
                                               name="requires_grad_()"))
    if not self.is_leaf:
        if not requires_grad:
            raise RuntimeError(CHANGE_FLAG + DETACH_ADVICE)
        return self
    if requires_grad and not differentiable(self):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if requires_grad and self._inference and not state.inference:
        raise RuntimeError(INFERENCE_FLAG)
    self._req = bool(requires_grad)
    return self


@attach
@property
def is_leaf(self):
    return (self._fn if self._meta is None else grad_fn_of(self)) is None


@attach
@property
def grad_fn(self):
    return self._fn if self._meta is None else grad_fn_of(self)


@attach
@property
def output_nr(self):
    return self._nr


@attach
@property
def retains_grad(self):
    return self._retains and not self.is_leaf


@attach
def retain_grad(self):
    """Keep this non-leaf's gradient in `.grad` during backward; nothing to do on a leaf."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if state.transforms:
        raise RuntimeError(IN_TRANSFORM.format(call="Tensor.retain_grad()", name="retain_grad()"))
    if self.is_leaf or self._retains:
        return
    node = self.grad_fn
    node.plain = False
    if node.retained is None:
        node.retained = {}
    node.retained[self._nr] = weakref.ref(self)
    self._retains = True


def _get_grad(self):
    g = self._grad
    if g is None and not self._retains and not self.is_leaf:
        warnings.warn(NOT_LEAF_GRAD, UserWarning, stacklevel=2)
    return g


def _set_grad(self, g):
    if g is None:
        self._grad = None
        return
    if not isinstance(g, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(g).__name__}")
    if g is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if g.dtype is not self.dtype:
        raise RuntimeError(f"attempting to assign a gradient with dtype '{_cpp(g.dtype)}' to a tensor with grad_dtype "
                           f"'{self.dtype.legacy}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
                           "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any "
                           "dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
                           "downstream systems that assume they match.")
    if g._aval.shape != self._aval.shape:
        raise RuntimeError(f"attempting to assign a gradient of size '{list(g._aval.shape)}' to a tensor of size "
                           f"'{list(self._aval.shape)}'. Please ensure that the gradient and the tensor are the same size")
    self._grad = g


def _cpp(d):
    return {"float64": "double", "float32": "float", "int64": "long int", "int32": "int"}.get(d.name, d.name)


def _del_grad(self):
    self._grad = None


Tensor.grad = property(_get_grad, _set_grad, _del_grad, doc="The accumulated gradient, or None.")


@attach
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Gradients of this tensor into the leaves' `.grad`."""
    gradients.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@attach
def detach(self):
    """A leaf that shares storage and version counter."""
    if state.below is not None:
        return state.below.detached(self)
    out = Tensor._wrap(self._storage, self._aval, self._view)
    if self._counter is not None:
        out._counter = self._counter
    out._device, out._inference = self._device, self._inference
    return out


@attach
def detach_(self):
    if self._meta is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                           "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                           "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                           "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
    self._fn, self._nr, self._req, self._retains, self._dual = None, 0, False, False, None
    return self


class Counter:
    """A version counter of its own, for `.data`."""

    __slots__ = ("version", "__weakref__")

    def __init__(self):
        self.version = 0


def _get_data(self):
    if self._aval.traced.__class__ is tuple:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")
    return unversioned(self)


def unversioned(t):
    """The same contents outside the graph, with a version counter of its own."""
    out = Tensor._wrap(t._storage, t._aval, t._view)
    out._counter = Counter()
    out._device = t._device
    return out


def _set_data(self, new):
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if self.requires_grad and not differentiable(new):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if self._counter is None:
        counter = Counter()
        counter.version = self._storage.version
        self._counter = counter
    self._storage, self._aval, self._view, self._device = new._storage, new._aval, new._view, new._device
    self._accumulator = None


def _undeletable(text):
    def delete(self):
        raise RuntimeError(text)
    return delete


def _set_history(self, node):
    if node is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    detach_(self)


def _set_hooks(self, hooks):
    self._hooks = hooks


Tensor._grad_fn = property(lambda self: self.grad_fn, _set_history, _undeletable("Deletion of _grad_fn not allowed. Detach tensor instead!"))
Tensor._backward_hooks = property(lambda self: self._hooks, _set_hooks, _undeletable("Deletion of _backwards_hooks not allowed!"))
Tensor.data = property(_get_data, _set_data, _undeletable("Deleting tensor data is not allowed. Delete tensor instead!"),
                       doc="The contents without history: shares storage, not the version counter.")


@attach
def register_hook(self, hook):
    """`hook(grad) -> Tensor or None`, run once a backward on the summed gradient."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = self.grad_fn
    if node is None:
        if self._hooks is None:
            self._hooks = OrderedDict()
        return _hooks.add(self._hooks, hook)
    node.plain = False
    if node.tensor_hooks is None:
        node.tensor_hooks = {}
    return _hooks.add(node.tensor_hooks.setdefault(self._nr, OrderedDict()), hook)


@attach
def register_post_accumulate_grad_hook(self, hook):
    """`hook(leaf)` after its gradient was accumulated."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_hooks is None:
        self._post_hooks = OrderedDict()
    return _hooks.add(self._post_hooks, hook)


@attach
def is_inference(self):
    return self._inference
