"""`python -m torchish script.py args...`: run a script as python would, with `import torch` meaning torchish."""

import builtins
import os
import runpy
import sys
import types
from functools import partial

from torchish.dropin import install

USAGE = """\
usage: python -m torchish script.py [args...]
       python -m torchish -m module [args...]
       python -m torchish -c command [args...]
Run a program with `import torch` meaning torchish."""


def _main_module(**names):
    """A fresh `__main__`, as the interpreter makes one."""
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    vars(module).update(names)
    sys.modules["__main__"] = module
    return vars(module)


def _search_first(folder):
    """Put `folder` where `python -m` has put the working directory."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run_command(source):
    _search_first("")
    exec(compile(source, "<string>", "exec"), _main_module())


def _run_script(path):
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        del sys.path[0]
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.exit(_complain(f"python -m torchish: can't open file {path!r}: [Errno {error.errno}] {error.strerror}"))
    _search_first(os.path.dirname(os.path.realpath(path)))
    exec(compile(source, path, "exec"), _main_module(__file__=path, __cached__=None))


def _complain(text):
    print(text, file=sys.stderr)
    return 2


def _is_ours(traceback):
    file = traceback.tb_frame.f_code.co_filename
    return file == __file__ or file == "<frozen runpy>"


def main(arguments):
    """Run what the command line names; returns the exit status."""
    match arguments:
        case ["-h" | "--help"]:
            print(USAGE)
            return 0
        case ["-c", source, *rest]:
            program = partial(_run_command, source)
            sys.argv[:] = ["-c", *rest]
        case ["-m", name, *rest]:
            program = partial(runpy.run_module, name, run_name="__main__", alter_sys=True)
            sys.argv[:] = [name, *rest]
        case [path, *_] if not path.startswith("-"):
            program = partial(_run_script, path)
            sys.argv[:] = arguments
        case _:
            return _complain(USAGE)
    install()
    try:
        program()
    except Exception as error:
        # The user's traceback starts at the user's first line.
        traceback = error.__traceback__
        while traceback is not None and _is_ours(traceback):
            traceback = traceback.tb_next
        error.__traceback__ = traceback
        if isinstance(error, ImportError) and (error.name or "").startswith("torch"):
            error.add_note("torch is torchish here, which lacks this name; the known gaps are in docs/deviations.md.")
        sys.excepthook(type(error), error, traceback)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
