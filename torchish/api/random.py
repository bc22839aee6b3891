"""Random tensors from PyTorch's CPU streams."""

import inspect
import math

import numpy as np

from torchish.api.creation import _dtype, _into, _size, finish, from_array
from torchish.api.drawing import (
    as_in_memory,
    drawing_levels,
    in_memory_order,
    in_place,
    mapped,
    memory_order,
    of_parameters,
)
from torchish.autograd.dispatch import apply, check_inplace, check_overlap
from torchish.autograd.modes import no_grad, state, suspended
from torchish.ops import TABLE, dtypes
from torchish.program import from_numpy
from torchish.tensor import Tensor, devices
from torchish.tensor.mt19937 import MT19937


class Generator:
    """torch.Generator: a random stream of its own."""

    __slots__ = ("device", "_stream", "__weakref__")

    def __init__(self, device="cpu"):
        self.device = devices.device(device)
        self._stream = MT19937()

    def manual_seed(self, seed):
        self._stream.manual_seed(int(seed))
        return self

    def seed(self):
        return self._stream.seed()

    def initial_seed(self):
        return self._stream.initial_seed()

    def clone_state(self):
        """A generator that goes on from the same state."""
        new = Generator(self.device)
        new._stream.set_state(np.asarray(self._stream.get_state()))
        return new

    def get_offset(self):
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset):
        raise RuntimeError("CPU Generator does not use offset")

    def graphsafe_get_state(self):
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state):
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_state(self):
        return from_array(np.asarray(self._stream.get_state()))

    def set_state(self, new_state):
        self._stream.set_state(new_state._numpy())
        return self

    def __reduce__(self):
        return Generator, (self.device,), (None, {"_stream": self._stream})


default_generator = Generator()


def _stream(generator):
    return (default_generator if generator is None else generator)._stream


def manual_seed(seed):
    """Seed the global stream; returns its Generator."""
    return default_generator.manual_seed(seed)


def seed():
    return default_generator.seed()


def initial_seed():
    return default_generator.initial_seed()


def get_rng_state():
    return default_generator.get_state()


def set_rng_state(new_state):
    default_generator.set_state(new_state)


def _made(draw, shape, d, requires_grad=False, device=None, out=None, like=None):
    """A tensor of `draw(how many)` numbers, in the order that the dimensions have in the memory of `like`; its own for each entry of a
    vmap that asks for it."""
    levels = drawing_levels()
    whole = (*[level.size for level in levels], *shape)
    array = np.asarray(draw(math.prod(whole))).astype(d.np, copy=False)
    array = array.reshape(whole) if levels or like is None else in_memory_order(array, like)
    return _into(out, mapped(finish(from_array(array), requires_grad, device), levels))


def _float_factory(method):
    def factory(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **kw):
        if "size" in kw:
            size = (kw["size"],)
        shape, d = _size(size), _dtype(dtype)
        draw = getattr(_stream(generator), method)
        return _made(lambda n: draw(n, d.np), shape, d, requires_grad, device, out)
    return factory


rand, randn = _float_factory("uniform"), _float_factory("normal")


