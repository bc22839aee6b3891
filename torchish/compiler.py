"""torch.compiler: programs are compiled anyway, so these leave functions as they are."""

from torchish.api.namespace import compile  # noqa: F401


def is_compiling():
    return False


def is_dynamo_compiling():
    return False


def is_exporting():
    return False


def disable(fn=None, recursive=True, *, reason=None):
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn):
    return fn


def assume_constant_result(fn):
    return fn


def reset():
    """Nothing to forget."""


def cudagraph_mark_step_begin():
    """Nothing to mark."""


def list_backends(exclude_tags=("debug", "experimental")):
    return ["xla"]
