"""Transforms from unconstrained numbers to constrained ones: biject_to (bijective) and transform_to (any)."""

from torchish.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """From a class of constraints to a function that makes a transform for one of them."""

    def __init__(self):
        self._registry = {}
        super().__init__()

    def register(self, constraint, factory=None):
        """Use `factory` for a class of constraints, or for that of an instance; without it, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint):
        """The transform onto a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _one_sided(bound, sign):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, sign)])


def _two_sided(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    unit = transforms.SigmoidTransform()
    if isinstance(low, (int, float)) and low == 0 and isinstance(high, (int, float)) and high == 1:
        return unit
    return transforms.ComposeTransform([unit, transforms.AffineTransform(low, high - low)])


def _independent(registry):
    return lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims)


def _cat(registry):
    return lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)


def _stack(registry):
    return lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim)


_BOTH = {
    constraints.real: lambda c: transforms.identity_transform,
    constraints.greater_than_eq: lambda c: _one_sided(c.lower_bound, 1),
    constraints.greater_than: lambda c: _one_sided(c.lower_bound, 1),
    constraints.less_than: lambda c: _one_sided(c.upper_bound, -1),
    constraints.half_open_interval: _two_sided,
    constraints.interval: _two_sided,
    constraints.corr_cholesky: lambda c: transforms.CorrCholeskyTransform(),
}
_ONLY_TRANSFORM = {
    constraints.simplex: lambda c: transforms.SoftmaxTransform(),
    constraints.lower_cholesky: lambda c: transforms.LowerCholeskyTransform(),
    constraints.positive_semidefinite: lambda c: transforms.PositiveDefiniteTransform(),
    constraints.positive_definite: lambda c: transforms.PositiveDefiniteTransform(),
}
_OF_OTHERS = {constraints.independent: _independent, constraints.cat: _cat, constraints.stack: _stack}

for _registry in (biject_to, transform_to):
    for _constraint, _factory in _BOTH.items():
        _registry.register(_constraint, _factory)
    for _constraint, _maker in _OF_OTHERS.items():
        _registry.register(_constraint, _maker(_registry))
for _constraint, _factory in _ONLY_TRANSFORM.items():
    transform_to.register(_constraint, _factory)
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
