"""Kullback-Leibler divergences: a table of formulas by the classes of the two distributions."""

import math
import warnings

import torchish as torch
from torchish.distributions.bernoulli import Bernoulli
from torchish.distributions.beta import Beta
from torchish.distributions.binomial import Binomial
from torchish.distributions.categorical import Categorical
from torchish.distributions.cauchy import Cauchy
from torchish.distributions.continuous_bernoulli import ContinuousBernoulli
from torchish.distributions.dirichlet import Dirichlet
from torchish.distributions.exp_family import ExponentialFamily
from torchish.distributions.exponential import Exponential
from torchish.distributions.gamma import Gamma
from torchish.distributions.geometric import Geometric
from torchish.distributions.gumbel import Gumbel
from torchish.distributions.half_normal import HalfNormal
from torchish.distributions.independent import Independent
from torchish.distributions.laplace import Laplace
from torchish.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from torchish.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_det
from torchish.distributions.normal import Normal
from torchish.distributions.one_hot_categorical import OneHotCategorical
from torchish.distributions.pareto import Pareto
from torchish.distributions.poisson import Poisson
from torchish.distributions.transformed_distribution import TransformedDistribution
from torchish.distributions.uniform import Uniform
from torchish.distributions.utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY = {}  # (class of p, class of q): formula
_KL_MEMOIZE = {}  # the same for all classes that were asked for
_LOG_ROOT_2PI = math.log(math.sqrt(2 * math.pi))


def register_kl(type_p, type_q):
    """A decorator: the function gives the divergence of a `type_p` from a `type_q`."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun
    return decorator


def _nearest(matches, order):
    """The match whose classes, compared in an order, come before all others'."""
    def before(a, b):
        for x, y in zip(order(a), order(b)):
            if not issubclass(x, y):
                return False
            if x is not y:
                return True
        return True
    best = matches[0]
    for match in matches[1:]:
        best = match if before(match, best) else best
    return best


def _dispatch_kl(type_p, type_q):
    """The formula for two classes: that of the nearest base classes."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    left, right = _nearest(matches, lambda pair: pair), _nearest(matches, lambda pair: pair[::-1])
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
                      f"Please register_kl({left[0].__name__}, {right[1].__name__})", RuntimeWarning, stacklevel=2)
    return _KL_REGISTRY[left]


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of `p` from `q`, batch by batch."""
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    formula = _KL_MEMOIZE[key]
    if formula is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return formula(p, q)


def _infinite_like(tensor):
    return torch.full_like(tensor, math.inf)


def _x_log_x(tensor):
    return torch.special.xlogy(tensor, tensor)


def _square_sum(matrix):
    """The trace of X X'."""
    return matrix.flatten(-2).pow(2).sum(-1)


def _infinite(parameter):
    """What is infinite whatever the parameters: p has values that q has not; `parameter` gives the shape."""
    return lambda p, q: _infinite_like(getattr(p, parameter))


