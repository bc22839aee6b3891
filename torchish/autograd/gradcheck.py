"""gradcheck and gradgradcheck: gradients compared with central differences."""

import warnings

import numpy as np

from torchish.autograd.batching import enter, leave, level_of
from torchish.autograd.dispatch import apply
from torchish.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torchish.autograd.function import UndefinedGrad
from torchish.autograd.gradients import grad
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor, tensor_of
from torchish.tensor.mt19937 import MT19937

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """A gradient that is not the function's."""


NOT_DOUBLE = ("Input #{} requires gradient and is not a double precision floating point or complex. This check will likely fail if all "
              "the inputs are not of double precision floating point or complex. ")
NO_INPUT = "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
OVERLAP = ("The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
           "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck.")
NOT_REENTRANT = ("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                 "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.")
UNDEFINED_RAISES = ("Expected backward function to handle undefined output grads. Please look at \"Notes about undefined output "
                    "gradients\" in \"tools/autograd/derivatives.yaml\"")
UNDEFINED_NONZERO = ("Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
                     "\"Notes about undefined output gradients\" in \"tools/autograd/derivatives.yaml\"")
UNDEFINED_WARNING = ("Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
                     "existing callers of this function. If this is true for you, you can call this function with "
                     "\"check_undefined_grad=False\" to disable the feature")
SLOW_SAYS = """
The above quantities relating the numerical and analytical jacobians are computed 
in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background 
about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:

Numerical:
 {}
Analytical:
{}

The max per-element difference (slow mode) is: {}.
"""  # noqa: W291 - PyTorch's own text
BATCHED = "For output {} and input {}:\n\n{}\n\nGot:\n{}\n\nExpected:\n{}"
BATCHED_REVERSE = "gradcheck or gradgradcheck failed while testing batched gradient computation."
BATCHED_FORWARD = "gradcheck failed while testing batched gradient computation with forward-mode AD."


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Whether backward (and forward mode, if asked for) gives what small differences of `func` give; raises GradcheckError (or
    returns False) where not.

    Gradients have their input's dtype always, so `check_grad_dtypes` asks nothing more; `masked` is about sparse tensors.
    """
    _need("check_forward_ad or check_backward_ad", check_forward_ad, check_backward_ad)
    _implies("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _implies("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad)
    settings, inputs = _Settings(eps, atol, rtol, nondet_tol, fast_mode), _as_tuple(inputs)
    try:
        _check_inputs(inputs)
        raw = func(*inputs)
        outputs = _differentiable(raw)
        if check_backward_ad:
            _compare_reverse(settings, func, inputs, raw)
        if check_forward_ad:
            _compare_forward(settings, func, inputs, raw, check_batched_forward_grad, check_undefined_grad)
        by = [x for x in inputs if _requires(x)]
        if check_batched_grad:
            for i, output in enumerate(outputs):
                _check_batched(output, by, i)
        if check_backward_ad:
            _check_zero_cotangents(outputs, by)
            if check_undefined_grad:
                _check_undefined(func, inputs, by, len(outputs))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """gradcheck of the gradient: a function of the inputs and of the output gradients (drawn at random unless given)."""
    _need("check_fwd_over_rev or check_rev_over_rev", check_fwd_over_rev, check_rev_over_rev)
    _implies("check_undefined_grad", check_undefined_grad, "check_rev_over_rev", check_rev_over_rev)
    _implies("check_batched_grad", check_batched_grad, "check_rev_over_rev", check_rev_over_rev)
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        cotangents = tuple(_cotangent(o, gen_non_contig_grad_outputs) for o in _differentiable(func(*inputs)))
    else:
        cotangents = _as_tuple(grad_outputs)
    n = len(inputs)
    by = [i for i, x in enumerate(inputs) if _requires(x)]
    track = [x.requires_grad for x in cotangents]

    def gradient(*args):
        xs = [x.requires_grad_() if i in by else x for i, x in enumerate(args[:n])]
        vs = [v.requires_grad_() if on else v for v, on in zip(args[n:], track)]
        grads = grad(_differentiable(func(*xs)), [xs[i] for i in by], vs, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(gradient, inputs + cotangents, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
                     fast_mode=fast_mode, masked=masked)


# --- arguments -------------------------------------------------------------------------------------------------------

def _need(names, *flags):
    if not any(flags):
        raise AssertionError(f"Expected at least one of {names} to be True")


def _implies(name, on, other, other_on):
    if on and not other_on:
        raise AssertionError(f"Setting {name}=True requires {other} to be True")


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _requires(x):
    return isinstance(x, Tensor) and x.requires_grad


def _differentiable(outputs):
    return tuple(o for o in _as_tuple(outputs) if o.requires_grad)


def _cotangent(output, noncontiguous):
    """A random output gradient between -1 and 1; with gaps in memory if asked for."""
    shape = (*output.shape[:-1], output.shape[-1] * 2) if noncontiguous and output.ndim else output.shape
    parts = [output.new_empty(shape, dtype=output.dtype.to_real()).uniform_(-1, 1) for _ in range(1 + output.is_complex())]
    t = parts[0] + parts[1] * 1j if output.is_complex() else parts[0]
    return (t[..., ::2] if shape != output.shape else t).requires_grad_()


def _check_inputs(inputs):
    for i, x in enumerate(inputs):
        if _requires(x):
            if x.dtype not in (dtypes.float64, dtypes.complex128):
                warnings.warn(NOT_DOUBLE.format(i), stacklevel=5)
            if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)):
                raise RuntimeError(OVERLAP.format(i))
    if not any(map(_requires, inputs)):
        raise ValueError(NO_INPUT)


# --- the check -------------------------------------------------------------------------------------------------------

class _Settings:
    def __init__(self, eps, atol, rtol, nondet_tol, fast):
        self.eps, self.atol, self.rtol, self.nondet_tol, self.fast = eps, atol, rtol, nondet_tol, fast


def _compare_reverse(settings, func, inputs, raw):
    for function, prefix in _real_outputs(func, raw):
        _compare(settings, function, inputs, raw if function is func else function(*inputs), lambda k, j, p=prefix: p(k))


def _compare_forward(settings, func, inputs, raw, batched, undefined):
    for function, xs, prefix in _real_inputs(func, inputs):
        outputs = raw if function is func else function(*xs)
        _compare(settings, function, xs, outputs, lambda k, j, p=prefix: p(j), forward=True)
        if batched:
            _check_batched_forward(function, xs, outputs)
    if undefined:
        _check_undefined_forward(func, inputs)


def _real_outputs(func, raw):
    """The real-valued functions to compare: of complex outputs the imaginary and the real parts."""
    if not any(o.is_complex() for o in _as_tuple(raw)):
        return [(func, lambda k: "")]
    where = [i for i, o in enumerate(_differentiable(raw)) if o.is_complex()]

    def part(name, word):
        def function(*xs):
            return tuple(getattr(o, name) if o.is_complex() else o for o in _as_tuple(func(*xs)))
        return function, lambda k: f"While considering the {word} part of complex outputs only, " if k in where else ""
    return [part("imag", "imaginary"), part("real", "real")]


def _real_inputs(func, inputs):
    """(function, inputs, text) for forward mode, which has real directions: functions of the imaginary and the real parts."""
    by = [i for i, x in enumerate(inputs) if _requires(x)]
    where = {i for i in by if inputs[i].is_complex()}
    if not where:
        return [(func, inputs, lambda j: "")]

    def part(name, word):
        def function(*xs):
            return func(*[_joined(x, inputs[i], name) if i in where else x for i, x in enumerate(xs)])
        parts = [getattr(x, name).detach().clone().requires_grad_() if i in where else x for i, x in enumerate(inputs)]
        return function, parts, lambda j: f"While considering the {word} part of complex inputs only, " if by[j] in where else ""
    return [part("imag", "imaginary"), part("real", "real")]


def _joined(part, whole, name):
    return apply(TABLE["complex"], (whole.real, part) if name == "imag" else (part, whole.imag))


def _compare(settings, func, inputs, raw, prefix, forward=False):
    """Numerical against analytical Jacobians, for every output and input."""
    raw = _as_tuple(raw)
    outputs = _differentiable(raw)
    by = [i for i, x in enumerate(inputs) if _requires(x)]
    us, vs = _directions([inputs[i] for i in by], outputs) if settings.fast else ([None] * len(by), [None] * len(outputs))
    numerical = [_numerical(settings, func, inputs, i, len(raw), u) for i, u in zip(by, us)]
    if not outputs:
        for block in numerical:
            if any((n.abs() > (settings.nondet_tol if settings.fast else 0)).any() for n in block):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    pushed = [_forward(func, inputs, i, u) for i, u in zip(by, us)] if forward else None
    columns = [k for k, o in enumerate(raw) if o.requires_grad]
    for k, (output, v) in enumerate(zip(outputs, vs)):
        column = columns[k]
        analytical = [p[column] for p in pushed] if forward else _analytical([inputs[i] for i in by], output, settings.nondet_tol, v)
        for j, a in enumerate(analytical):
            n, atol = numerical[j][column], settings.atol
            if settings.fast:
                atol = _adjusted(atol, us[j], None if forward else v)
                if not forward:
                    a, n = _contract(a, us[j]), (v * n).sum()
            if not _close(a, n, settings.rtol, atol):
                how = "computed with forward mode " if forward else ""
                text = f"{prefix(k, j)}Jacobian {how}mismatch for output {k:d} with respect to input {j:d},\nnumerical:{n}\nanalytical:{a}\n"
                raise GradcheckError(text + (_slow_says(settings, func, inputs, by[j], column, output, j, len(raw), forward)
                                             if settings.fast else ""))


def _slow_says(settings, func, inputs, i, column, output, j, count, forward):
    """What slow mode finds where fast mode failed."""
    n = _numerical(settings, func, inputs, i, count)[column]
    a = _forward(func, inputs, i)[column] if forward else \
        _analytical([x for x in inputs if _requires(x)], output, float("inf"))[j]
    return SLOW_SAYS.format(n, a, (n - a).abs().max())


def _close(a, b, rtol, atol):
    d = dtypes.promote_types(a.dtype, b.dtype)
    return bool((a.to(d) - b.to(d)).abs().le(atol + rtol * b.to(d).abs()).all())


# --- numerical -------------------------------------------------------------------------------------------------------

def _numerical(settings, func, inputs, i, count, u=None):
    """Jacobians of every output by input i, a row an element of the input; along `u` only when it is given."""
    x, eps = inputs[i], settings.eps
    if u is not None:
        steps = [(part * eps).reshape(x.shape) for part in (u if isinstance(u, tuple) else (u, u))]
        return _slope(func, inputs, i, *steps, eps, "")
    rows = []
    for k, index in enumerate(np.ndindex(*x.shape)):
        step = np.zeros(x.numel())
        step[k] = eps
        step = tensor_of(step).to(x.dtype.to_real()).reshape(x.shape)
        rows.append(_slope(func, inputs, i, step, step, eps, f"on index {index} "))
    if not rows:
        return [x.new_zeros((0, 0))] * count
    return [apply(TABLE["stack"], column, (0,)) for column in zip(*rows)]


def _slope(func, inputs, i, step, imaginary_step, eps, where):
    """d outputs along a step; for a complex input the steps along both axes make one complex number."""
    along = _difference(func, inputs, i, step, eps, where)
    if not inputs[i].is_complex():
        return along
    return [a + b * 1j for a, b in zip(along, _difference(func, inputs, i, imaginary_step * 1j, eps, where))]


def _difference(func, inputs, i, step, eps, where):
    """Central difference quotients of the outputs, flat. The input is changed in place, as functions may have captured it."""
    entry = inputs[i].data
    kept = entry.clone()
    try:
        entry.copy_(kept - step)
        low = [o.clone() for o in _as_tuple(func(*inputs))]
        entry.copy_(kept + step)
        high = [o.clone() for o in _as_tuple(func(*inputs))]
    finally:
        entry.copy_(kept)
    for a, b in zip(low, high):
        for what, same in (("shape", a.shape == b.shape), ("dtype", a.dtype is b.dtype)):
            if not same:
                raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by "
                                     f"{eps}, but got: {what}s {getattr(a, what)} and {getattr(b, what)}.")
    return [((b - a) / (2 * eps)).detach().reshape(-1) for a, b in zip(low, high)]


# --- analytical ------------------------------------------------------------------------------------------------------

def _analytical(by, output, nondet_tol, v=None):
    """Jacobians of one output by every input, a column an element of the output; v^T J only when `v` is given."""
    first, second = _columns(by, output, v), _columns(by, output, v)
    for a, b in zip(first, second):
        if a.numel() and (a - b).abs().max() > nondet_tol:
            raise GradcheckError(NOT_REENTRANT.format(nondet_tol))
    return first


def _columns(by, output, v):
    if v is not None:
        vectors = [v.reshape(output.shape)]
    else:
        vectors = [tensor_of(row).to(output.dtype).reshape(output.shape) for row in np.eye(output.numel())]
    columns = [grad(output, by, vector, retain_graph=True, allow_unused=True) for vector in vectors]
    if not columns:
        return [x.new_zeros((x.numel(), 0)) for x in by]
    return [apply(TABLE["stack"], [x.new_zeros(x.numel()) if g is None else g.reshape(-1) for g in column], (1,))
            for x, column in zip(by, zip(*columns))]


def _forward(func, inputs, i, u=None):
    """Jacobians of every output by input i from forward mode, a row an element of the input; along `u` only when it is given."""
    x = inputs[i]
    if u is not None:
        return [t.reshape(-1) for t in _tangents(func, inputs, i, u.reshape(x.shape).clone())]
    if not x.numel():
        return [x.new_zeros((0, 0))] * len(_as_tuple(func(*inputs)))
    rows = [_tangents(func, inputs, i, tensor_of(row.reshape(tuple(x.shape))).to(x.dtype)) for row in np.eye(x.numel())]
    return [apply(TABLE["stack"], [t.reshape(-1) for t in column], (0,)) for column in zip(*rows)]


def _tangents(func, inputs, i, along):
    """The tangents of every output when input i moves `along` (not at all if that is None) and the others stay."""
    def dual(k, x):
        if not _requires(x):
            return x
        x = x.detach()
        d = along if k == i else x.new_zeros(x.shape)
        return x if d is None else make_dual(x, d)

    with dual_level():
        outs = _as_tuple(func(*[dual(k, x) for k, x in enumerate(inputs)]))
        tangents = [unpack_dual(o).tangent for o in outs]
    return [o.new_zeros(o.shape) if t is None else t.detach() for o, t in zip(outs, tangents)]


# --- fast mode: one number u^T J v in place of every Jacobian ---------------------------------------------------------

def _directions(inputs, outputs):
    """Random unit vectors, the same at every call: a pair for a complex input."""
    stream = MT19937()

    def draw(like):
        x = tensor_of(stream.uniform(like.numel(), np.float32)).to(like.dtype.to_real())
        return x / (x * x).sum().sqrt()

    us = [(draw(x), draw(x)) if x.is_complex() else draw(x) for x in inputs]
    return us, [draw(o) for o in outputs]


def _contract(vj, u):
    vj = vj.reshape(-1)
    return (vj.real * u[0]).sum() + (vj.imag * u[1]).sum() * 1j if isinstance(u, tuple) else (vj * u).sum()


def _adjusted(atol, u, v):
    atol *= sum(float(part.sum()) for part in (u if isinstance(u, tuple) else (u,)))
    return atol if v is None else atol * float(v.sum())


# --- what else backward must do ---------------------------------------------------------------------------------------

def _check_batched(output, by, number):
    """A batched backward pass must agree with single ones."""
    def pull(v, batched=False):
        return grad(output, by, v, retain_graph=True, allow_unused=True, is_grads_batched=batched)

    vectors = _random_pair(output)
    for i, (got, *single) in enumerate(zip(pull(_stacked(vectors), True), *map(pull, vectors))):
        if got is not None:
            _same_batched(got, _stacked(single), number, i, BATCHED_REVERSE)


def _check_batched_forward(func, inputs, raw):
    """Forward mode along mapped directions must agree with one direction at a time."""
    columns = [k for k, o in enumerate(_as_tuple(raw)) if o.requires_grad]
    for j, i in enumerate([i for i, x in enumerate(inputs) if _requires(x)]):
        vectors = _random_pair(inputs[i])
        expected = [_stacked(pair) for pair in zip(*[_tangents(func, inputs, i, v) for v in vectors])]
        with level_of(2, "legacy") as level:
            got = [leave(t, level, 0) for t in _tangents(func, inputs, i, enter(_stacked(vectors), level, 0))]
        for k, column in enumerate(columns):
            _same_batched(got[column], expected[column], k, j, BATCHED_FORWARD)


def _random_pair(like):
    return [tensor_of(np.random.default_rng(k).standard_normal(tuple(like.shape))).to(like.dtype) for k in range(2)]


def _stacked(tensors):
    return apply(TABLE["stack"], tensors, (0,))


def _same_batched(got, expected, output, i, failed):
    if not _close(got, expected, 1e-5, 1e-8):
        raise GradcheckError(BATCHED.format(output, i, failed, got, expected))


def _check_zero_cotangents(outputs, by):
    if outputs:
        for g in grad(outputs, by, [o.new_zeros(o.shape) for o in outputs], retain_graph=True, allow_unused=True):
            if g is not None and not g.eq(0).all():
                raise GradcheckError("backward not multiplied by grad_output")


def _check_undefined(func, inputs, by, count):
    """Missing output gradients, all together and one at a time, must act as zeros."""
    for missing in [range(count), *([k] for k in range(count) if count > 1)]:
        outputs = [UndefinedGrad.apply(o) if k in missing else o for k, o in enumerate(_differentiable(func(*inputs)))]
        if not outputs:
            continue
        try:
            grads = grad(outputs, by, [o.new_zeros(o.shape) for o in outputs], allow_unused=True)
        except RuntimeError as e:
            warnings.warn(UNDEFINED_WARNING, stacklevel=6)
            raise GradcheckError(UNDEFINED_RAISES) from e
        if any(g is not None and not g.eq(0).all() for g in grads):
            warnings.warn(UNDEFINED_WARNING, stacklevel=6)
            raise GradcheckError(UNDEFINED_NONZERO)


def _check_undefined_forward(func, inputs):
    """An input without a tangent must act as one whose tangent is zero."""
    for i in [i for i, x in enumerate(inputs) if _requires(x)]:
        zero = _tangents(func, inputs, i, inputs[i].new_zeros(inputs[i].shape))
        for k, (got, expected) in enumerate(zip(zero, _tangents(func, inputs, i, None))):
            if not _close(got, expected, 1e-5, 1e-8):
                raise GradcheckError("Mismatch in tangent values for output with index: ", k, " when input: ", inputs[i],
                                     " has an undefined tangent value. ", " Got: ", got, " but expected: ", expected)
