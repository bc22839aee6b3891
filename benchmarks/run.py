"""PyTorch eager, torchish and hand-written JAX side by side, in interleaved rounds. See docs/performance.md."""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
CASES = ["oscillator", "burgers", "third", "fourth", "classifier", "op"]
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


class Worker:
    """A process that runs one case on one library."""

    def __init__(self, library, case, core):
        command = [sys.executable, HERE / "worker.py", library, case, str(core)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
        )

    def seconds(self, steps):
        """CPU seconds of `steps` steps."""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit(f"benchmark worker failed: {' '.join(map(str, self.process.args[2:]))}")
        return float(answer[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def libraries(case):
    present = ["torch"] if importlib.util.find_spec("torch") else []
    return [*present, "torchish"] + (["jax"] if case != "op" else [])


def measure(case, rounds, seconds, core):
    """Milliseconds a step by library, and torchish's advantage over each of the others (above 1: torchish is quicker)."""
    workers = {name: Worker(name, case, core) for name in libraries(case)}
    unit = 100 if case == "op" else 1
    steps = {}
    for name, worker in workers.items():
        warm = 0.0
        for _ in range(40):     # until what comes back is compiled
            warm += worker.seconds(5 * unit)
            if warm > 4:
                break
        one = worker.seconds(5 * unit) / 5 / unit
        steps[name] = max(unit, int(seconds / max(one, 1e-7) / unit) * unit)
        worker.seconds(steps[name])
    took = {name: [] for name in workers}
    for n in range(rounds):
        for name in list(workers)[:: 1 if n % 2 else -1]:
            took[name].append(1e3 * workers[name].seconds(steps[name]) / steps[name])
    for worker in workers.values():
        worker.close()
    figures = {"ms": {name: median(values) for name, values in took.items()}}
    for name in workers:
        if name != "torchish":
            figures[f"vs {name}"] = median(a / b for a, b in zip(took[name], took["torchish"], strict=True))
    return figures


def measure_start(rounds):
    """Seconds from process start to the first and the third step's loss."""
    figures = {}
    for _ in range(rounds):
        for name in libraries("op"):
            before = time.time()
            done = subprocess.run(
                [sys.executable, HERE / "start.py", name], capture_output=True, text=True, env=ENVIRONMENT, check=True
            )
            figures.setdefault(name, []).append([float(t) - before for t in done.stdout.split()[-2:]])
    return {name: [median(column) for column in zip(*times, strict=True)] for name, times in figures.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join([*CASES, 'start'])} (default: all)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of one library in one round")
    parser.add_argument("--core", type=int, default=max(os.cpu_count() - 1, 0), help="the core to pin to")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    chosen = args.cases or [*CASES, "start"]
    if unknown := set(chosen) - {*CASES, "start"}:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")

    packages = [name for name in ("torch", "torchish", "jax", "jaxlib") if importlib.util.find_spec(name)]
    versions = {name: version(name) for name in packages if name != "torchish"}
    print(f"{platform.machine()}, Python {platform.python_version()}, {versions}, {args.rounds} rounds")
    results = {}
    for case in chosen:
        if case == "start":
            results[case] = measure_start(3)
            for name, (first, third) in results[case].items():
                print(f"start       {name:9}  first step {first:.2f} s, third {third:.2f} s", flush=True)
            continue
        results[case] = figures = measure(case, args.rounds, args.seconds, args.core)
        scale, unit = (1e3, "µs/op") if case == "op" else (1, "ms/step")
        shown = "  ".join(f"{name} {scale * ms:.3f}" for name, ms in figures["ms"].items())
        ratios = "  ".join(f"{key} {value:.2f}x" for key, value in figures.items() if key != "ms")
        print(f"{case:11} {unit}: {shown}   torchish {ratios}", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"versions": versions, "results": results}, indent=1))


if __name__ == "__main__":
    main()
