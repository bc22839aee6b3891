"""Anomaly mode: nan gradients raise, and an error in backward names the forward call that recorded the node."""

import sys
import warnings

from torchish.autograd import where
from torchish.autograd.modes import state

_TEXT = "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."


def _switch(anomaly, check_nan):
    state.anomaly, state.check_nan = bool(anomaly), bool(check_nan)
    where.here = where.traced if anomaly else where.nearest


def detected(node):
    """Warn about the node in which backward failed, and those whose own backward recorded it; never instead of the error itself."""
    start, what = "Error detected in", "caused the error"
    while node is not None:
        stack = getattr(node.place, "stack", None)
        _say(f"{start} {node.name()}. " + (
            "No forward pass information available. Enable detect anomaly during forward pass for more information." if stack is None
            else f"Traceback of forward call that {what}:\n{stack}"))
        node = getattr(node.place, "parent", None)
        start, what = "\n\nPrevious calculation was induced by", "induced the previous calculation"


def _say(text):
    try:
        warnings.warn(text, UserWarning, stacklevel=3)
    except UserWarning:
        print(text, file=sys.stderr)


class set_detect_anomaly:
    """Switch anomaly mode at once; restored at the end of a `with` block."""

    def __init__(self, mode, check_nan=True):
        self.previous = state.anomaly, state.check_nan
        _switch(mode, check_nan)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        _switch(*self.previous)


class detect_anomaly(set_detect_anomaly):
    """Context manager: nan gradients raise, naming the node."""

    def __init__(self, check_nan=True):
        warnings.warn(_TEXT, UserWarning, stacklevel=2)
        self.check_nan, self.previous = check_nan, (state.anomaly, state.check_nan)

    def __enter__(self):
        self.previous = state.anomaly, state.check_nan
        _switch(True, self.check_nan)


def is_anomaly_enabled():
    return state.anomaly


def is_anomaly_check_nan_enabled():
    return state.check_nan
