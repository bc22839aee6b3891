"""torch.overrides: the protocol by which classes take over functions that are given their instances.

torchish's own functions do not ask; code that offers the protocol to its users does with these.
"""

from torchish.tensor import Tensor


def _overloaded(arguments):
    """The arguments whose classes define `__torch_function__`, one of a class, subclasses before their parents."""
    found = []
    for x in arguments:
        kind = type(x)
        if kind is Tensor or not hasattr(kind, "__torch_function__") or any(type(y) is kind for y in found):
            continue
        place = next((i for i, y in enumerate(found) if issubclass(kind, type(y))), len(found))
        found.insert(place, x)
    return found


def has_torch_function(relevant_args):
    """Whether some argument's class defines `__torch_function__`."""
    return bool(_overloaded(relevant_args))


def has_torch_function_unary(argument):
    """`has_torch_function` of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments):
    """`has_torch_function` of separate arguments."""
    return has_torch_function(arguments)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """The result of the first `__torch_function__` that gives one."""
    takers = _overloaded(relevant_args)
    types = tuple(map(type, takers))
    for taker in takers:
        result = taker.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
                    f"__torch_function__: {list(types)}")


def is_tensor_like(inp):
    """Whether it is a tensor or defines `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")
