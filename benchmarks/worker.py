"""One library in one pinned process: reads how many steps to run, answers with the CPU seconds they took."""

import importlib
import os
import sys
import time


def main(library, case, core):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    import cases

    if library == "jax":
        steps = cases.jax_steps_of(case)
    else:
        torch = importlib.import_module(library)
        if library == "torch":
            torch.set_num_threads(1)
        steps = cases.ops_of(torch) if case == "op" else cases.steps_of(case, torch)
    for line in sys.stdin:
        before = time.process_time()
        loss = steps(int(line))
        print(time.process_time() - before, loss, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
