"""Settings that hold for the length of a `with`."""

import contextlib


@contextlib.contextmanager
def held(owner, **settings):
    """Set attributes of a module, and put the old values back."""
    before = {name: getattr(owner, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(owner, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
