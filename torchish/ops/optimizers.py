"""Optimizer steps as rows: one operation for all parameters of a group, as PyTorch's fused implementations are.

Operands are the numbers that change from step to step, then the tensors by columns: `count` parameters, as many gradients, as
many states of each name. Results are the new parameters and states in the same order. The arithmetic, its order included, is
that of PyTorch's loops over parameters.
"""

import jax.numpy as jnp
from jax import lax

from torchish.ops.table import op


def each(count, tensors, rule, maximize=False, weight_decay=0):
    """`rule(p, grad, *states) -> (p, *states)` for every parameter; results by columns, in the dtypes that they had.

    The gradient is turned around (`maximize`) and the parameter's decay added before. Real and imaginary parts are updated like
    two real numbers.
    """
    def whole(*olds):
        p, g, *states = map(_parts, olds)
        g = -g if maximize else g
        news = rule(p, g + weight_decay * p if weight_decay != 0 else g, *states)
        return [_joined(new, old.dtype) for new, old in zip(news, (olds[0], *olds[2:]))]

    rows = zip(*[tensors[i:i + count] for i in range(0, len(tensors), count)])
    return [t for column in zip(*[whole(*row) for row in rows]) for t in column]


def _parts(x):
    return jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x


def _joined(x, dtype):
    return lax.complex(x[..., 0], x[..., 1]) if jnp.issubdtype(dtype, jnp.complexfloating) else x.astype(dtype)


def mean_square(average, g, keep):
    """The running average of the gradient's square, of which `keep` stays."""
    return average * keep + (1 - keep) * g * g


def towards(average, new, share):
    """`average`, moved by a share of the way to `new`."""
    return average + share * (new - average)


@op(names="", differentiable=True, varying=(0,))
def fused_sgd(lr, /, *tensors, count, momentum, dampening, weight_decay, nesterov, maximize, first):
    """SGD; `first` is the step that creates the momentum buffers."""
    def rule(p, g, *buffer):
        if momentum == 0:
            return (p - lr * g,)
        b = g if first else buffer[0] * momentum + (1 - dampening) * g
        return p - lr * (g + momentum * b if nesterov else b), b

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0, 1, 2))
def fused_adam(step_size, root, decay, /, *tensors, count, beta1, beta2, eps, weight_decay, amsgrad, maximize):
    """Adam and AdamW; `decay` is AdamW's factor of the parameter, `root` that of the second moment's bias."""
    def rule(p, g, m, v, *largest):
        m, v = towards(m, g, 1 - beta1), mean_square(v, g, beta2)
        largest = (jnp.maximum(largest[0], v),) if amsgrad else ()
        return (p * decay - step_size * m / (jnp.sqrt(largest[0] if amsgrad else v) / root + eps), m, v, *largest)

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0,))
def fused_adamax(step_size, /, *tensors, count, beta1, beta2, eps, weight_decay, maximize):
    """Adamax: the largest recent gradient instead of the root mean square."""
    def rule(p, g, m, largest):
        m, largest = towards(m, g, 1 - beta1), jnp.maximum(largest * beta2, jnp.abs(g) + eps)
        return p - step_size * m / largest, m, largest

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0, 1, 2, 3))
def fused_nadam(of_gradient, of_average, bias, decay, /, *tensors, count, beta1, beta2, eps, weight_decay, maximize):
    """NAdam; the step is `of_gradient` times the gradient and `of_average` times its average, scaled."""
    def rule(p, g, m, v):
        m, v = towards(m, g, 1 - beta1), mean_square(v, g, beta2)
        scale = jnp.sqrt(v / bias) + eps
        return p * decay - of_gradient * g / scale - of_average * m / scale, m, v

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0, 1, 2))
def fused_radam(step_size, rectified, decay, /, *tensors, count, beta1, beta2, eps, weight_decay, adaptive, maximize):
    """RAdam; without `adaptive` the variance is not known well enough to divide by."""
    def rule(p, g, m, v):
        m, v = towards(m, g, 1 - beta1), mean_square(v, g, beta2)
        move = m * step_size
        return p * decay - (move * (rectified / (jnp.sqrt(v) + eps)) if adaptive else move), m, v

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0,))
def fused_adagrad(lr, /, *tensors, count, eps, weight_decay, maximize):
    """Adagrad; `lr` has decayed already."""
    def rule(p, g, total):
        total = total + g * g
        return p - lr * g / (jnp.sqrt(total) + eps), total

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0,))
def fused_adadelta(lr, /, *tensors, count, rho, eps, weight_decay, maximize):
    """Adadelta."""
    def rule(p, g, square, steps):
        square = mean_square(square, g, rho)
        delta = jnp.sqrt(steps + eps) / jnp.sqrt(square + eps) * g
        return p - lr * delta, square, mean_square(steps, delta, rho)

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0,))
def fused_rmsprop(lr, /, *tensors, count, alpha, eps, weight_decay, momentum, centered, maximize):
    """RMSprop; the states are the mean square, then the momentum buffer and the mean, where wanted."""
    def rule(p, g, square, *more):
        more = list(more)
        square = mean_square(square, g, alpha)
        mean = [towards(more.pop(), g, 1 - alpha)] if centered else []
        root = jnp.sqrt(square - mean[0] * mean[0] if centered else square) + eps
        if momentum <= 0:
            return p - lr * g / root, square, *mean
        buffer = more[0] * momentum + g / root
        return p - lr * buffer, square, buffer, *mean

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True)
def fused_rprop(*tensors, count, shrink, grow, low, high, maximize):
    """Rprop; where the gradient's sign changed, the parameter waits one step."""
    def rule(p, g, previous, size):
        sign = jnp.sign(g * previous)
        size = jnp.clip(size * jnp.where(sign > 0, grow, jnp.where(sign < 0, shrink, 1)), low, high)
        g = jnp.where(sign < 0, 0, g)
        return p - jnp.sign(g) * size, g, size

    return each(count, tensors, rule, maximize)


