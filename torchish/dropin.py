"""Make `import torch` mean torchish, for a script and for every library that it imports."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import types

VERSION = "2.13.0"


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata` reports for the distribution "torch"."""

    _files = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n",
        "top_level.txt": "torch\n",
    }

    def read_text(self, filename):
        return self._files.get(filename)

    def locate_file(self, path):
        raise FileNotFoundError(f"{path}: torch is torchish here, and has no files of its own")


# PyTorch's top-level packages, and what stands for them.
_ROOTS = {"torch": "torchish", "functorch": "torchish.functorch"}


class _TorchFinder(importlib.metadata.DistributionFinder, importlib.abc.Loader):
    """Answer for `torch`, `functorch` and everything under them with torchish's own module objects."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        module = _counterpart(fullname)
        if module is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=hasattr(module, "__path__"))
        spec.loader_state = module, module.__spec__
        return spec

    def create_module(self, spec):
        return spec.loader_state[0]

    def exec_module(self, module):
        # The import system has just labelled the module as torch's; it has run already and keeps its own spec.
        module.__spec__ = module.__spec__.loader_state[1]

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):  # noqa: B008
        return [_Distribution()] if context.name in (None, "torch") else []


def _counterpart(fullname):
    """The torchish module that stands for `fullname`, by import or as its parent's attribute; None if there is none."""
    root, dot, rest = fullname.partition(".")
    name = _ROOTS[root] + dot + rest
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    parent, _, child = name.rpartition(".")
    module = getattr(importlib.import_module(parent), child, None)
    return module if isinstance(module, types.ModuleType) else None


def install():
    """Make `import torch` mean torchish in this process; a second call does nothing.

    Raises RuntimeError when PyTorch itself has been imported already: its modules are then in use.
    """
    torchish = importlib.import_module("torchish")
    present = sys.modules.get("torch")
    if present is torchish:
        return
    if present is not None:
        raise RuntimeError(
            "torchish.install() came too late: PyTorch itself has been imported already. "
            "Call it before the first `import torch`, or run the script with `python -m torchish`."
        )
    sys.meta_path.insert(0, _TorchFinder())
    importlib.import_module("torch")
