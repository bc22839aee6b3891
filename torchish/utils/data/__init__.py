"""torch.utils.data: datasets, samplers, DataLoader."""

from torchish.utils.data._utils.collate import default_collate, default_convert
from torchish.utils.data._utils.worker import get_worker_info
from torchish.utils.data.dataloader import DataLoader, _DatasetKind
from torchish.utils.data.datapipes import (DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe, argument_validation,
                                           functional_datapipe, guaranteed_datapipes_determinism, non_deterministic,
                                           runtime_validation, runtime_validation_disabled)
from torchish.utils.data.dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset,
                                         random_split)
from torchish.utils.data.distributed import DistributedSampler
from torchish.utils.data.sampler import (BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                                         WeightedRandomSampler)

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DFIterDataPipe", "DataChunk", "DataLoader", "Dataset",
           "DistributedSampler", "IterDataPipe", "IterableDataset", "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler",
           "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "_DatasetKind",
           "argument_validation", "default_collate", "default_convert", "functional_datapipe", "get_worker_info",
           "guaranteed_datapipes_determinism", "non_deterministic", "random_split", "runtime_validation",
           "runtime_validation_disabled"]
