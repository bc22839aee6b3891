"""The operation table. A row's public name is its own name less the namespace it stands in: `linalg_det` is
`torch.linalg.det`; rows with names="" have no public name and are reached by the overloads of another one."""

from torchish.ops.table import TABLE, Op
from torchish.ops import (activation, arrange, bessel, conv, copying, counting, creation, factor, fft, gammas, histogram, index,
                          indexing, ldl, linalg, logic, loss, norm, optimizers, pointwise, polynomials, pooling, recurrent,
                          reduce, resample, segment, sorting, special, spectrum, views)

__all__ = ["TABLE", "Op"]
