"""An optimizer on other parameters for a while."""

import contextlib
from collections import defaultdict


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Within, the optimizer works on other parameters (in the order of its own), with the groups and state of a state_dict."""
    own = optimizer.param_groups, optimizer.state
    given = iter(swapin_parameters.values())
    by_number, groups = {}, []
    for group in swapin_optim_state["param_groups"]:
        by_number.update((number, next(given)) for number in group["params"])
        groups.append({**group, "params": [by_number[number] for number in group["params"]]})
    state = defaultdict(dict)
    for key, value in swapin_optim_state["state"].items():
        state[by_number.get(key, key)] = dict(value) if isinstance(value, dict) else value
    optimizer.param_groups, optimizer.state = groups, state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = own