@op(names="", differentiable=True, varying=(0, 1, 2))
def fused_asgd(eta, decay, share, /, *tensors, count, weight_decay, averaging, maximize):
    """ASGD; before `averaging` the average follows the parameter."""
    def rule(p, g, average):
        p = p * decay - eta * g
        return p, towards(average, p, share) if averaging else p

    return each(count, tensors, rule, maximize, weight_decay)


@op(names="", differentiable=True, varying=(0, 1, 2))
def fused_adafactor(rho, share, decay, /, *tensors, count, eps1, eps2, d, maximize):
    """Adafactor; the states are means of squares over rows and over columns, or one for each element of a vector."""
    def size(x):
        return jnp.linalg.norm(x.ravel()) / x.size**0.5

    def rule(p, g, *squares):
        eps = jnp.finfo(p.dtype).eps if eps1 is None else eps1
        step_size = jnp.maximum(size(p), eps2) * rho
        axes = (-1, -2) if g.ndim > 1 else ((),)
        squares = [towards(s, jnp.mean(g * g, axis, keepdims=True), share) for s, axis in zip(squares, axes)]
        if g.ndim > 1:
            rows, columns = squares
            variance = rows * columns / jnp.maximum(jnp.mean(rows, -2, keepdims=True), eps)
        else:
            variance = squares[0]
        move = g / jnp.sqrt(jnp.maximum(variance, eps * eps))
        return p * decay - step_size / jnp.maximum(1, size(move) / d) * move, *squares

    return each(count, tensors, rule, maximize)


def _rounded(x):
    """To bfloat16's precision, in which XLA would leave a mere conversion out."""
    return lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)


def _orthogonal(x, a, b, c, eps, steps):
    """A matrix near the orthogonal one with the same singular vectors, by Newton-Schulz steps in half precision."""
    tall = x.shape[0] > x.shape[1]
    x = _rounded((x.T if tall else x).astype(jnp.float32))
    x = _rounded(x / jnp.maximum(_rounded(jnp.linalg.norm(x)), _rounded(jnp.float32(eps))))
    for _ in range(steps):
        gram = _rounded(x @ x.T)
        x = _rounded(a * x + _rounded(b * gram + c * (gram @ gram)) @ x)
    return x.T if tall else x


@op(names="", differentiable=True, varying=(0, 1))
def fused_muon(lr, decay, /, *tensors, count, momentum, nesterov, a, b, c, eps, steps):
    """Muon; `lr` has been adjusted to the parameters' shapes."""
    def rule(p, g, buffer):
        buffer = towards(buffer, g, 1 - momentum)
        move = _orthogonal(towards(g, buffer, momentum) if nesterov else buffer, a, b, c, eps, steps)
        return p * decay - lr * move.astype(p.dtype), buffer

    return each(count, tensors, rule)


@op(names="")
def lbfgs_direction(grad, scale, /, *history, room):
    """The inverse Hessian times -grad by L-BFGS's two-loop recursion; `history` is `room` changes of the gradient, as many of the
    parameters and as many 1 / (their product). Changes of zero leave the result as it is."""
    dirs, steps, ro = (jnp.stack(history[i:i + room]) for i in range(0, 3 * room, room))

    def back(k, state):
        q, al = state
        i = room - 1 - k
        a = jnp.dot(steps[i], q) * ro[i]
        return q - a * dirs[i], al.at[i].set(a)

    q, al = lax.fori_loop(0, room, back, (-grad, jnp.zeros_like(ro)))
    return lax.fori_loop(0, room, lambda i, r: r + steps[i] * (al[i] - jnp.dot(dirs[i], r) * ro[i]), q * scale)
