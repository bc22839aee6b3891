"""The base of all transforms, and those that are made of others."""

import functools
import operator
import weakref

import torchish as torch
from torchish.distributions import constraints
from torchish.distributions.utils import _sum_rightmost, lazy_property


class Transform:
    """A map from `domain` to `codomain`; with cache_size=1 the latest pair of values is kept for the way back."""

    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv = cache_size, None
        if cache_size:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}  # a weak reference cannot be pickled

    @property
    def event_dim(self):
        """The number of dimensions of an event, where it is the same on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse: t.inv.inv is t."""
        inverse = self._inv and self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """The sign of the determinant, where it is one number: +1 for increasing maps."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """The same map with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return not self.__eq__(other)

    def __call__(self, x):
        """The image of x."""
        if self._cache_size == 0:
            return self._call(x)
        old_x, old_y = self._cached_x_y
        y = old_y if x is old_x else self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        """What has the image y."""
        if self._cache_size == 0:
            return self._inverse(y)
        old_x, old_y = self._cached_x_y
        x = old_x if y is old_y else self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx| of an input and its image."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__ + "()"

    def forward_shape(self, shape):
        """The shape of the image of a tensor of shape `shape`."""
        return shape

    def inverse_shape(self, shape):
        """The shape of what has an image of shape `shape`."""
        return shape


class _InverseTransform(Transform):
    """Another transform turned round; it shares its cache."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def __getstate__(self):
        return self.__dict__

    def with_cache(self, cache_size=1):
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Several transforms, the first one first."""

    def __init__(self, parts, cache_size=0):
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        super().__init__(cache_size=cache_size)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @staticmethod
    def _widened(constraint, parts):
        """A constraint with as many event dimensions as the whole of `parts`, from its own end on, needs."""
        dim = parts[0][1].event_dim
        for near, far in parts:
            dim = max(dim + near.event_dim - far.event_dim, near.event_dim)
        more = dim - constraint.event_dim
        return constraints.independent(constraint, more) if more > 0 else constraint

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        return self._widened(self.parts[0].domain, [(p.domain, p.codomain) for p in reversed(self.parts)])

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        return self._widened(self.parts[-1].codomain, [(p.codomain, p.domain) for p in self.parts])

    @lazy_property
    def bijective(self):
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(operator.mul, (p.sign for p in self.parts), 1)

    @property
    def inv(self):
        inverse = self._inv and self._inv()
        if inverse is None:
            inverse = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        stations = [x]
        for part in self.parts[:-1]:
            stations.append(part(stations[-1]))
        stations.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, x, y in zip(self.parts, stations, stations[1:], strict=False):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, y), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + ",\n    ".join(repr(p) for p in self.parts) + "\n)"


identity_transform = ComposeTransform([])


def _enough(shape, dim):
    if len(shape) < dim:
        raise ValueError("Too few dimensions on input")


class IndependentTransform(Transform):
    """A transform of which the last batch dimensions are part of an event."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        _enough(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        _enough(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


class _JoinedTransform(Transform):
    """Transforms side by side; `_parts` splits what goes in, `_join` puts together what comes out."""

    def __init__(self, tseq, dim, cache_size):
        assert all(isinstance(t, Transform) for t in tseq), "All elements of tseq must be Transform instances"
        tseq = [t.with_cache(cache_size) for t in tseq] if cache_size else tseq
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim

    def _cut(self, tensor, n, what):
        """The parts of a tensor that is n long where it is cut."""
        dim = self.dim
        assert -tensor.dim() <= dim < tensor.dim(), f"dim {dim} out of range for tensor with {tensor.dim()} dimensions"
        assert tensor.size(dim) == n, f"x.size({dim}) = {tensor.size(dim)} must equal {what}"
        return self._parts(tensor)

    def _call(self, x):
        return self._join([t(part) for t, part in zip(self.transforms, self._pieces(x))], self.dim)

    def _inverse(self, y):
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._pieces(y))], self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)


class CatTransform(_JoinedTransform):
    """Transforms of consecutive pieces, `lengths` long, as `torch.cat` joins them."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms), (
            f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        """The length of the whole."""
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    _join = staticmethod(torch.cat)

    def _parts(self, tensor):
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [tensor.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _pieces(self, tensor):
        return self._cut(tensor, self.length, f"length {self.length}")

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, a, b in zip(self.transforms, self._pieces(x), self._pieces(y)):
            term = t.log_abs_det_jacobian(a, b)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim) if t.event_dim < self.event_dim else term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        if self.event_dim > 0:
            dim = dim + self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_JoinedTransform):
    """Transforms of the slices, as `torch.stack` joins them."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    _join = staticmethod(torch.stack)

    def _parts(self, tensor):
        return tensor.unbind(self.dim)

    def _pieces(self, tensor):
        n = len(self.transforms)
        return self._cut(tensor, n, f"len(transforms) {n}")

    def log_abs_det_jacobian(self, x, y):
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._pieces(x), self._pieces(y))],
                           dim=self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
