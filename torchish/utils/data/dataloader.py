"""DataLoader."""

import itertools
import math
from typing import Generic, TypeVar

from torchish.utils.data._utils.collate import default_collate, default_convert
from torchish.utils.data._utils.iterators import MultiProcessIterator, SingleProcessIterator
from torchish.utils.data._utils.starting import check_context, check_count, worker_context
from torchish.utils.data._utils.worker import get_worker_info as get_worker_info
from torchish.utils.data.dataset import IterableDataset
from torchish.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)
FIXED = "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"


class _DatasetKind:
    Map, Iterable = 0, 1


class _InfiniteConstantSampler(Sampler):
    """Nothing, again and again: a stream needs no indices."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Batches of a dataset's samples, made in this process or ahead of time in `num_workers` others.

    Workers are fresh processes (`forkserver`, or `spawn` where that is missing or asked for): JAX's threads do not survive a fork.
    So the dataset, `collate_fn` and `worker_init_fn` must be such that they can be pickled, and a script must start its work
    under `if __name__ == "__main__":`. Where that is not so, the loader warns and does the work in this process, in the same
    order, without calling `worker_init_fn`. Shuffling draws the same random numbers as PyTorch, so one seed gives one order in both.
    """

    _ready = False

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                             "multiprocessing, otherwise set prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.num_workers, self.multiprocessing_context = num_workers, multiprocessing_context
        stream = isinstance(dataset, IterableDataset)
        if stream:
            for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if given is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = _InfiniteConstantSampler() if stream else \
                RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.sampler, self.batch_sampler = dataset, batch_size, sampler, batch_sampler
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.timeout, self.worker_init_fn = timeout, worker_init_fn
        self.drop_last, self.generator, self.in_order = drop_last, generator, in_order
        self.persistent_workers = persistent_workers
        self._iterator = None
        self.check_worker_number_rationality()
        self._dataset_kind = _DatasetKind.Iterable if stream else _DatasetKind.Map
        self.collate_fn = collate_fn if collate_fn is not None else default_collate if self._auto_collation else default_convert
        self._IterableDataset_len_called = None
        self._ready = True

    def __setattr__(self, name, value):
        if self._ready and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How worker processes are started: a context of `multiprocessing`, or None."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        self._context = check_context(context, self.num_workers)

    def check_worker_number_rationality(self):
        """Warn of more workers than processors."""
        check_count(self.num_workers)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def _is_stream(self):
        return self._dataset_kind == _DatasetKind.Iterable

    def __iter__(self):
        if self._iterator is not None:
            self._iterator.reset(self)
            return self._iterator
        context = worker_context(self) if self.num_workers else None
        if context is None:
            return SingleProcessIterator(self)
        iterator = MultiProcessIterator(self, context)
        if self.persistent_workers:
            self._iterator = iterator
        return iterator

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        n = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)
