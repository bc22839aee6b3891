"""Parameter and Buffer: tensors that a Module registers when they are assigned."""

from collections import OrderedDict

import torchish as torch


class _ParameterMeta(type(torch.Tensor)):
    # a tensor marked by hand with `_is_param` counts as a Parameter
    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and getattr(instance, "_is_param", False) and isinstance(instance, torch.Tensor))




class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter: a leaf, requiring grad unless told otherwise."""

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) is torch.Tensor or isinstance(data, Parameter):
            return torch.Tensor._make_subclass(cls, data, requires_grad)
        # some other subclass keeps its own type and is only marked
        made = data.detach().requires_grad_(requires_grad)
        if type(made) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(made).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation.")
        made._is_param = True
        return made

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        made = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + torch.Tensor.__repr__(self)

    __str__ = __repr__

    def __reduce_ex__(self, proto):
        from torchish._utils import _rebuild_parameter
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


class _BufferMeta(type(torch.Tensor)):
    # torch.Tensor marked by Buffer() itself, which hands the tensor back unchanged in type
    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (
            isinstance(instance, torch.Tensor) and getattr(instance, "_is_buffer", False))


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a module's buffer when it is assigned; not trained."""

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


def is_lazy(param):
    """Whether the parameter still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


def _caster(name, dtype):
    def cast(self):
        return self.to(dtype)
    cast.__name__ = name
    cast.__doc__ = f"The same, to become {dtype}."
    return cast


def _allowed(name):
    """An attribute that is read from an empty tensor of the same dtype."""
    return property(lambda self: getattr(torch.Tensor._wrap(self._storage, self.__dict__["_aval"]), name))


class UninitializedTensorMixin:
    """What parameters and buffers without a shape have in common."""

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes.")

    @property
    def _view(self):
        # every operation asks how it has to read its operands, other functions ask for their shape
        kind = type(self).__name__
        raise ValueError(
            f"Attempted to use an uninitialized parameter in an operation. This error happens when you are using a `LazyModule` "
            f"or explicitly manipulating `torch.nn.parameter.{kind}` objects. When using LazyModules Call `forward` with a dummy "
            "batch to initialize the parameters before calling torch functions")

    @_view.setter
    def _aval(self, aval):
        # where it is found once the class is `cls_to_become`
        self.__dict__["_aval"] = aval

    # what may be asked before there is a shape
    dtype, ndim, size, is_floating_point, is_complex = map(_allowed, ("dtype", "ndim", "size", "is_floating_point", "is_complex"))

    @property
    def data(self):
        return self

    @data.setter
    def data(self, other):
        self._storage, self._aval, self._device = other._storage, vars(other)["_aval"], other._device

    def _made(self, dtype, device):
        return type(self)(self.requires_grad, device, dtype)

    def to(self, *args, **kwargs):
        """Only the device and the dtype can change yet."""
        like = torch.empty(0, dtype=self.dtype, device=self.device).to(*args, **kwargs)
        return self._made(like.dtype, like.device)

    for _name, _dtype in {"half": "float16", "float": "float32", "double": "float64", "char": "int8", "short": "int16",
                          "int": "int32", "long": "int64", "bfloat16": "bfloat16"}.items():
        locals()[_name] = _caster(_name, getattr(torch, _dtype))
    del _name, _dtype

    def cpu(self, memory_format=None):
        """The same on the CPU."""
        return self.to("cpu")

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """The same on a GPU."""
        return self.to("cuda" if device is None else device)

    def copy_(self, other, non_blocking=False):
        """Nothing to copy from another one without a shape."""
        if not is_lazy(other):
            self._aval  # noqa: B018  (raises)
        return self

    def materialize(self, shape, device=None, dtype=None):
        """Give it a shape: from now on it is an ordinary Parameter (or tensor) with unset contents."""
        made = torch.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become
        self.data = made

    def share_memory_(self):
        """Refused: there is nothing to share yet."""
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
                           "before calling `module.share_memory()`.")

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self._made(self.dtype, self.device)
        return memo[id(self)]

    def __reduce_ex__(self, proto):
        return type(self), (self.requires_grad, None, self.dtype)

    def __repr__(self, *, tensor_contents=None):
        return f"<{type(self).__name__}>"

    __str__ = __repr__


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape becomes known at the first forward."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer whose shape becomes known at the first forward."""

    cls_to_become = torch.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        made = torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


def zero_grads(parameters, set_to_none):
    """What `zero_grad` of modules and optimizers does: drop the gradients, or detach them and fill them with zeros."""
    for p in parameters:
        grad = p.grad
        if grad is None:
            continue
        if set_to_none:
            p.grad = None
        else:
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()
