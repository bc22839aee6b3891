"""One pass over a DataLoader, in this process or with workers."""

import itertools
import multiprocessing
import pickle
import queue
import time
import warnings
from functools import partial

import torchish as torch
from torchish.utils.data._utils.fetch import IndexFetcher, StreamFetcher
from torchish.utils.data._utils.worker import (
    CHECK_INTERVAL,
    End,
    ExceptionWrapper,
    Parcel,
    ProcessName,
    Resume,
    Unready,
    worker_loop,
)


def fetcher_maker(loader):
    """The call that makes a fetcher of the loader's dataset."""
    kind = StreamFetcher if loader._is_stream else IndexFetcher
    return partial(kind, auto_collation=loader._auto_collation, collate_fn=loader.collate_fn, drop_last=loader.drop_last)


def warn_alone(reason):
    """Say that there will be no workers."""
    warnings.warn("DataLoader: workers must be new processes, because JAX's threads do not survive a fork, but this loader cannot be "
                  f"sent to one: {reason}. It works without workers.", stacklevel=4)


class BaseIterator:
    """The indices, the seed and the count of what was handed out."""

    hint = ""

    def __init__(self, loader):
        self._loader = loader
        if loader.pin_memory and not torch.accelerator.is_available():
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                          "used.", stacklevel=3)
        self._indices = iter(loader._index_sampler)
        # PyTorch draws the workers' seed here, with or without workers
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        self._num_yielded = 0

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        told = self._loader._IterableDataset_len_called
        if self._loader._is_stream and told is not None and self._num_yielded > told:
            warnings.warn(f"Length of IterableDataset {self._loader.dataset} was reported to be {told}(when accessing "
                          f"len(dataloader)), but {self._num_yielded} samples have been fetched. {self.hint}", stacklevel=2)
        return data


class SingleProcessIterator(BaseIterator):
    """Everything in this process."""

    def __init__(self, loader):
        super().__init__(loader)
        self._fetcher = fetcher_maker(loader)(loader.dataset)

    def _next_data(self):
        return self._fetcher.fetch(next(self._indices))


class MultiProcessIterator(BaseIterator):
    """Workers compute ahead; batches come in the sampler's order unless the loader's `in_order` is False."""

    hint = ("For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at each "
            "worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")

    def __init__(self, loader, context):
        super().__init__(loader)
        self._make, self._local = fetcher_maker(loader), None
        parcel = Parcel((loader.dataset, loader.worker_init_fn, self._make))
        self._results = context.Queue()
        self._inboxes, self._workers, self._closed = [], [], False
        for i in range(loader.num_workers):
            inbox = context.Queue()
            inbox.cancel_join_thread()
            worker = context.Process(target=worker_loop, daemon=True, name=ProcessName(f"DataLoader worker {i}"), args=(
                parcel, i, loader.num_workers, self._base_seed, inbox, self._results))
            try:
                worker.start()
            except (pickle.PicklingError, AttributeError, TypeError, NotImplementedError) as error:
                # the first one already
                self._closed = True
                self._go_on_alone(f"it cannot be pickled ({error})")
                return
            self._inboxes.append(inbox)
            self._workers.append(worker)
        self._begin()

    def _begin(self):
        self._sent = self._next = self._turn = 0
        self._tasks = {}  # number of a task: [its worker, its index], and the answer as soon as it is there
        self._active = [True] * len(self._workers)
        for _ in range(self._loader.prefetch_factor * len(self._workers)):
            self._give_task()

    def reset(self, loader):
        """The next epoch, with the same workers."""
        self._indices = iter(loader._index_sampler)
        self._num_yielded = 0
        if self._local is not None:
            self._local = self._make(loader.dataset)
            return
        for inbox in self._inboxes:
            inbox.put((Resume, None))
        waiting = len(self._workers)
        while waiting:
            waiting -= self._receive()[0] is Resume
        self._begin()

    def _go_on_alone(self, reason):
        """Workers cannot be: make in this process what they were asked for, and the rest."""
        warn_alone(reason)
        asked = [index for _, index, *_ in getattr(self, "_tasks", {}).values()]
        self._indices = itertools.chain(asked, self._indices)
        self._local = self._make(self._loader.dataset)
        self.close()

    def _give_task(self):
        """The next index to the next worker that is not at its end."""
        n = len(self._workers)
        turns = [i % n for i in range(self._turn, self._turn + n) if self._active[i % n]]
        if not turns:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        self._inboxes[turns[0]].put((self._sent, index))
        self._tasks[self._sent] = [turns[0], index]
        self._turn = turns[0] + 1
        self._sent += 1

    def _receive(self):
        """(number, worker, bytes) of any answer."""
        timeout = self._loader.timeout
        deadline = time.monotonic() + timeout
        while True:
            wait = min(CHECK_INTERVAL, deadline - time.monotonic()) if timeout else CHECK_INTERVAL
            try:
                return self._results.get(timeout=max(wait, 0))
            except queue.Empty:
                # a worker that is not needed any more has ended
                dead = [w.pid for w, active in zip(self._workers, self._active) if active and not w.is_alive()]
            if dead:
                raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly")
            if timeout and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")

    def _next_data(self):
        if self._local is not None:
            return self._local.fetch(next(self._indices))
        while True:
            while self._next < self._sent:
                task = self._tasks.get(self._next)
                if task is not None and (len(task) == 3 or self._active[task[0]]):
                    break
                # handed out already, or of a worker whose stream has ended
                self._tasks.pop(self._next, None)
                self._next += 1
            else:
                if not self._loader.persistent_workers:
                    self.close()
                raise StopIteration
            if len(task) == 3:
                return self._deliver(self._next, task[2])
            number, worker, content = self._receive()
            answer = pickle.loads(content)
            if isinstance(answer, Unready):
                self._go_on_alone(answer.reason)
                return self._local.fetch(next(self._indices))
            if isinstance(answer, End):
                self._retire(worker)
            elif number == self._next or not self._loader.in_order:
                return self._deliver(number, answer)
            else:
                self._tasks[number].append(answer)

    def _deliver(self, number, answer):
        del self._tasks[number]
        self._give_task()
        if isinstance(answer, ExceptionWrapper):
            answer.reraise()
        return answer

    def _retire(self, worker):
        self._active[worker] = False
        if not self._loader.persistent_workers:
            self._inboxes[worker].put(None)
        self._give_task()

    def close(self):
        """End the workers."""
        if self._closed:
            return
        self._closed = True
        for inbox in self._inboxes:
            inbox.put(None)
        for worker in self._workers:
            worker.join(5)
            if worker.is_alive():
                worker.terminate()
                worker.join()
        for pipe in (*self._inboxes, self._results):
            pipe.close()

    def __del__(self):
        if getattr(self, "_workers", None) and multiprocessing.current_process().pid == self._workers[0]._parent_pid:
            self.close()
