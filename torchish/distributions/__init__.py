"""torch.distributions: probability distributions, their constraints, transforms and divergences."""

from torchish.distributions import constraints, transforms
from torchish.distributions.bernoulli import Bernoulli
from torchish.distributions.beta import Beta
from torchish.distributions.binomial import Binomial
from torchish.distributions.categorical import Categorical
from torchish.distributions.cauchy import Cauchy
from torchish.distributions.chi2 import Chi2
from torchish.distributions.constraint_registry import biject_to, transform_to
from torchish.distributions.continuous_bernoulli import ContinuousBernoulli
from torchish.distributions.dirichlet import Dirichlet
from torchish.distributions.distribution import Distribution
from torchish.distributions.exp_family import ExponentialFamily
from torchish.distributions.exponential import Exponential
from torchish.distributions.fishersnedecor import FisherSnedecor
from torchish.distributions.gamma import Gamma
from torchish.distributions.generalized_pareto import GeneralizedPareto
from torchish.distributions.geometric import Geometric
from torchish.distributions.gumbel import Gumbel
from torchish.distributions.half_cauchy import HalfCauchy
from torchish.distributions.half_normal import HalfNormal
from torchish.distributions.independent import Independent
from torchish.distributions.inverse_gamma import InverseGamma
from torchish.distributions.kl import kl_divergence, register_kl
from torchish.distributions.kumaraswamy import Kumaraswamy
from torchish.distributions.laplace import Laplace
from torchish.distributions.lkj_cholesky import LKJCholesky
from torchish.distributions.log_normal import LogNormal
from torchish.distributions.logistic_normal import LogisticNormal
from torchish.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from torchish.distributions.mixture_same_family import MixtureSameFamily
from torchish.distributions.multinomial import Multinomial
from torchish.distributions.multivariate_normal import MultivariateNormal
from torchish.distributions.negative_binomial import NegativeBinomial
from torchish.distributions.normal import Normal
from torchish.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from torchish.distributions.pareto import Pareto
from torchish.distributions.poisson import Poisson
from torchish.distributions.relaxed_bernoulli import RelaxedBernoulli
from torchish.distributions.relaxed_categorical import RelaxedOneHotCategorical
from torchish.distributions.studentT import StudentT
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.transforms import *
from torchish.distributions.uniform import Uniform
from torchish.distributions.von_mises import VonMises
from torchish.distributions.weibull import Weibull
from torchish.distributions.wishart import Wishart

__all__ = [name for name, value in vars().items() if isinstance(value, type)] + [
    "biject_to", "kl_divergence", "register_kl", "transform_to"]
__all__ += [name for name in transforms.__all__ if name not in __all__]
