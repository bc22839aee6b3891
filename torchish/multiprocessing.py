"""torch.multiprocessing: Python's own. Tensors are pickled; JAX asks for the "spawn" start method."""

import multiprocessing as _python
from multiprocessing import *  # noqa: F403  (its names are ours)


def get_all_sharing_strategies():
    return {"file_descriptor"}


def get_sharing_strategy():
    return "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Accepted: tensors travel as copies."""
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"invalid sharing strategy: {new_strategy}")


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run `fn(i, *args)` in `nprocs` fresh processes and wait for them."""
    context = _python.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    if not join:
        return processes
    for i, p in enumerate(processes):
        p.join()
        if p.exitcode:
            raise RuntimeError(f"process {i} terminated with exit code {p.exitcode}")
    return None
