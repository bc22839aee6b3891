"""DataLoader."""

import itertools
import math
import warnings
from typing import Generic, TypeVar

import torchish as torch
from torchish.utils.data._utils.collate import default_collate, default_convert
from torchish.utils.data.dataset import IterableDataset, Subset, TensorDataset
from torchish.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)
FIXED = "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"


class _DatasetKind:
    Map, Iterable = 0, 1


class _InfiniteConstantSampler(Sampler):
    """Nothing, again and again: a stream needs no indices."""

    def __iter__(self):
        return itertools.repeat(None)


def get_worker_info():
    """None: there are no worker processes."""
    return None


class DataLoader(Generic[T_co]):
    """Batches of a dataset's samples.

    `num_workers` is accepted, but all work is done in this process, in the same order as worker processes would deliver it;
    `worker_init_fn` is not called. Shuffling draws the same random numbers as PyTorch, so one seed gives one order in both.
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
        if multiprocessing_context is not None and num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                             f"num_workers={num_workers}")
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
        self.num_workers, self.pin_memory, self.pin_memory_device = num_workers, pin_memory, pin_memory_device
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.timeout, self.worker_init_fn, self.multiprocessing_context = timeout, worker_init_fn, multiprocessing_context
        self.drop_last, self.generator, self.in_order = drop_last, generator, in_order
        self.persistent_workers = persistent_workers
        self._dataset_kind = _DatasetKind.Iterable if stream else _DatasetKind.Map
        self.collate_fn = collate_fn if collate_fn is not None else default_collate if self._auto_collation else default_convert
        self._IterableDataset_len_called = None
        self._ready = True

    def __setattr__(self, name, value):
        if self._ready and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self):
        return _Iterator(self)

    def __len__(self):
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        n = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)


class _Iterator:
    """One pass over a DataLoader."""

    def __init__(self, loader):
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        # PyTorch draws the workers' seed here, with or without workers
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        stream = loader._dataset_kind == _DatasetKind.Iterable
        self._samples = iter(loader.dataset) if stream else None
        self._ended = False
        self._num_yielded = 0

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def __next__(self):
        loader = self._loader
        index = next(self._indices)
        data = self._from_stream(index) if self._samples is not None else self._by_index(index)
        self._num_yielded += 1
        told = loader._IterableDataset_len_called
        if self._samples is not None and told is not None and self._num_yielded > told:
            warnings.warn(f"Length of IterableDataset {loader.dataset} was reported to be {told}(when accessing len(dataloader)), "
                          f"but {self._num_yielded} samples have been fetched. ", stacklevel=2)
        return data

    def _from_stream(self, index):
        loader = self._loader
        if self._ended:
            raise StopIteration
        if not loader._auto_collation:
            return loader.collate_fn(next(self._samples))
        batch = list(itertools.islice(self._samples, len(index)))
        self._ended = len(batch) < len(index)
        if not batch or (self._ended and loader.drop_last):
            raise StopIteration
        return loader.collate_fn(batch)

    def _by_index(self, index):
        loader = self._loader
        if not loader._auto_collation:
            return loader.collate_fn(loader.dataset[index])
        if loader.collate_fn is default_collate:
            rows = _gathered(loader.dataset, index)
            if rows is not None:
                return rows
        if callable(getattr(loader.dataset, "__getitems__", None)):
            return loader.collate_fn(loader.dataset.__getitems__(index))
        return loader.collate_fn([loader.dataset[i] for i in index])


def _gathered(dataset, indices):
    """What default_collate makes of a TensorDataset's samples, by one indexing per tensor instead of one per sample."""
    if type(dataset) is Subset:
        return _gathered(dataset.dataset, [dataset.indices[i] for i in indices])
    if type(dataset) is not TensorDataset or any(type(t) is not torch.Tensor or t.requires_grad for t in dataset.tensors):
        return None
    n = len(dataset)
    if not indices or not all(type(i) is int and -n <= i < n for i in indices):
        return None
    at = torch.tensor(indices)
    return [t[at] for t in dataset.tensors]
