"""torch.utils.data: datasets, samplers, DataLoader."""

from torchish.utils.data._utils.collate import default_collate, default_convert
from torchish.utils.data.dataloader import DataLoader, _DatasetKind, get_worker_info
from torchish.utils.data.dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset,
                                         random_split)
from torchish.utils.data.distributed import DistributedSampler
from torchish.utils.data.sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                                         WeightedRandomSampler)

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
           "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split"]
