"""torch.distributions: values, gradients, seeded samples, divergences and error texts, family by family."""

import importlib
import math
import warnings

import pytest
from checks import agree

PD, FACTOR = [[2.0, 0.5], [0.5, 1.0]], [[2.0, 0.0], [0.5, 1.0]]
WEIGHTS = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]

# name: (family, parameters); the parameters are float64 tensors, numbers in `plain` stay numbers
FAMILIES = {
    "Bernoulli": {"probs": [0.2, 0.5, 0.9]},
    "Bernoulli of logits": {"logits": [-1.0, 0.0, 2.0]},
    "Beta": {"concentration1": [0.5, 2.0, 3.0], "concentration0": [1.5, 0.7, 3.0]},
    "Binomial": {"total_count": [10.0, 10.0, 10.0], "probs": [0.1, 0.5, 0.9]},
    "Categorical": {"probs": WEIGHTS},
    "Categorical of logits": {"logits": WEIGHTS},
    "Cauchy": {"loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    "Chi2": {"df": [0.5, 3.0]},
    "ContinuousBernoulli": {"probs": [0.2, 0.5, 0.9]},
    "Dirichlet": {"concentration": [[0.5, 2.0, 3.0], [1.0, 0.3, 9.0]]},
    "Exponential": {"rate": [0.5, 2.0]},
    "FisherSnedecor": {"df1": [2.5, 3.0], "df2": [5.0, 1.0]},
    "Gamma": {"concentration": [0.5, 2.0], "rate": [1.0, 3.0]},
    "GeneralizedPareto": {"loc": [0.0, 1.0, 0.0], "scale": [1.0, 2.0, 1.0], "concentration": [-0.5, 0.0, 0.3]},
    "Geometric": {"probs": [0.2, 0.7]},
    "Gumbel": {"loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    "HalfCauchy": {"scale": [1.0, 2.0]},
    "HalfNormal": {"scale": [1.0, 2.0]},
    "InverseGamma": {"concentration": [0.5, 3.0], "rate": [1.0, 2.0]},
    "Kumaraswamy": {"concentration1": [0.5, 3.0], "concentration0": [1.0, 2.0]},
    "LKJCholesky": {"concentration": [0.5, 3.0], "dim": 3},
    "Laplace": {"loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    "LogNormal": {"loc": [0.0, 1.0], "scale": [1.0, 0.5]},
    "LogisticNormal": {"loc": [[0.0, 1.0], [1.0, 2.0]], "scale": [1.0, 0.5]},
    "LowRankMultivariateNormal": {"loc": [[0.0, 1.0], [1.0, 2.0]], "cov_factor": [[1.0], [0.5]], "cov_diag": [1.0, 0.5]},
    "Multinomial": {"probs": WEIGHTS, "total_count": 5},
    "MultivariateNormal": {"loc": [[0.0, 1.0], [1.0, 2.0]], "covariance_matrix": PD},
    "MultivariateNormal of precision": {"loc": [1.0, 2.0], "precision_matrix": [PD, [[1.0, 0.0], [0.0, 2.0]]]},
    "MultivariateNormal of factor": {"loc": [1.0, 2.0], "scale_tril": FACTOR},
    "NegativeBinomial": {"total_count": [3.0, 5.0], "probs": [0.2, 0.7]},
    "Normal": {"loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    "OneHotCategorical": {"probs": WEIGHTS},
    "OneHotCategoricalStraightThrough": {"probs": WEIGHTS},
    "Pareto": {"scale": [1.0, 2.0], "alpha": [2.5, 1.5]},
    "Poisson": {"rate": [0.5, 20.0]},
    "RelaxedBernoulli": {"temperature": 0.7, "probs": [0.2, 0.7]},
    "RelaxedOneHotCategorical": {"temperature": 0.7, "probs": WEIGHTS},
    "StudentT": {"df": [0.5, 3.0], "loc": [0.0, 1.0], "scale": [1.0, 2.0]},
    "Uniform": {"low": [0.0, 1.0], "high": [1.0, 4.0]},
    "VonMises": {"loc": [0.0, 1.0], "concentration": [1.0, 20.0]},
    "Weibull": {"scale": [1.0, 2.0], "concentration": [0.5, 2.0]},
    "Wishart": {"df": [3.0, 4.0], "covariance_matrix": PD},
}


def made(torch, name, grad=False):
    """The distribution of a row, and its tensors."""
    dtype = torch.float32 if name == "GeneralizedPareto" else torch.float64  # PyTorch's takes nothing else
    parameters = {k: torch.tensor(v, dtype=dtype, requires_grad=grad) if isinstance(v, (list, float)) else v
                  for k, v in FAMILIES[name].items()}
    family = getattr(torch.distributions, name.split()[0])
    return family(**parameters), [v for v in parameters.values() if isinstance(v, torch.Tensor)]


def tried(function):
    """A result as numbers, or the text of the error."""
    try:
        result = function()
    except (NotImplementedError, ValueError) as error:
        return f"{type(error).__name__}: {error}".replace("torchish", "torch")
    return result.tolist() if hasattr(result, "tolist") else repr(result)


def seeded(torch, method, shape):
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Singular sample detected")
        return method(torch.Size(shape))


@pytest.mark.parametrize("name", FAMILIES)
def test_facts(torch, recorded, name):
    d, _ = made(torch, name)
    facts = {a: tried(lambda a=a: getattr(d, a)) for a in (
        "mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "support")}
    facts |= {"repr": repr(made(torch, name)[0]), "entropy": tried(d.entropy), "values": tried(d.enumerate_support)}
    recorded({k: str(v) if k == "support" else v for k, v in facts.items()}, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_samples_are_pytorchs(torch, recorded, name):
    d, _ = made(torch, name)
    samples = {str(shape): tried(lambda shape=shape: seeded(torch, d.sample, shape)) for shape in ((), (2, 9))}
    recorded({**samples, "next": torch.rand(1).item()}, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_log_prob_and_gradients(torch, recorded, name):
    d, parameters = made(torch, name, grad=True)
    value = seeded(torch, d.sample, (3,)).detach()
    log_prob = d.log_prob(value)
    log_prob.sum().backward()
    result = {"log_prob": log_prob.tolist(), "grads": [p.grad if p.grad is None else p.grad.tolist() for p in parameters],
              "cdf": tried(lambda: d.cdf(value)),
              "icdf": tried(lambda: d.icdf(torch.full(d.batch_shape, 0.3, dtype=torch.float64))) if not d.event_shape else None}
    recorded(result, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_reparametrized_gradients(torch, recorded, name):
    d, parameters = made(torch, name, grad=True)
    if not d.has_rsample or name == "Wishart":  # PyTorch's writes over what the backward needs
        return
    sample = seeded(torch, d.rsample, (3,))
    (sample * sample.detach().cos()).sum().backward()
    # PyTorch's derivatives of gamma and Dirichlet numbers are approximations, good to three digits
    recorded([p.grad if p.grad is None else p.grad.tolist() for p in parameters], rtol=3e-3, atol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_expand(torch, name):
    d, _ = made(torch, name)
    wide = d.expand(torch.Size((2,)) + d.batch_shape)
    assert type(wide) is type(d) and wide.batch_shape == (2,) + tuple(d.batch_shape) and wide.event_shape == d.event_shape
    value = seeded(torch, d.sample, ())
    agree(wide.log_prob(value)[1].tolist(), d.log_prob(value).tolist(), rtol=1e-9, atol=1e-12)
    assert seeded(torch, wide.sample, (3,)).shape == (3,) + tuple(wide.batch_shape) + tuple(wide.event_shape)


def test_kl_of_every_registered_pair(torch, recorded):
    kl = importlib.import_module(torch.__name__ + ".distributions.kl")
    found = {}
    first = {name.split()[0]: name for name in reversed(FAMILIES)}
    for p, q in sorted(kl._KL_REGISTRY, key=lambda pair: (pair[0].__name__, pair[1].__name__)):
        if p.__name__ in first and q.__name__ in first:
            a, b = (made(torch, first[kind.__name__])[0].expand((2,)) if kind.__name__ not in ("Bernoulli", "Beta", "ContinuousBernoulli",
                    "Binomial") else made(torch, first[kind.__name__])[0] for kind in (p, q))
            a, b = (d if d.batch_shape == (2,) else _first_two(torch, d) for d in (a, b))
            found[f"{p.__name__} {q.__name__}"] = tried(lambda a=a, b=b: torch.distributions.kl_divergence(a, b))
    assert len(found) >= 80
    recorded(found, rtol=1e-5, atol=1e-7)


def _first_two(torch, d):
    """Two of the three distributions of a row."""
    return type(d)(**{k: getattr(d, k)[:2] for k in d.arg_constraints if k != "logits"})


ERRORS = {
    "both": lambda t, D: D.Bernoulli(0.5, 0.5),
    "parameter": lambda t, D: D.Normal(t.tensor([0.0, 1.0]), t.tensor([-1.0, 1.0])),
    "value": lambda t, D: D.Beta(1.0, 1.0).log_prob(t.tensor(2.0)),
    "not a tensor": lambda t, D: D.Normal(0.0, 1.0).log_prob("a"),
    "batch": lambda t, D: D.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "event": lambda t, D: D.MultivariateNormal(t.zeros(3), t.eye(3)).log_prob(t.zeros(2)),
    "scalar probs": lambda t, D: D.Categorical(t.tensor(1.0)),
    "bounds": lambda t, D: D.Uniform(2.0, 1.0),
    "positive": lambda t, D: D.Geometric(t.tensor([0.0, 0.3])),
    "forms": lambda t, D: D.MultivariateNormal(t.zeros(2)),
    "factor": lambda t, D: D.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    "rank": lambda t, D: D.LowRankMultivariateNormal(t.ones(5, 2), t.ones(4, 2, 1), t.ones(2)),
    "df": lambda t, D: D.Wishart(t.tensor(1.0), t.eye(3)),
    "dim": lambda t, D: D.LKJCholesky(1),
    "mixture": lambda t, D: D.MixtureSameFamily(D.Categorical(t.ones(2)), D.Normal(t.zeros(3), 1.0)),
    "independent": lambda t, D: D.Independent(D.Normal(0.0, 1.0), 1),
    "transforms": lambda t, D: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    "too small": lambda t, D: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
    "no transform": lambda t, D: D.biject_to(D.constraints.boolean),
    "counts": lambda t, D: D.Binomial(t.tensor([2, 3]), t.tensor([0.5, 0.5])).enumerate_support(),
    "families": lambda t, D: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)),
    "no divergence": lambda t, D: D.kl_divergence(D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0)),
    "mode": lambda t, D: D.Multinomial(3, t.ones(2)).mode,
    "cache": lambda t, D: D.ExpTransform(cache_size=2),
    "reshape": lambda t, D: D.ReshapeTransform((2, 3), (5,)),
    "triangle": lambda t, D: D.CorrCholeskyTransform().forward_shape((4,)),
}


@pytest.mark.parametrize("case", ERRORS)
def test_error_texts(torch, recorded, case):
    recorded(tried(lambda: ERRORS[case](torch, torch.distributions)))


def test_subclass_without_expand(torch):
    class Centred(torch.distributions.Normal):
        def __init__(self, scale):
            super().__init__(0.0, scale)

    with pytest.raises(NotImplementedError, match="Subclass Centred of Normal that defines a custom __init__ method"):
        Centred(1.0).expand([2])


TRANSFORMS = {
    "ExpTransform": (), "SigmoidTransform": (), "TanhTransform": (), "SoftplusTransform": (), "AffineTransform": (1.0, -2.0),
    "StickBreakingTransform": (), "CorrCholeskyTransform": (), "ReshapeTransform": ((6,), (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_invert_and_know_their_determinant(torch, name):
    t = getattr(torch.distributions, name)(*TRANSFORMS[name])
    x = torch.linspace(-1, 1, 6, dtype=torch.float64)
    y = t(x)
    agree(t.inv(y).tolist(), x.tolist(), rtol=1e-6, atol=1e-8)
    assert t.forward_shape(x.shape) == y.shape and t.inverse_shape(y.shape) == x.shape and t.inv.inv is t
    agree(t.inv.log_abs_det_jacobian(y, x).tolist(), (-t.log_abs_det_jacobian(x, y)).tolist())
    if t.domain.event_dim == 0:
        slopes = torch.autograd.functional.jacobian(t, x).diagonal()
        agree(t.log_abs_det_jacobian(x, y).tolist(), slopes.abs().log().tolist(), rtol=1e-9, atol=1e-12)


CONSTRAINTS = ["real", "positive", "nonnegative", "unit_interval", "simplex", "real_vector", "positive_definite", "corr_cholesky",
               "lower_cholesky"]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_transforms_reach_their_constraints(torch, registry, name):
    D = torch.distributions
    constraint = getattr(D.constraints, name)
    if registry == "biject_to" and name in ("positive_definite", "lower_cholesky"):
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            D.biject_to(constraint)
        return
    t = getattr(D, registry)(constraint)
    torch.manual_seed(0)
    x = torch.randn(4, *(3,) * t.domain.event_dim, dtype=torch.float64)
    y = t(x)
    assert constraint.check(y).all()
    again = t(t.inv(y))
    agree(again.tolist(), y.tolist(), rtol=1e-6, atol=1e-8)


def test_modules_import_as_in_scripts(torch):
    for name in ("normal", "constraints", "kl", "utils", "transforms", "transformed_distribution", "constraint_registry", "studentT"):
        assert importlib.import_module(f"{torch.__name__}.distributions.{name}") is getattr(torch.distributions, name)


def test_mixture_and_independent(torch):
    D = torch.distributions
    mixture = D.MixtureSameFamily(D.Categorical(torch.tensor([0.3, 0.7])), D.Normal(torch.tensor([0.0, 1.0]), torch.ones(2)))
    agree(mixture.mean.item(), 0.7, rtol=1e-6)
    agree(mixture.variance.item(), 1 + 0.21, rtol=1e-6)
    both = math.log(0.3 * math.exp(-0.125) + 0.7 * math.exp(-0.125)) - 0.5 * math.log(2 * math.pi)
    agree(mixture.log_prob(torch.tensor(0.5)).item(), both, rtol=1e-5)
    d = D.Independent(D.Normal(torch.zeros(2, 3), 1.0), 1)
    assert repr(d) == "Independent(Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3])), 1)"
    assert d.batch_shape == (2,) and d.event_shape == (3,) and d.log_prob(torch.zeros(3)).shape == (2,)


@pytest.mark.parametrize("logits", [-1e38, -200.0, -30.0, 0.0, 30.0, 200.0, 1e38])
def test_continuous_bernoulli_of_any_logits(torch, logits):
    """PyTorch keeps the probabilities away from 0 and 1, so the density stays finite."""
    given = torch.tensor([logits], requires_grad=True)
    density = torch.distributions.ContinuousBernoulli(logits=given).log_prob(torch.tensor([1.0 if logits > 0 else 0.0]))
    density.sum().backward()
    assert density.isfinite().all() and given.grad.isfinite().all()
    if abs(logits) > 20:
        assert abs(density.item() - 2.768981456756592) < 1e-5
