"""The user's lines, for error texts: cheap to remember, dear only to print."""

import linecache
import os
import sys
import traceback

from torchish.autograd.modes import state

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_inside = {}


def _own(code):
    return code.co_filename.startswith((_PACKAGE, "<torchish"))


class Place(tuple):
    """What `here` gives in anomaly mode: with the whole stack of the user's frames as text, and the node whose backward ran."""

    stack = parent = None


def traced():
    """`here`, with the stack."""
    frames = [(f, line) for f, line in traceback.walk_stack(sys._getframe(1)) if not _own(f.f_code)]
    stack = traceback.StackSummary.extract(reversed(frames))
    place = Place((frames[0][0].f_code, frames[0][0].f_lasti))
    place.stack = "".join(stack.format())
    if state.task is not None:
        place.parent = state.task.node
    return place


def nearest():
    """(code, instruction) of the nearest frame outside torchish."""
    f = sys._getframe(2)
    while f is not None:
        code = f.f_code
        inside = _inside.get(code)
        if inside is None:
            inside = _inside[code] = _own(code)
        if not inside:
            return code, f.f_lasti
        f = f.f_back
    return None


here = nearest          # anomaly mode puts `traced` in its place


def text(place):
    """`file.py:12: source` of a remembered place."""
    if place is None:
        return "an unknown line"
    code, lasti = place
    line = next((p[0] for i, p in enumerate(code.co_positions()) if i == lasti // 2), None) or code.co_firstlineno
    source = linecache.getline(code.co_filename, line).strip()
    return f"{os.path.basename(code.co_filename)}:{line}" + (f": {source}" if source else "")
