"""Modules that only keep their arguments."""

from torchish.nn.modules.module import Module


class Held(Module):
    """A module without parameters: its arguments become attributes, some of which are shown."""

    _shows = ()  # shown as name=value

    def __init__(self, **held):
        super().__init__()
        for name, value in held.items():
            setattr(self, name, value)

    def extra_repr(self):
        shown = [f"{name}={getattr(self, name)!r}" for name in self._shows]
        if "inplace" not in self._shows and getattr(self, "inplace", False):
            shown.append("inplace=True")
        return ", ".join(shown)
