"""The user's lines, for error texts: cheap to remember, dear only to print."""

import linecache
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_inside = {}


def here():
    """(code, instruction) of the nearest frame outside torchish."""
    f = sys._getframe(2)
    while f is not None:
        code = f.f_code
        inside = _inside.get(code)
        if inside is None:
            inside = _inside[code] = code.co_filename.startswith(_PACKAGE) or code.co_filename.startswith("<torchish")
        if not inside:
            return code, f.f_lasti
        f = f.f_back
    return None


def text(place):
    """`file.py:12: source` of a remembered place."""
    if place is None:
        return "an unknown line"
    code, lasti = place
    line = next((p[0] for i, p in enumerate(code.co_positions()) if i == lasti // 2), None) or code.co_firstlineno
    source = linecache.getline(code.co_filename, line).strip()
    return f"{os.path.basename(code.co_filename)}:{line}" + (f": {source}" if source else "")
