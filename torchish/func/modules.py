"""Modules as functions of their parameters."""

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


def stack_module_state(models):
    """(parameters, buffers) of modules of one class, stacked under each name."""
    from torchish import stack
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tensors):
        new = stack(list(tensors)).detach()
        return new.requires_grad_(tensors[0].requires_grad)

    parameters = {n: stacked([dict(m.named_parameters())[n] for m in models]) for n, _ in models[0].named_parameters()}
    buffers = {n: stacked([dict(m.named_buffers())[n] for m in models]) for n, _ in models[0].named_buffers()}
    return parameters, buffers
