"""DataLoader with worker processes: order, seeds, errors; samplers and splits that draw PyTorch's numbers."""

import importlib
import multiprocessing
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest
from checks import raises, warnings_of


class Numbers:
    """Six samples; `fault` happens at the fourth."""

    def __init__(self, fault=None):
        self.fault = fault

    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 3 and self.fault == "exit":
            os._exit(1)
        if i == 3 and self.fault == "sleep":
            time.sleep(60)
        if i == 3 and self.fault is not None:
            raise self.fault("boom")
        return i


class TwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


class NeedsTwo:
    def __len__(self):
        return 1

    def __getitem__(self, i):
        raise TwoArguments("a", "b")


class Seeds:
    """What a worker knows, and its random numbers."""

    def __init__(self, library):
        self.library = library

    def __len__(self):
        return 2

    def __getitem__(self, i):
        torch = importlib.import_module(self.library)
        info = torch.utils.data.get_worker_info()
        return info.id, info.num_workers, info.seed, random.random(), torch.rand(()).item(), float(np.random.rand())


class Process:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return os.getpid()


class Structured:
    """Samples of all kinds."""

    def __init__(self, library):
        self.library = library

    def __len__(self):
        return 2

    def __getitem__(self, i):
        torch = importlib.import_module(self.library)
        return {"t": torch.full((2,), float(i)), "b": torch.ones(1, dtype=torch.bfloat16), "n": np.arange(2), "s": "x", "f": 0.5,
                "l": (i, [True])}


class Counter:
    def __init__(self):
        self.count = multiprocessing.get_context("spawn").Value("i", 0)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        with self.count.get_lock():
            self.count.value += 1
        return i


def stream(torch, length=None):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

        if length is not None:
            def __len__(self):
                return length

    return Stream()


def failing_start(worker):
    raise ValueError(f"no {worker}")


def listed(batches):
    return [b.tolist() for b in batches]


def test_batches_come_in_order(torch):
    loader = torch.utils.data.DataLoader(Numbers(), 2, num_workers=2)
    assert listed(loader) == [[0, 1], [2, 3], [4, 5]] and listed(loader) == [[0, 1], [2, 3], [4, 5]]


def test_work_is_done_in_other_processes(torch):
    pids = {p for batch in torch.utils.data.DataLoader(Process(), 1, num_workers=2) for p in batch.tolist()}
    assert len(pids) == 2 and os.getpid() not in pids


def test_workers_have_pytorchs_seeds(torch, backend, recorded):
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Seeds(backend), 1, num_workers=2)
    recorded([[float(x) for x in batch] for batch in loader])


@pytest.mark.parametrize("workers", [0, 2])
def test_one_seed_one_order(torch, recorded, workers):
    torch.manual_seed(3)
    loader = torch.utils.data.DataLoader(Numbers(), 2, shuffle=True, num_workers=workers)
    first = listed(loader)
    recorded([first, listed(loader)])


def test_batches_of_all_kinds(torch, backend):
    (batch,) = torch.utils.data.DataLoader(Structured(backend), 2, num_workers=1)
    assert batch["t"].tolist() == [[0.0, 0.0], [1.0, 1.0]] and batch["b"].dtype is torch.bfloat16
    assert batch["n"].dtype is torch.int64 and batch["s"] == ["x", "x"] and batch["f"].dtype is torch.float64
    assert batch["l"][0].tolist() == [0, 1] and batch["l"][1][0].tolist() == [True, True]


@pytest.mark.parametrize("fault", [ValueError, KeyError])
def test_errors_reach_the_loader(torch, fault):
    loader = iter(torch.utils.data.DataLoader(Numbers(fault), 2, num_workers=2))
    assert next(loader).tolist() == [0, 1]
    with raises(fault, f"Caught {fault.__name__} in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n"):
        next(loader)
    assert next(loader).tolist() == [4, 5]


def test_an_error_that_cannot_be_made_again(torch):
    with raises(RuntimeError, "Caught TwoArguments in DataLoader worker process 0."):
        next(iter(torch.utils.data.DataLoader(NeedsTwo(), 1, num_workers=1)))


def test_a_failing_worker_init_fn(torch):
    with raises(ValueError, "Caught ValueError in DataLoader worker process 0."):
        list(torch.utils.data.DataLoader(Numbers(), 2, num_workers=1, worker_init_fn=failing_start))


def test_a_worker_that_dies(torch):
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(torch.utils.data.DataLoader(Numbers("exit"), 2, num_workers=2))


def test_timeouts(torch):
    with raises(RuntimeError, "DataLoader timed out after 4 seconds"):
        list(torch.utils.data.DataLoader(Numbers("sleep"), 2, num_workers=2, timeout=4))


def test_workers_that_persist(torch):
    loader = torch.utils.data.DataLoader(Process(), 2, num_workers=1, persistent_workers=True)
    pids = {p for _ in range(2) for batch in loader for p in batch.tolist()}
    assert len(pids) == 1
    iterator = iter(loader)
    next(iterator)
    assert len(listed(loader)) == 2  # an epoch that was left in the middle


