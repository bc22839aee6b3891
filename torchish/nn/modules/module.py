"""Module: the base class of everything with parameters."""

import warnings
from collections import OrderedDict
from types import SimpleNamespace

import torchish as torch
from torchish.api.bind import type_name
from torchish.nn.modules._calls import (
    Calls,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torchish.nn.modules._names import typename
from torchish.nn.modules._state import State, _IncompatibleKeys, _WrappedHook  # noqa: F401
from torchish.nn.parameter import Buffer, Parameter, zero_grads
from torchish.ops.dtypes import given

__all__ = ["Module", "_IncompatibleKeys", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]


# Hooks that run for every module; read from here at every call, so that they can be replaced.
_global_forward_pre_hooks, _global_forward_hooks, _global_backward_pre_hooks, _global_backward_hooks = (OrderedDict() for _ in range(4))
_global_buffer_registration_hooks, _global_module_registration_hooks, _global_parameter_registration_hooks = (
    OrderedDict() for _ in range(3))
_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called = OrderedDict(), OrderedDict()
_global_is_full_backward_hook = None    # whether the backward hooks are full ones


def _indented(text, spaces=2):
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * spaces + line if line.strip() else "" for line in rest])


def _check_name(module, kind, name, table):
    """A name under which something is registered."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if kind != "module" and "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if kind != "module" and name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in table:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f'module name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError('module name can\'t be empty string ""')


def _hooked(hooks, module, name, value):
    for hook in hooks.values():
        new = hook(module, name, value)
        if new is not None:
            value = new
    return value


# PyTorch's signatures of `.to`: what each takes by position
_TO = {"device": ("device", "dtype", "non_blocking", "copy"), "dtype": ("dtype", "non_blocking", "copy"),
       "tensor": ("tensor", "non_blocking", "copy")}
_TO_TEXT = """
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
"""


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory format) of a call of `.to`, in one of its three forms."""
    taken = {"device": (str, int, torch.device, type(None)), "dtype": (torch.dtype, type, type(None)), "tensor": torch.Tensor,
             "non_blocking": bool, "copy": bool, "memory_format": (torch.memory_format, type(None))}
    for first, names in _TO.items():
        call = dict(zip(names, args), **kwargs)
        if len(call) == len(args) + len(kwargs) and call.keys() <= {*names, "memory_format"} and all(
                isinstance(value, taken[name]) for name, value in call.items()) and (first == "device" or call.get(first) is not None):
            break
    else:
        shown = [*map(type_name, args), *(f"{name}={type_name(value)}" for name, value in kwargs.items())]
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(shown)}), but expected one of:{_TO_TEXT}")
    if call.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    device, dtype = call.get("device"), call.get("dtype")
    if first == "tensor":
        device, dtype = call["tensor"].device, call["tensor"].dtype
    return None if device is None else torch.device(device), given(dtype, "to"), call.get("non_blocking", False), call.get("memory_format")


torch._C._nn = SimpleNamespace(_parse_to=_parse_to)     # where code that overrides `.to` finds it


_TABLES = ("_parameters", "_buffers", "_modules")


