"""From indices to batches: what a loader does in this process, or in each of its workers."""

import itertools

import torchish as torch
from torchish.utils.data._utils.collate import default_collate
from torchish.utils.data.dataset import Subset, TensorDataset


class Fetcher:
    """Makes what one entry of the index sampler asks for."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last


class StreamFetcher(Fetcher):
    """The next samples of an iterable dataset; the index says only how many."""

    def __init__(self, dataset, **options):
        super().__init__(dataset, **options)
        self.samples, self.ended = iter(dataset), False

    def fetch(self, index):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = list(itertools.islice(self.samples, len(index)))
        self.ended = len(batch) < len(index)
        if not batch or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(batch)


class IndexFetcher(Fetcher):
    """The samples at given indices."""

    def fetch(self, index):
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate:
            rows = _gathered(self.dataset, index)
            if rows is not None:
                return rows
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


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
