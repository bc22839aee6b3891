"""Modules split into a function and tuples of their tensors: what torch.func.functional_call has replaced."""

import copy

from torchish import nn
from torchish.func.modules import check_ensemble
from torchish.nn.utils.stateless import _functional_call


def _named(members):
    """(first name -> tensor, first name -> all names of that tensor)."""
    tensors, names, first = {}, {}, {}
    for name, t in members:
        if t is None:
            continue
        key = first.setdefault(id(t), name)
        tensors.setdefault(key, t)
        names.setdefault(key, []).append(name)
    return tensors, names


def _split(model, disable_autograd_tracking):
    """(a copy of the model, (copies of its parameters, their names), the same of its buffers)."""
    model = copy.deepcopy(model)
    params, buffers = _named(model.named_parameters(remove_duplicate=False)), _named(model.named_buffers(remove_duplicate=False))
    if disable_autograd_tracking:
        for p in params[0].values():
            p.requires_grad_(False)
    return model, params, buffers


def _call(model, names, tensors, args, kwargs):
    """`model` with each tensor under all of its names."""
    spread = {name: t for group, t in zip(names.values(), tensors) for name in group}
    return _functional_call(model, spread, args, kwargs, tie_weights=False)


class FunctionalModuleWithBuffers(nn.Module):
    """A module called with its parameters and buffers: `fmodel(params, buffers, *args)`."""

    def __init__(self, stateless_model, param_names, buffer_names, param_names_map, buffer_names_map):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names, self.all_names_map = param_names, buffer_names, {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        """(the function, parameters, buffers): copies, in the order of the model's names."""
        bare, (params, names), (buffers, buffer_names) = _split(model, disable_autograd_tracking)
        fmodel = FunctionalModuleWithBuffers(bare, tuple(params), tuple(buffers), names, buffer_names)
        return fmodel, tuple(params.values()), tuple(buffers.values())

    def forward(self, params, buffers, *args, **kwargs):
        return _call(self.stateless_model, self.all_names_map, (*params, *buffers), args, kwargs)


class FunctionalModule(nn.Module):
    """A module without buffers called with its parameters: `fmodel(params, *args)`."""

    def __init__(self, stateless_model, param_names, names_map):
        super().__init__()
        self.stateless_model, self.param_names, self.names_map = stateless_model, param_names, names_map

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        """(the function, parameters): copies, in the order of the model's names."""
        bare, (params, names), _ = _split(model, disable_autograd_tracking)
        return FunctionalModule(bare, tuple(params), names), tuple(params.values())

    def forward(self, params, *args, **kwargs):
        return _call(self.stateless_model, self.names_map, params, args, kwargs)


def make_functional(model, disable_autograd_tracking=False):
    """(function of (params, *args), params) of a model without buffers."""
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(function of (params, buffers, *args), params, buffers) of a model."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def _stacked(columns):
    from torchish import stack
    return tuple(stack(column).detach() for column in zip(*columns))


def combine_state_for_ensemble(models):
    """(function, params, buffers) of models of one class; every tensor is stacked, for a vmap over the models."""
    check_ensemble("combine_state_for_ensemble", models)
    functions, params, buffers = zip(*map(make_functional_with_buffers, models))
    return functions[0], _stacked(params), _stacked(buffers)
