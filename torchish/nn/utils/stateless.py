"""functional_call: a module run with other tensors in the place of its parameters and buffers."""

import contextlib
import warnings


def _owner(module, name):
    path, _, last = name.rpartition(".")
    return module.get_submodule(path), last


def _tied(module, names):
    """Every name under which the named tensors stand in the module."""
    places = {}
    for kind in (module.named_parameters, module.named_buffers):
        for name, tensor in kind(remove_duplicate=False):
            places.setdefault(id(tensor), []).append(name)
    groups = {name: group for group in places.values() for name in group}
    return {name: groups.get(name, [name]) for name in names}


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    """The module with these tensors in its slots; the old ones come back at the end."""
    known = {n for n, _ in module.named_parameters(remove_duplicate=False)} | {
        n for n, _ in module.named_buffers(remove_duplicate=False)}
    if strict and (known != parameters_and_buffers.keys()):
        missing, unexpected = sorted(known - parameters_and_buffers.keys()), sorted(parameters_and_buffers.keys() - known)
        texts = [f"{kind} key(s): {', '.join(map(repr, keys))}." for kind, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys]
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(texts))
    given = dict(parameters_and_buffers)
    if tie_weights:
        for name, group in _tied(module, parameters_and_buffers).items():
            for other in group:
                given.setdefault(other, parameters_and_buffers[name])
    swapped = []
    try:
        for name, tensor in given.items():
            if name in known:
                swapped.append(_swap(module, name, tensor))
        yield
    finally:
        for slots, key, old, name in reversed(swapped):
            given_back = slots[key]
            slots[key] = old
            if name in parameters_and_buffers and isinstance(parameters_and_buffers, dict):
                parameters_and_buffers[name] = given_back   # a buffer that forward rebound stays with the caller


def _swap(module, name, tensor):
    owner, key = _owner(module, name)
    slots = owner._parameters if key in owner._parameters else owner._buffers
    old, slots[key] = slots[key], tensor
    return slots, key, old, name


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """The old home of torch.func.functional_call."""
    warnings.warn("This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please use "
                  "torch.func.functional_call instead which is a drop-in replacement for this API.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
