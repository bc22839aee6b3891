"""The worker processes of a DataLoader: what runs in them, and how errors and batches come back."""

import dataclasses
import io
import multiprocessing
import pickle
import queue
import random
import sys
import traceback
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

import torchish as torch

CHECK_INTERVAL = 1.0  # seconds between looks at whether the other side is still alive


@dataclasses.dataclass
class WorkerInfo:
    """What `get_worker_info()` tells in a worker process; read-only."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __setattr__(self, name, value):
        if name in self.__dict__:
            raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")
        super().__setattr__(name, value)


_worker_info = None


def get_worker_info():
    """Which worker this process is, as an object with `id`, `num_workers`, `seed` and `dataset`; None in the main process."""
    return _worker_info


class _Text(str):
    """A KeyError shows this as it is, with its line breaks."""

    __repr__ = str.__str__


class ExceptionWrapper:
    """An exception on its way to another process: its class, and its traceback as text."""

    def __init__(self, error, where):
        self.kind, self.where = type(error), where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self):
        """Raise the exception again, with a text that says where it came from."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            text = _Text(text)
        try:
            error = self.kind(message=text) if getattr(self.kind, "message", None) else self.kind(text)
        except Exception:
            # the class wants other arguments
            raise RuntimeError(text) from None
        raise error


class End:
    """A worker's stream is used up."""


class Unready:
    """A worker could not read what it was started with, and why."""

    def __init__(self, reason):
        self.reason = reason


class Parcel:
    """The dataset and the functions of a loader on their way to a worker, which opens them itself: `content`, or Unready."""

    def __init__(self, content):
        self.content = content

    def __reduce__(self):
        return _opened, (ForkingPickler.dumps(self.content).tobytes(),)


def _opened(data):
    try:
        return Parcel(pickle.loads(data))
    except Exception as error:
        return Parcel(Unready(f"{type(error).__name__}: {error}"))


class Resume:
    """Begin the next epoch; also the worker's answer."""


# -- tensors between processes ----------------------------------------------------------------------------------------

def _from_numpy(array):
    return torch.tensor(array)


class _Pickler(ForkingPickler):
    """Tensors travel as arrays where their dtype is one of numpy's."""

    def reducer_override(self, obj):
        if type(obj) is torch.Tensor and not obj.requires_grad and obj.device.type == "cpu" \
                and np.dtype(obj.dtype.np).kind in "biufc":
            return _from_numpy, (np.array(obj),)
        return NotImplemented


def packed(obj):
    """The object as bytes."""
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
    return buffer.getvalue()


# -- the loop ---------------------------------------------------------------------------------------------------------

def _generate_state(base_seed, worker_id):
    """Four words that seed numpy's generator in a worker."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(x) for x in np.random.SeedSequence(words).generate_state(4)]


def _set_up(content, worker_id, num_workers, base_seed):
    """Seeds, WorkerInfo and the user's function; returns what makes the fetcher."""
    global _worker_info
    torch.set_num_threads(1)
    random.seed(base_seed + worker_id)
    torch.manual_seed(base_seed + worker_id)
    np.random.seed(_generate_state(base_seed, worker_id))
    dataset, init_fn, make = content
    _worker_info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, dataset)
    if init_fn is not None:
        init_fn(worker_id)
    return lambda: make(dataset)


def _tasks(inbox):
    """Tasks until the loader is done or gone."""
    loader = multiprocessing.parent_process()
    while True:
        try:
            task = inbox.get(timeout=CHECK_INTERVAL)
        except queue.Empty:
            if not loader.is_alive():
                return
            continue
        if task is None:
            return
        yield task


def worker_loop(parcel, worker_id, num_workers, base_seed, inbox, results):
    """Answer every task (number, index) with (number, worker, bytes of the batch) until None comes."""
    where = f"in DataLoader worker process {worker_id}"
    fetcher, failure = None, None
    if isinstance(parcel.content, Unready):
        results.put((None, worker_id, packed(parcel.content)))
        results.close()
        return
    try:
        make = _set_up(parcel.content, worker_id, num_workers, base_seed)
        fetcher = make()
    except Exception as error:
        failure = ExceptionWrapper(error, where)
    for number, index in _tasks(inbox):
        if number is Resume:
            results.put((Resume, worker_id, b""))
            fetcher = fetcher and make()
            continue
        try:
            answer, failure = failure or fetcher.fetch(index), None
            content = packed(answer)
        except Exception as error:
            over = isinstance(error, StopIteration) and hasattr(fetcher, "ended")
            content = packed(End() if over else ExceptionWrapper(error, where))
        results.put((number, worker_id, content))
    # nobody reads what is left
    results.cancel_join_thread()


# -- starting ---------------------------------------------------------------------------------------------------------

def _named(name, as_torch):
    if as_torch:
        from torchish.dropin import install
        install()
    return name


class ProcessName(str):
    """A process's name. It is the first thing that a new process reads, so that `import torch` means there what it means here."""

    def __reduce__(self):
        return _named, (str(self), sys.modules.get("torch") is torch)
