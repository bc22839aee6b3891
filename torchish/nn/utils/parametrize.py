"""Parametrizations: a parameter or buffer computed from others by a module."""

import contextlib
import copy

import torchish as torch
from torchish.nn.modules.container import ModuleDict, ModuleList
from torchish.nn.parameter import Parameter

_cache_depth = 0
_cache = {}


@contextlib.contextmanager
def cached():
    """Inside this context a parametrized tensor is computed once."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _same(old, new, what, before, after):
    """Refuse another shape or dtype."""
    for attribute in ("dtype", "shape"):
        a, b = getattr(old, attribute), getattr(new, attribute)
        if a != b:
            raise ValueError(what.format(attribute) + f"\n{before}{attribute}: {a}\n{after}{attribute}: {b}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order to `original` (or to original0, original1, …)."""

    def __init__(self, modules, original, unsafe=False):
        if not len(modules):
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with torch.no_grad():
            new = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    new = self._inverted(module, new)
        self.is_tensor = isinstance(new, torch.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                                 f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}")
            # the same object stays, so that an optimizer that holds it goes on working
            with torch.no_grad():
                original.set_(new)
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, torch.Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                                     f"{i} of the sequence with type {type(part).__name__}.")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            made = self()
            if not isinstance(made, torch.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            _same(original, made, "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is "
                                  "enabled.", "unparametrized ", "parametrized ")

    @staticmethod
    def _inverted(module, value):
        try:
            value = module.right_inverse(value)
        except NotImplementedError:
            return value
        if not isinstance(value, (torch.Tensor, list, tuple)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{type(value).__name__}")
        return value

    def right_inverse(self, value):
        """Set the originals so that the parametrized tensor becomes `value`."""
        with torch.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, torch.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError("The tensor returned by `right_inverse` has dtype "
                                     f"{value.dtype} while `original` has dtype {self.original.dtype}")
                self.original.set_(value)
                return
            if len(value) != self.ntensors:
                raise ValueError("'right_inverse' must return a sequence of tensors of length "
                                 f"{self.ntensors}. Got a sequence of length {len(value)}.")
            for i, part in enumerate(value):
                getattr(self, f"original{i}").set_(part)

    def forward(self):
        x = self[0](*([self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]))
        for i in range(1, len(self)):
            x = self[i](x)
        return x


def _parametrized_class(module):
    """Give the module a class of its own, which can hold properties."""
    base = type(module)

    def refuse(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                           "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                           "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")

    def deepcopy(self, memo):
        made = memo.get(id(self))
        if made is None:
            memo[id(self)] = made = object.__new__(type(self))
            made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made
    members = {"__getstate__": refuse, "parametrized_from": base}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), {**members, "__module__": __name__})


def _add_property(module, name):
    def get(self):
        if not _cache_depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def assign(self, value):
        self.parametrizations[name].right_inverse(value)
    setattr(type(module), name, property(get, assign))


def is_parametrized(module, tensor_name=None):
    """Whether the module, or the named tensor of it, is parametrized."""
    lists = getattr(module, "parametrizations", None)
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def _append(module, name, parametrization, unsafe):
    """A further parametrization of a tensor that has one."""
    with torch.no_grad():
        if not unsafe:
            now = getattr(module, name)
            made = parametrization(now)
            if not isinstance(made, torch.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            _same(now, made, "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is "
                             "enabled.", f"module.{name}.", f"parametrization(module.{name}).")
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(made)
                except NotImplementedError:
                    back = now
                if not isinstance(back, torch.Tensor):
                    raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
                _same(now, back, "The tensor returned by parametrization.right_inverse must have the same {} as the tensor.",
                      f"module.{name}.", "returned ")
    module.parametrizations[name].append(parametrization)
    module.parametrizations[name].unsafe |= unsafe


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From now on `module.tensor_name` is `parametrization(original)`; `right_inverse`, if defined, makes it assignable."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _parametrized_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make the tensor an ordinary one again: its present value, or (leave_parametrized=False) the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if held.is_tensor:
        original = held.original
        if leave_parametrized:
            with torch.no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).parametrized_from
    return module


def type_before_parametrizations(module):
    """The module's class without what parametrizations added."""
    return type(module).parametrized_from if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give the parametrizations of one module (of one tensor, or of all) and their originals to another one too."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        held = from_module.parametrizations[name]
        for parametrization in held:
            register_parametrization(to_module, name, parametrization)
        for part in ["original"] if held.is_tensor else [f"original{i}" for i in range(held.ntensors)]:
            setattr(to_module.parametrizations[name], part, getattr(held, part))
    return to_module