for _p, _parameter, _others in (
        (Beta, "concentration1", (Pareto,)),
        (ContinuousBernoulli, "probs", (Pareto,)),
        (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
        (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
        (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
        (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
        (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
        (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
        (Poisson, "rate", (Bernoulli, Binomial))):
    for _q in _others:
        register_kl(_p, _q)(_infinite(_parameter))


# -- two of one family


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    up = p.probs * (torch.nn.functional.softplus(-q.logits) - torch.nn.functional.softplus(-p.logits))
    up = up.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    down = (1 - p.probs) * (torch.nn.functional.softplus(q.logits) - torch.nn.functional.softplus(p.logits))
    return up + down.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _beta(p, q):
    p_sum, q_sum = (d.concentration1 + d.concentration0 for d in (p, q))
    normalizers = (q.concentration1.lgamma() + q.concentration0.lgamma() + p_sum.lgamma()
                   - p.concentration1.lgamma() - p.concentration0.lgamma() - q_sum.lgamma())
    return (normalizers + (p.concentration1 - q.concentration1) * p.concentration1.digamma()
            + (p.concentration0 - q.concentration0) * p.concentration0.digamma() + (q_sum - p_sum) * p_sum.digamma())


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    # more trials than q has are impossible for q; fewer have no closed form
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    kl, more = torch.broadcast_tensors(kl, p.total_count > q.total_count)
    return kl.masked_fill(more, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), math.inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + torch.log1p(-p.probs)
            - q._cont_bern_log_norm() - torch.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    p_sum, q_sum = p.concentration.sum(-1), q.concentration.sum(-1)
    normalizers = p_sum.lgamma() - q_sum.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    rest = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return normalizers + ((p.concentration - q.concentration) * rest).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizer, for any family."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot "
                                  "                            be computed using Bregman divergences")
    theta = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    normalizer = p._log_normalizer(*theta)
    slopes = torch.autograd.grad(normalizer.sum(), theta, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(theta, q._natural_params, slopes):
        result = result - _sum_rightmost((other - mine) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
            + (p.concentration - q.concentration) * torch.digamma(p.concentration)
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, p_loc, q_loc = p.scale / q.scale, p.loc / q.scale, q.loc / q.scale
    power = torch.exp(q_loc + torch.special.gammaln(1 + ratio) - p_loc)
    return ratio * euler_constant - ratio.log() + p_loc - q_loc + power - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio, away = (p.scale / q.scale).pow(2), ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + away - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return kl.masked_fill(p.support.lower_bound < q.support.lower_bound, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    return _inside(torch.log((q.high - q.low) / (p.high - p.low)), p, q.low, q.high)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    squares = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return squares.log() - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# -- multivariate normals


def _same_event(p, q, families):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {families} with\n                          different event shapes "
                         "cannot be computed")


def _solved(q, matrix):
    """|L^-1 X|^2 for the Cholesky factor L of q."""
    return _square_sum(torch.linalg.solve_triangular(q._unbroadcasted_scale_tril, matrix, upper=False))


def _woodbury_trace(q, matrix):
    """The trace of (W W' + D)^-1 X X' for q's W and D."""
    W, D = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    inner = torch.linalg.solve_triangular(q._capacitance_tril, W.mT / D.unsqueeze(-2) @ matrix, upper=False)
    return _square_sum(matrix / D.sqrt().unsqueeze(-1)) - _square_sum(inner)


def _log_det(p):
    if isinstance(p, LowRankMultivariateNormal):
        return _batch_lowrank_logdet(p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, p._capacitance_tril)
    return 2 * half_log_det(p._unbroadcasted_scale_tril)


def _distance(p, q):
    if isinstance(q, LowRankMultivariateNormal):
        return _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril)
    return _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)


def _roots(p):
    """Matrices X of which the X X' add up to p's covariance."""
    if isinstance(p, LowRankMultivariateNormal):
        return p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    return (p._unbroadcasted_scale_tril,)


def _multivariate(families):
    def formula(p, q):
        _same_event(p, q, families)
        trace = _woodbury_trace if isinstance(q, LowRankMultivariateNormal) else _solved
        traces = sum(trace(q, root) for root in _roots(p))
        return 0.5 * (_log_det(q) - _log_det(p) + traces + _distance(p, q) - p.event_shape[0])
    return formula


for _p, _q, _families in (
        (LowRankMultivariateNormal, LowRankMultivariateNormal, "Low Rank Multivariate Normals"),
        (MultivariateNormal, LowRankMultivariateNormal, "(Low Rank) Multivariate Normals"),
        (LowRankMultivariateNormal, MultivariateNormal, "(Low Rank) Multivariate Normals"),
        (MultivariateNormal, MultivariateNormal, "Multivariate Normals")):
    register_kl(_p, _q)(_multivariate(_families))


# -- two families: E[log p] - E[log q] under p


def _inside(kl, p, low, high):
    """The divergence of a uniform p where its interval lies in q's, infinite elsewhere."""
    return kl.masked_fill((p.low < low) | (p.high > high), math.inf)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _against_normal(p, q):
    """-E[log q] for a normal q."""
    return _LOG_ROOT_2PI + q.scale.log() + 0.5 * (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)


def _against_exponential(p, q):
    return -q.rate.log() + q.rate * p.mean


def _against_gamma(p, q, mean_log):
    return -q.concentration * q.rate.log() + q.concentration.lgamma() - (q.concentration - 1) * mean_log + q.rate * p.mean


def _against_gumbel(p, q, moment):
    """`moment` is E[exp(-x / q.scale)]."""
    return q.scale.log() + (p.mean - q.loc) / q.scale + torch.exp(q.loc / q.scale) * moment


for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform):
    register_kl(_p, Normal)(lambda p, q: -p.entropy() + _against_normal(p, q))
for _p in (Beta, ContinuousBernoulli, Gamma):
    register_kl(_p, Exponential)(lambda p, q: -p.entropy() + _against_exponential(p, q))
for _p in (Beta, ContinuousBernoulli):
    register_kl(_p, Uniform)(lambda p, q: (-p.entropy() + (q.high - q.low).log()).masked_fill((q.low > 0) | (q.high < 1), math.inf))


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Gamma)
def _beta_gamma(p, q):
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return -p.entropy() + _against_gamma(p, q, mean_log)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    return -p.entropy() + _against_gamma(p, q, -(p.rate.log() + euler_constant))


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    moment = p.rate / (p.rate + q.scale.reciprocal())
    return -p.entropy() + _against_gumbel(p, q, moment)


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p, q):
    moment = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return -p.entropy() + _against_gumbel(p, q, moment)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    moment = torch.exp(-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2))
    return -p.entropy() + _against_gumbel(p, q, moment)


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    away = p.loc - q.loc
    ratio = away / p.scale
    mean_distance = (math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * ratio.pow(2)) + away * torch.erf(math.sqrt(0.5) * ratio))
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    kl = -p.entropy() + _against_exponential(p, q)
    return kl.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p, q):
    kl = -p.entropy() + _against_gamma(p, q, p.scale.log() + p.alpha.reciprocal())
    return kl.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    return (-p.entropy() + _against_normal(p, q)).masked_fill(p.alpha <= 2, math.inf)


def _uniform_mean(p, antiderivative):
    """The mean of a function under a uniform p."""
    return (antiderivative(p.high) - antiderivative(p.low)) / (p.high - p.low)


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    near_0 = (q.concentration1 - 1) * (_uniform_mean(p, _x_log_x) - 1)
    near_1 = (q.concentration0 - 1) * (-_uniform_mean(p, lambda x: _x_log_x(1 - x)) - 1)
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    return _inside(normalizer - p.entropy() - near_0 - near_1, p, 0, 1)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    kl = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    return kl.masked_fill((p.high >= 1) | (p.low <= 0), math.inf)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    return _inside(-p.entropy() + _against_exponential(p, q), p, 0, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    return _inside(-p.entropy() + _against_gamma(p, q, _uniform_mean(p, _x_log_x) - 1), p, 0, math.inf)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    moment = _uniform_mean(p, lambda x: -q.scale * torch.exp(-x / q.scale))
    return -p.entropy() + _against_gumbel(p, q, moment)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    mean_log = _uniform_mean(p, _x_log_x) - 1
    kl = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * mean_log
    return _inside(kl, p, q.scale, math.inf)
