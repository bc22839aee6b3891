"""The LKJ distribution of correlation matrices, as Cholesky factors."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.beta import Beta
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices with a density in proportion to det^(concentration - 1)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _unbatched = ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        # the squared length of row i's part left of the diagonal is beta(i / 2, …) distributed
        row = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        row = torch.cat([row.new_zeros((1,)), row])
        last = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(row + 0.5, last - 0.5 * row)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = expand_parameters(self, batch_shape, _instance)
        new._beta = self._beta.expand(new._batch_shape + (self.dim,))
        return new

    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        """Samples by the onion method: each row is a direction times a length, and what is left on the diagonal."""
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = torch.randn(self._extended_shape(sample_shape), dtype=length.dtype, device=length.device).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # nothing stands left of the first diagonal element
        factor = torch.sqrt(length) * direction
        rest = 1 - torch.sum(factor**2, dim=-1)
        return factor + torch.diag_embed(torch.clamp(rest, min=torch.finfo(factor.dtype).tiny).sqrt())

    def log_prob(self, value):
        self._check(value)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim
        powers = powers - torch.arange(2, self.dim + 1, device=self.concentration.device)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n + 0.5 * n * math.log(math.pi)
        return torch.sum(powers * diagonal.log(), dim=-1) - normalizer
