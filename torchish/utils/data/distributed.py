"""A sampler for several processes."""

import math

import torchish as torch
from torchish.utils.data.sampler import Sampler


class DistributedSampler(Sampler):
    """The share of one process in a dataset."""

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        # there is one process here unless the caller says otherwise
        self.num_replicas = 1 if num_replicas is None else num_replicas
        self.rank = 0 if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.dataset, self.epoch, self.drop_last, self.shuffle, self.seed = dataset, 0, drop_last, shuffle, seed
        n = len(dataset)
        if drop_last and n % self.num_replicas:
            n -= self.num_replicas
        self.num_samples = math.ceil(n / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        n = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(n, generator=generator).tolist()
        else:
            indices = list(range(n))
        # all processes get equally many: begin again, or drop the tail
        indices = (indices * math.ceil(self.total_size / n))[:self.total_size]
        return iter(indices[self.rank::self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Another order for another epoch."""
        self.epoch = epoch