class Module(Calls, State):
    """Base class of all neural network modules.

    Parameters, buffers and modules assigned as attributes are registered, so that they are found by `parameters()`,
    moved by `to()` and saved by `state_dict()`.
    """

    dump_patches = False
    _version = 1
    training: bool
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if self.call_super_init is False:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # straight into __dict__: __setattr__ needs these tables
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={},
            _is_full_backward_hook=None,
            **{name: OrderedDict() for name in (
                "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
                "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
                "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input):
        """The computation; every subclass defines its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # --- registering --------------------------------------------------------------------------------------------------
    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is not trained; `persistent=False` keeps it out of the state dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = _hooked(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Add a parameter (or None)."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, "parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                            "required)")
        if param.grad_fn:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                             f"To express '{name}' as a function of another Tensor, compute the value in the forward() method.")
        self._parameters[name] = _hooked(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name, module):
        """Add a child module (or None)."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, "module", name, self._modules)
        self._modules[name] = _hooked(_global_module_registration_hooks, self, name, module)

    def register_module(self, name, module):
        """Another name of `add_module`."""
        self.add_module(name, module)

    # --- attributes ---------------------------------------------------------------------------------------------------
    def __getattr__(self, name):
        tables = self.__dict__
        for table in _TABLES:
            found = tables.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        tables = self.__dict__
        params = tables.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
            return
        modules = tables.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            modules[name] = _hooked(_global_module_registration_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = _hooked(_global_module_registration_hooks, self, name, value)
            return
        buffers = tables.get("_buffers")
        if isinstance(value, Buffer) or buffers is not None and name in buffers:
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                                "expected)")
            persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, persistent)
            return
        super().__setattr__(name, value)

    def _forget(self, name, *tables):
        """Drop an attribute of this name, whatever it was, so that another kind can take its place."""
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __setstate__(self, state):
        self.__dict__.update(state)
        # hooks that older pickles do not know
        for name in ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs",
                     "_forward_hooks_always_called", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                     "_load_state_dict_post_hooks", "_backward_pre_hooks"):
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(n for n in names if not n[0].isdigit())

    # --- walking ------------------------------------------------------------------------------------------------------
    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(name, module) of this module and all descendants, each module once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all descendants."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """(name, module) of the direct children, each module once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        """The direct children."""
        for _, child in self.named_children():
            yield child

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for where, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{where}.{name}" if where else name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) pairs."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters, of the descendants too unless `recurse` is False."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, buffer) pairs."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The descendant with a dotted name; "" is this module."""
        module = self
        for step in target.split(".") if target else ():
            if not hasattr(module, step):
                raise AttributeError(f"{module._get_name()} has no attribute `{step}`")
            module = getattr(module, step)
            if not isinstance(module, Module):
                raise AttributeError(f"`{step}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Replace (or, when not strict, add) the descendant with a dotted name."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        where, _, name = target.rpartition(".")
        parent = self.get_submodule(where)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target):
        where, _, name = target.rpartition(".")
        module = self.get_submodule(where)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target):
        """The parameter with a dotted name."""
        _, name, param = self._get_member(target)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target):
        """The buffer with a dotted name."""
        module, name, buffer = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    # --- converting ---------------------------------------------------------------------------------------------------
    def _apply(self, fn, recurse=True):
        """Replace every parameter's, gradient's and buffer's data by `fn` of it; the Parameter objects stay."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            grad = param.grad
            with torch.no_grad():
                param.data = fn(param)
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn):
        """Call `fn` on every descendant and on this module itself, last."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """Move and/or cast in place: `.to(device, dtype)`, `.to(dtype)`, `.to(tensor)`; integers keep their dtype."""
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                f"dtype={dtype}")
            if dtype.is_complex:
                warnings.warn("Complex modules are a new feature under active development whose design may change, and some "
                              "modules might not work as expected when using complex tensors as parameters or buffers. Please "
                              "file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
                              "complex module does not work as expected.", stacklevel=2)

        def convert(t):
            kind = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, kind, non_blocking, memory_format=memory_format)
            return t.to(device, kind, non_blocking)
        return self._apply(convert)

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Cast floating point parameters and buffers to float32."""
        return self._cast(torch.float32)

    def double(self):
        """Cast floating point parameters and buffers to float64."""
        return self._cast(torch.float64)

    def half(self):
        """Cast floating point parameters and buffers to float16."""
        return self._cast(torch.float16)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16."""
        return self._cast(torch.bfloat16)

    def type(self, dst_type):
        """Cast all parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self):
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Move to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """Move without copying the contents."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def share_memory(self):
        """Put the tensors into shared memory."""
        return self._apply(lambda t: t.share_memory_())

    def compile(self, *args, **kwargs):
        """Nothing to do: recorded programs are compiled anyway."""

    def _replicate_for_data_parallel(self):
        """A shallow copy whose parameters are still to be set, as plain tensors."""
        made = self.__new__(type(self))
        made.__dict__ = {**self.__dict__, "_parameters": {}, "_buffers": self._buffers.copy(), "_modules": self._modules.copy(),
                         "_is_replica": True}
        return made

    # --- modes --------------------------------------------------------------------------------------------------------
    def train(self, mode=True):
        """Set training mode on this module and its descendants."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether autograd records operations on the parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Reset the gradients of all parameters."""
        zero_grads(self.parameters(), set_to_none)

    # --- printing -----------------------------------------------------------------------------------------------------
    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses besides the children."""
        return ""

    def __repr__(self):
        text = self.extra_repr()
        extra = text.split("\n") if text else []
        children = [f"({name}): {_indented(repr(child))}" for name, child in self._modules.items()]
        if not extra and not children:
            return f"{self._get_name()}()"
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra + children) + "\n)"
