"""Optimizer steps as rows: one operation for all parameters of a group, as PyTorch's fused implementations are.

Operands are the numbers that change from step to step, then the tensors by columns: `count` parameters, as many gradients, as
many states of each name. Results are the new parameters and states in the same order. The arithmetic, its order included, is
that of PyTorch's loops over parameters.
"""

import jax.numpy as jnp

from torchish.ops.table import op


def each(count, tensors, rule):
    """`rule(p, grad, *states) -> (p, *states)` for every parameter; results by columns."""
    rows = zip(*[tensors[i:i + count] for i in range(0, len(tensors), count)])
    return [t for column in zip(*[rule(*row) for row in rows]) for t in column]


@op(names="", differentiable=True, varying=(0,))
def fused_sgd(lr, /, *tensors, count, momentum, dampening, weight_decay, nesterov, maximize, first):
    """SGD; `first` is the step that creates the momentum buffers."""
    def rule(p, g, *buffer):
        g = -g if maximize else g
        if weight_decay != 0:
            g = g + weight_decay * p
        if momentum == 0:
            return (p - lr * g,)
        b = g if first else buffer[0] * momentum + (1 - dampening) * g
        return p - lr * (g + momentum * b if nesterov else b), b

    return each(count, tensors, rule)


@op(names="", differentiable=True, varying=(0, 1, 2))
def fused_adam(step_size, root, decay, /, *tensors, count, beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize):
    """Adam and AdamW; `decay` is AdamW's factor of the parameter, `root` that of the second moment's bias."""
    def rule(p, g, m, v, *largest):
        g = -g if maximize else g
        if weight_decay != 0:
            p, g = (p * decay, g) if decoupled else (p, g + weight_decay * p)
        m = m + (1 - beta1) * (g - m)
        v = v * beta2 + (1 - beta2) * g * g
        largest = (jnp.maximum(largest[0], v),) if amsgrad else ()
        return (p - step_size * m / (jnp.sqrt(largest[0] if amsgrad else v) / root + eps), m, v, *largest)

    return each(count, tensors, rule)
