"""torch.utils.checkpoint: save memory by computing intermediates again in the backward pass."""

from torchish.api import random
from torchish.autograd import Function, backward, enable_grad, is_grad_enabled
from torchish.tensor import Tensor


class _Checkpoint(Function):
    """Keeps the inputs alone; backward runs the function again and differentiates it."""

    @staticmethod
    def forward(ctx, run, preserve, *args):
        ctx.function, ctx.preserve = run, preserve
        ctx.state = random.get_rng_state() if preserve else None
        ctx.is_tensor = [isinstance(a, Tensor) for a in args]
        ctx.others = [None if t else a for a, t in zip(args, ctx.is_tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, Tensor)))
        return run(*args)

    @staticmethod
    def backward(ctx, *cotangents):
        saved = iter(ctx.saved_tensors)
        args = [next(saved).detach().requires_grad_(need) if t else a
                for a, t, need in zip(ctx.others, ctx.is_tensor, ctx.needs_input_grad[2:])]
        now = random.get_rng_state() if ctx.preserve else None
        if ctx.preserve:
            random.set_rng_state(ctx.state)
        with enable_grad():
            outs = ctx.function(*args)
        if ctx.preserve:
            random.set_rng_state(now)
        outs = outs if isinstance(outs, tuple) else (outs,)
        pairs = [(o, c) for o, c in zip(outs, cotangents) if isinstance(o, Tensor) and o.requires_grad]
        backward([o for o, _ in pairs], [c for _, c in pairs])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


def checkpoint(function, *args, use_reentrant=None, context_fn=None, determinism_check="default", debug=False, early_stop=True,
               preserve_rng_state=True, **kwargs):
    """`function(*args)`, with its intermediates computed again in the backward pass.

    Without `use_reentrant` nothing is recomputed: XLA decides what a fused program keeps, and every order of derivative works.
    """
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant and is_grad_enabled():
        return _Checkpoint.apply(function, preserve_rng_state, *args)
    return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A chain of functions, checkpointed in `segments` pieces."""
    functions = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(functions) // segments
    for start in [*range(0, size * (segments - 1), size), size * (segments - 1)]:
        end = start + size if start < size * (segments - 1) else len(functions)

        def run(x, piece=functions[start:end]):
            for f in piece:
                x = f(x)
            return x

        input = checkpoint(run, input, use_reentrant=use_reentrant, **kwargs) if end < len(functions) else run(input)
    return input
