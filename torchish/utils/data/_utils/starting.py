"""How worker processes are started, and whether they can be."""

import ast
import functools
import multiprocessing
import os
import sys
import warnings
from multiprocessing import forkserver
from multiprocessing.context import BaseContext

from torchish.utils.data._utils.iterators import warn_alone


def check_context(context, num_workers):
    """The `multiprocessing_context` option: None, or a context object."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                         f"num_workers={num_workers}")
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                             f"multiprocessing_context={context!r}")
        context = multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start method, "
                        f"but got multiprocessing_context={context}")
    return context


def check_count(num_workers):
    """Warn of more workers than processors."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if num_workers > most:
        warnings.warn(f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker in "
                      f"current system is {most}, which is smaller than what this DataLoader is going to create. Please be aware "
                      "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to "
                      "avoid potential slowness/freeze if necessary.", stacklevel=3)


def _context(wanted):
    """A context whose processes share no memory with this one."""
    method = wanted.get_start_method() if wanted is not None else multiprocessing.get_start_method(allow_none=True)
    if method not in ("spawn", "forkserver"):
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        wanted = multiprocessing.get_context(method)
    if method == "forkserver" and forkserver._forkserver._preload_modules == ["__main__"]:
        # nothing was chosen by the user: all workers share one import of this library
        wanted.set_forkserver_preload(["torchish"])
    return wanted or multiprocessing.get_context(method)


@functools.cache
def _is_guarded(file):
    """Whether a script asks for its `__name__`: a worker imports it once more."""
    try:
        with open(file, "rb") as f:
            tree = ast.parse(f.read())
    except (OSError, SyntaxError, ValueError):
        return False
    return all(isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)) for node in tree.body) or any(
        isinstance(node, ast.If) and any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
        for node in tree.body)


def worker_context(loader):
    """The context of a loader's workers; None, with a warning, if a new process cannot run what is in this one's script."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    reason = None
    if file is None and "__main__" in {type(loader.dataset).__module__, getattr(loader.collate_fn, "__module__", None)}:
        reason = "it needs objects of an interactive session"
    elif file is not None and not _is_guarded(file):
        reason = f'{os.path.basename(file)} does its work outside of `if __name__ == "__main__":`'
    if reason is None:
        return _context(loader.multiprocessing_context)
    warn_alone(reason)
    return None
