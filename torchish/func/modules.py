"""Modules as functions of their parameters."""

import functools

from torchish.autograd.modes import state, transformed
from torchish.nn.utils.stateless import _functional_call


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """`module(*args, **kwargs)` with the given tensors in the place of its parameters and buffers."""
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, (list, tuple)):
            raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}")
        if not all(isinstance(d, dict) for d in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        merged = {}
        for d in given:
            for key in d:
                if key in merged:
                    raise ValueError(f"{key} appears in multiple dictionaries; behavior of functional call is ambiguous")
            merged.update(d)
        given = merged
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def check_ensemble(caller, models):
    """Refuse models that can't be stacked."""
    if not models:
        raise RuntimeError(f"{caller}: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError(f"{caller}: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError(f"{caller}: Expected all models to be of the same class.")


def stack_module_state(models):
    """(parameters, buffers) of modules of one class, stacked under each name."""
    from torchish import stack
    check_ensemble("stack_module_state", models)

    def stacked(name, tensors):
        if any(t.requires_grad != tensors[0].requires_grad for t in tensors):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        return stack(tensors).detach().requires_grad_(tensors[0].requires_grad)

    def all_stacked(named):
        each = [dict(named(m)) for m in models]
        return {name: stacked(name, [tensors[name] for tensors in each]) for name in each[0]}

    return all_stacked(lambda m: m.named_parameters()), all_stacked(lambda m: m.named_buffers())


def replace_all_batch_norm_modules_(root):
    """Every batch norm under `root` (changed in place) keeps no running statistics any more, so that nothing is written under vmap."""
    from torchish.nn.modules.batchnorm import _BatchNorm
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


_REMOVE = """functionalize(f, remove='mutations'): received invalid argument for remove={}. Valid options are:
     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their out-of-place equivalents.
     remove='mutations_and_views': In addition to the above, all aliasing operators {{view}} will be replaced with their non-aliasing \
counterparts, {{view}}_copy.
"""


def functionalize(func, *, remove="mutations"):
    """`func` without mutation in what is computed: true of every function here, since a write is recorded as a new value."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(_REMOVE.format(remove))

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with transformed((*state.transforms, remove)):
            return func(*args, **kwargs)
    return wrapped
