"""Counters of the program floor."""

import dataclasses


@dataclasses.dataclass
class Stats:
    """What ran so far: `programs` = flushed programs, `hot`/`cold` = how, `compiles` = executables made by XLA,
    `inferred` = operation signatures traced, `storms` = structures kept cold because only shapes differ."""

    programs: int = 0
    hot: int = 0
    cold: int = 0
    compiles: int = 0
    hot_compiles: int = 0
    inferred: int = 0
    storms: int = 0


counters = Stats()


def stats():
    """A snapshot of the counters as a dict."""
    return dataclasses.asdict(counters)
