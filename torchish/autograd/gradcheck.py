"""gradcheck and gradgradcheck: gradients compared with central differences."""

import warnings

import numpy as np

from torchish.autograd.dispatch import apply
from torchish.autograd.function import Function
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
FORWARD = ("torchish derives forward mode and reverse mode from the same rules and checks the latter: leave {}=False, or compare "
           "torch.func.jvp with a difference quotient")


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Whether backward gives what small differences of `func` give; raises GradcheckError (or returns False) where not.

    Gradients have their input's dtype always, so `check_grad_dtypes` asks nothing more; `masked` is about sparse tensors.
    """
    _need("check_forward_ad or check_backward_ad", check_forward_ad, check_backward_ad)
    _implies("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _implies("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad)
    if check_forward_ad:
        raise NotImplementedError(FORWARD.format("check_forward_ad"))
    try:
        _check(_Settings(eps, atol, rtol, nondet_tol, fast_mode), func, _as_tuple(inputs), check_undefined_grad, check_batched_grad)
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
    if check_fwd_over_rev:
        raise NotImplementedError(FORWARD.format("check_fwd_over_rev"))
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
                     check_batched_grad=check_batched_grad, fast_mode=fast_mode, masked=masked)


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


def _check(settings, func, inputs, undefined, batched):
    _check_inputs(inputs)
    raw = func(*inputs)
    outputs = _differentiable(raw)
    for function, prefix in _real_parts(func, raw, outputs):
        _compare(settings, function, inputs, prefix, outputs if function is func else None, raw if function is func else None)
    by = [x for x in inputs if _requires(x)]
    if batched:
        for i, output in enumerate(outputs):
            _check_batched(output, by, i)
    _check_zero_cotangents(outputs, by)
    if undefined:
        _check_undefined(func, inputs, by, len(outputs))


def _real_parts(func, raw, outputs):
    """The real-valued functions to compare: of complex outputs the imaginary and the real parts."""
    if not any(o.is_complex() for o in _as_tuple(raw)):
        return [(func, lambda k: "")]
    where = [i for i, o in enumerate(outputs) if o.is_complex()]

    def part(name):
        def function(*xs):
            return tuple(getattr(o, name) if o.is_complex() else o for o in _as_tuple(func(*xs)))
        word = "imaginary" if name == "imag" else name
        return function, lambda k: f"While considering the {word} part of complex outputs only, " if k in where else ""
    return [part("imag"), part("real")]


def _compare(settings, func, inputs, prefix, outputs, raw):
    """Numerical against analytical, for every output and input."""
    if outputs is None:
        raw = func(*inputs)
        outputs = _differentiable(raw)
    raw = _as_tuple(raw)
    by = [i for i, x in enumerate(inputs) if _requires(x)]
    if settings.fast:
        us, vs = _directions([inputs[i] for i in by], outputs)
    else:
        us, vs = [None] * len(by), [None] * len(outputs)
    numerical = [_numerical(settings, func, inputs, i, len(raw), u) for i, u in zip(by, us)]
    if not outputs:
        for block in numerical:
            if any((n.abs() > (settings.nondet_tol if settings.fast else 0)).any() for n in block):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    columns = [k for k, o in enumerate(raw) if o.requires_grad]
    for k, (output, v) in enumerate(zip(outputs, vs)):
        analytical = _analytical([inputs[i] for i in by], output, settings.nondet_tol, v)
        for j, a in enumerate(analytical):
            n, atol = numerical[j][columns[k]], settings.atol
            if settings.fast:
                a, n, atol = _contract(a, us[j]), (v * n).sum(), _adjusted(atol, us[j], v)
            if not _close(a, n, settings.rtol, atol):
                text = (f"{prefix(k)}Jacobian mismatch for output {k:d} with respect to input {j:d},\nnumerical:{n}\nanalytical:{a}\n")
                raise GradcheckError(text + (_slow_says(settings, func, inputs, by[j], columns[k], output, j, len(raw))
                                             if settings.fast else ""))


def _slow_says(settings, func, inputs, i, column, output, j, count):
    """What slow mode finds where fast mode failed."""
    n = _numerical(settings, func, inputs, i, count)[column]
    a = _analytical([x for x in inputs if _requires(x)], output, float("inf"))[j]
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
    return atol * sum(float(part.sum()) for part in (u if isinstance(u, tuple) else (u,))) * float(v.sum())


# --- what else backward must do ---------------------------------------------------------------------------------------

def _check_batched(output, by, number):
    """A batched backward pass must agree with single ones."""
    vectors = [tensor_of(np.random.default_rng(k).standard_normal(tuple(output.shape))).to(output.dtype) for k in range(2)]
    stack = TABLE["stack"]

    def pull(v, batched=False):
        return grad(output, by, v, retain_graph=True, allow_unused=True, is_grads_batched=batched)

    for i, (got, *single) in enumerate(zip(pull(apply(stack, vectors, (0,)), True), *map(pull, vectors))):
        if got is not None and not _close(got, apply(stack, single, (0,)), 1e-5, 1e-8):
            raise GradcheckError(f"For output {number} and input {i}:\n\ngradcheck or gradgradcheck failed while testing batched "
                                 f"gradient computation.\n\nGot:\n{got}\n\nExpected:\n{apply(stack, single, (0,))}")


def _check_zero_cotangents(outputs, by):
    if outputs:
        for g in grad(outputs, by, [o.new_zeros(o.shape) for o in outputs], retain_graph=True, allow_unused=True):
            if g is not None and not g.eq(0).all():
                raise GradcheckError("backward not multiplied by grad_output")


class _Undefined(Function):
    """Sends no gradient at all to what is before it."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


def _check_undefined(func, inputs, by, count):
    """Missing output gradients, all together and one at a time, must act as zeros."""
    for missing in [range(count), *([k] for k in range(count) if count > 1)]:
        outputs = [_Undefined.apply(o) if k in missing else o for k, o in enumerate(_differentiable(func(*inputs)))]
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