def randint(low=None, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Integers in [low, high); `randint(high, size)` starts at 0."""
    if size is None:
        low, high, size = None, low, high
    if high is None:
        low, high = None, low
    for name, given in ("high", high), ("size", size):
        if given is None:
            raise TypeError(f"randint() missing 1 required positional argument: '{name}'")
    low = 0 if low is None else low
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    d = dtypes.int64 if dtype is None else dtype
    shape = _size((size,))
    return _made(lambda n: _stream(generator).random_from_to(n, d.np, int(low), int(high)), shape, d, requires_grad, device, out)


def randperm(n, *, generator=None, out=None, dtype=dtypes.int64, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A random permutation of 0 … n-1."""
    n, stream = int(n), _stream(generator)
    return _made(lambda total: [stream.randperm(n) for _ in range(total // n)] if n else [], (n,), dtype, requires_grad, device, out)


def _like(draw):
    def factory(input, *args, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None, generator=None, **kw):
        d = dtype or input.dtype
        return _made(lambda n: draw(_stream(generator), input, n, d.np, *args, **kw), input._aval.shape, d, requires_grad,
                     device if device is not None else input._device, like=input)
    factory.attrs = tuple(inspect.signature(draw).parameters)[4:]
    return factory


def _integers(stream, input, n, d, low=0, high=None):
    low, high = (0, low) if high is None else (low, high)
    return stream.random_from_to(n, d, int(low), int(high))


rand_like = _like(lambda stream, input, n, d: stream.uniform(n, d))
randn_like = _like(lambda stream, input, n, d: stream.normal(n, d, 0.0, 1.0, memory_order(input) is None))
randint_like = _like(_integers)


def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, device=None, requires_grad=False, layout=None):
    """Normal numbers with given means and deviations (numbers or tensors)."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        shape, d = _size((size,)), _dtype(dtype)
        return _made(lambda n: _stream(generator).normal(n, d.np, float(mean), float(std)), shape, d, requires_grad, device, out)
    return _into(out, _normal_around(mean, std, generator))


@of_parameters
def _normal_around(mean, std, generator):
    like = mean if isinstance(mean, Tensor) else std
    shape = np.broadcast_shapes(*[x._aval.shape for x in (mean, std) if isinstance(x, Tensor)])
    if isinstance(std, Tensor) and std.numel() and bool((std < 0).any()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    z = _made(lambda n: _stream(generator).normal(n, like.dtype.np), shape, like.dtype)
    with no_grad(), suspended():
        made = z * std + mean
    parameters = tuple(x for x in (mean, std) if isinstance(x, Tensor))
    row = "both" if len(parameters) == 2 else "mean" if like is mean else "std"
    return apply(TABLE["normal_" + row], (made, *parameters))


def bernoulli(input, p=None, *, generator=None, out=None):
    """0/1 draws with the probabilities `input` (or `p` everywhere)."""
    return _into(out, _bernoulli(input, p, generator))


@of_parameters
def _bernoulli(input, p, generator):
    if p is not None:
        p, d = float(p), input.dtype
        made = _made(lambda n: _stream(generator).bernoulli(p, n, d.np), input._aval.shape, d)
        return apply(TABLE["bernoulli_p"], (made, input))
    a = input._numpy()
    if a.size and not ((a >= 0) & (a <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
                           "please report an enhancement request to PyTorch.)")
    return apply(TABLE["bernoulli"], (_made(lambda n: _stream(generator).bernoulli(a.reshape(-1)), a.shape, input.dtype), input))


def bernoulli_numbers(shape, p, like):
    """Numbers of the dtype and device of `like` that are 1 with probability `p`, else 0."""
    shape, d = tuple(shape), like.dtype
    return _made(lambda n: default_generator._stream.bernoulli(p, n, d.np), shape, d, device=like.device,
                 like=like if shape == like.shape else None)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn by the rows' weights."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.legacy}")
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.legacy}")
    if input.ndim and input.size(-1) > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    return _into(out, _multinomial(input, num_samples, replacement, generator))


@of_parameters
def _multinomial(input, num_samples, replacement, generator):
    weights = input._numpy()
    rows = weights.reshape(-1, weights.shape[-1]) if weights.ndim > 2 else weights
    drawn = np.asarray(_stream(generator).multinomial(rows, num_samples, replacement), "int64")
    return from_array(drawn.reshape(*weights.shape[:-1], -1) if weights.ndim > 2 else drawn)


def _fill(self, array):
    check_inplace(self, self.requires_grad)
    check_overlap(self)
    array = in_memory_order(np.asarray(array).astype(self.dtype.np, copy=False), self)
    if self.requires_grad and state.grad or state.level is not None:
        from torchish.api.overloads import copy_
        return copy_(self, from_array(array))
    self._write(from_numpy(array))
    return self


@in_place
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **kw):
    from_ = kw.get("from", from_)
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return _fill(self, _stream(generator).uniform(self.numel(), self.dtype.np, float(from_), float(to)))


@in_place
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _fill(self, _stream(generator).normal(self.numel(), self.dtype.np, float(mean), float(std), self.is_contiguous()))


@in_place
def bernoulli_(self, p=0.5, *, generator=None):
    if isinstance(p, Tensor):
        return _fill(self, _stream(generator).bernoulli(as_in_memory(np.broadcast_to(p._numpy(), self._aval.shape), self)))
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _fill(self, _stream(generator).bernoulli(float(p), self.numel(), self.dtype.np))


@in_place
def random_(self, from_=None, to=None, *, generator=None, **kw):
    from_ = kw.get("from", from_)
    if from_ is None and to is None:
        return _fill(self, _stream(generator).random_(self.numel(), self.dtype.np))
    if to is None:
        from_, to = 0, from_
    return _fill(self, _stream(generator).random_from_to(self.numel(), self.dtype.np, int(from_), int(to)))


def _sampled(name, *defaults):
    def method(self, *args, generator=None, **kw):
        values = list(args) + list(kw.values()) + list(defaults[len(args) + len(kw):])
        return _fill(self, getattr(_stream(generator), name)(self.numel(), self.dtype.np, *map(float, values)))
    method.__name__ = name + "_"
    return in_place(method)


exponential_, cauchy_ = _sampled("exponential", 1.0), _sampled("cauchy", 0.0, 1.0)
log_normal_, geometric_ = _sampled("log_normal", 1.0, 2.0), _sampled("geometric")


class fork_rng:
    """Restore the global stream on leaving the block."""

    def __init__(self, devices=None, enabled=True, **kw):
        self.enabled = enabled

    def __enter__(self):
        self.saved = get_rng_state()

    def __exit__(self, *exc):
        if self.enabled:
            set_rng_state(self.saved)



TORCH = {f: globals()[f] for f in ("Generator", "default_generator", "manual_seed", "seed", "initial_seed", "get_rng_state",
                                   "set_rng_state", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
                                   "normal", "bernoulli", "multinomial")}
METHODS = {f: globals()[f] for f in ("uniform_", "normal_", "bernoulli_", "random_", "exponential_", "cauchy_", "log_normal_",
                                     "geometric_", "multinomial", "bernoulli")}
