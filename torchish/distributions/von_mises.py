"""The von Mises distribution."""

import math

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.distribution import Distribution, expand_parameters
from torchish.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around `loc`: the normal distribution of the circle."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    expand = expand_parameters

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        self._check(value)
        away = torch.cos(value - self.loc) - 1  # i0e is I0 times exp(-concentration)
        return self.concentration * away - math.log(2 * math.pi) - torch.special.i0e(self.concentration).log()

    @lazy_property
    def _loc(self):
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that Best and Fisher's proposals come from."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        exact = (1 + rho**2) / (2 * rho)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, exact)  # a series where the above loses its digits

    @torch.no_grad()
    def sample(self, sample_shape=torch.Size()):  # noqa: B008
        """Samples by rejection, in double precision."""
        shape = self._extended_shape(sample_shape)
        x = torch.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
        done = torch.zeros(shape, dtype=torch.bool, device=self.loc.device)
        r, kappa = self._proposal_r, self._concentration
        while not done.all():
            turn, level, side = torch.rand((3,) + shape, dtype=self._loc.dtype, device=self.loc.device).unbind()
            z = torch.cos(math.pi * turn)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - level) > 0) | ((c / level).log() + 1 - c >= 0)
            x = torch.where(accept, (side - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self):
        """The circular mean."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