def test_locks_and_values_are_shared(torch):
    counter = Counter()
    list(torch.utils.data.DataLoader(counter, 2, num_workers=2, multiprocessing_context="spawn"))
    assert counter.count.value == 4


def test_streams(torch):
    Loader = torch.utils.data.DataLoader
    assert listed(Loader(stream(torch), 2)) == [[0, 1], [2, 3], [4]] and listed(Loader(stream(torch), 2, drop_last=True)) == [[0, 1], [2, 3]]
    loader = Loader(stream(torch, 4), 1)
    assert len(loader) == 4
    assert warnings_of(lambda: list(loader))[0][1].endswith("was reported to be 4(when accessing len(dataloader)), but 5 samples have "
                                                            "been fetched. ")


REFUSED = {
    "workers": ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
    "timeout": ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    "prefetch": ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in multiprocessing."),
    "persistent": ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
    "method": ({"num_workers": 1, "multiprocessing_context": "nope"}, ValueError,
               "multiprocessing_context option should specify a valid start method in ['fork', 'spawn', 'forkserver'], but got "
               "multiprocessing_context='nope'"),
    "context": ({"num_workers": 1, "multiprocessing_context": 3}, TypeError, "multiprocessing_context option should be a valid context "
                "object or a string specifying the start method, but got multiprocessing_context=3"),
    "context_alone": ({"multiprocessing_context": "spawn"}, ValueError,
                      "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_refused_arguments(torch, which):
    options, kind, text = REFUSED[which]
    with raises(kind, text):
        torch.utils.data.DataLoader(Numbers(), 2, **options)


def test_warnings(torch):
    Loader = torch.utils.data.DataLoader
    assert warnings_of(lambda: Loader(Numbers(), num_workers=5000))[0][1].startswith("This DataLoader will create 5000 worker processes")
    if not torch.cuda.is_available():
        assert warnings_of(lambda: list(Loader(Numbers(), 2, pin_memory=True))) == [
            ["UserWarning", "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."]]


def test_samplers_draw_pytorchs_numbers(torch, recorded):
    D = torch.utils.data
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(5)
    recorded([list(D.RandomSampler(range(7))), list(D.RandomSampler(range(5), replacement=True, num_samples=40, generator=generator)),
              list(D.RandomSampler(range(4), num_samples=9)), list(D.SubsetRandomSampler([3, 1, 4], generator=generator)),
              list(D.WeightedRandomSampler([0.1, 5.0, 1.0], 6, generator=generator)),
              list(D.WeightedRandomSampler([0.1, 5.0, 1.0], 2, replacement=False, generator=generator)),
              list(D.BatchSampler(D.RandomSampler(range(5), generator=generator), 2, drop_last=True)),
              list(D.DistributedSampler(range(7), num_replicas=2, rank=1, seed=3)),
              [list(s) for s in D.random_split(range(10), [0.3, 0.3, 0.4], generator=generator)],
              [list(s) for s in D.random_split(range(5), [2, 3])]])


def test_a_loader_that_cannot_be_sent_works_alone():
    import torchish
    loader = torchish.utils.data.DataLoader(Numbers(), 2, num_workers=2, collate_fn=lambda samples: samples)
    with pytest.warns(UserWarning, match="It works without workers"):
        assert list(loader) == [[0, 1], [2, 3], [4, 5]]


def test_a_script_without_a_guard_works_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
                      "print([b[0].tolist() for b in DataLoader(TensorDataset(torch.arange(3)), 2, num_workers=2)])\n")
    done = subprocess.run([sys.executable, "-m", "torchish", str(script)], capture_output=True, text=True, timeout=200)
    assert done.stdout == "[[0, 1], [2]]\n" and "script.py does its work outside of" in done.stderr


def test_torch_means_torchish_in_workers_too(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch\nfrom torch.utils.data import DataLoader\n"
                      "class Names:\n    def __len__(self): return 2\n    def __getitem__(self, i): return torch.__name__\n"
                      "if __name__ == '__main__':\n    print(list(DataLoader(Names(), num_workers=1)))\n")
    done = subprocess.run([sys.executable, "-m", "torchish", str(script)], capture_output=True, text=True, timeout=200)
    assert done.stdout == "[['torchish'], ['torchish']]\n", done.stderr


def test_the_context_of_workers_is_set_later(torch):
    loader = torch.utils.data.DataLoader([1, 2, 3], num_workers=1)
    assert loader.multiprocessing_context is None
    loader.multiprocessing_context = "spawn"
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    with raises(ValueError, "multiprocessing_context option should specify a valid start method in "):
        loader.multiprocessing_context = "x"
    with raises(ValueError, "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"):
        torch.utils.data.DataLoader([1, 2, 3]).multiprocessing_context = "spawn"
