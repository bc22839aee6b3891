"""torch.backends: settings that scripts make before they compute. They are kept, and change nothing here: XLA chooses the kernels."""

from torchish.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum
