"""torchish: PyTorch's semantics on JAX. This module assembles torch's namespace."""

from torchish.tensor import Size, Tensor, device
from torchish.tensor.layout import (channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format,
                                    sparse_coo, sparse_csr, strided)
from torchish.tensor.printing import set_printoptions
from torchish.ops.dtypes import dtype
from torchish import autograd, program
from torchish.api import methods as _methods  # completes Tensor
from torchish.api.namespace import NAMESPACE as _NAMESPACE

globals().update(_NAMESPACE)

from torchish import fft, linalg, special
from torchish.api import random
from torchish.autograd import (enable_grad, inference_mode, is_anomaly_check_nan_enabled, is_anomaly_enabled, is_grad_enabled,
                               is_inference_mode_enabled, no_grad, set_grad_enabled)
from torchish.serialization import load, save
from torchish import _C, nn
from torchish.nn.native import TORCH as _LAYERS

globals().update(_LAYERS)

from torchish import _ops, ops, overrides

ops.aten = _ops.aten  # beside the table, which PyTorch has not

from torchish import optim, utils
from torchish import amp, backends, cuda, jit, sparse, storage, version
from torchish.amp import GradScaler, autocast
from torchish.amp.settings import TORCH as _AUTOCAST

globals().update(_AUTOCAST)

from torchish import accelerator, compiler, cpu, distributed, func, hub, multiprocessing, profiler, testing, types
from torchish.func import vmap
from torchish import _VF, _vmap_internals
from torchish import distributions, library, masked, nested, signal
from torchish.dropin import install

__version__ = "2.13.0"
