"""Anomaly mode."""

import warnings

from torchish.autograd.modes import state

_TEXT = "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."


class set_detect_anomaly:
    """Switch anomaly mode at once; restored at the end of a `with` block."""

    def __init__(self, mode, check_nan=True):
        self.previous = state.anomaly, state.check_nan
        state.anomaly, state.check_nan = bool(mode), bool(check_nan)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        state.anomaly, state.check_nan = self.previous


class detect_anomaly(set_detect_anomaly):
    """Context manager: nan gradients raise, naming the node."""

    def __init__(self, check_nan=True):
        warnings.warn(_TEXT, UserWarning, stacklevel=2)
        self.check_nan, self.previous = check_nan, (state.anomaly, state.check_nan)

    def __enter__(self):
        self.previous = state.anomaly, state.check_nan
        state.anomaly, state.check_nan = True, self.check_nan


def is_anomaly_enabled():
    return state.anomaly


def is_anomaly_check_nan_enabled():
    return state.check_nan
