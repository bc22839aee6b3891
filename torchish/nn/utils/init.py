"""Modules without initialisation."""

import inspect

import torchish as torch


def skip_init(module_cls, *args, **kwargs):
    """The module with unset parameters; nothing is drawn from the random generator."""
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    # whatever the constructor draws is forgotten: the generator goes on as if nothing had been drawn
    state = torch.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        torch.set_rng_state(state)
