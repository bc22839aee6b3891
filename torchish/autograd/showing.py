"""What a tensor prints as inside the transforms of torch.func: its value, in one wrapper a transform that it takes part in."""

import textwrap

from torchish.autograd.batching import dim_of, leave, whole
from torchish.autograd.modes import state, suspended, transformed
from torchish.program.batched import Level, levels_of


def shown(t):
    """The repr of a tensor inside transforms, innermost first; None where it takes part in none."""
    for k in reversed(range(len(state.transforms))):
        level = state.transforms[k]
        if level.__class__ is Level:
            dim = dim_of(t, level)
            if dim is not None:
                return _wrapped(f"BatchedTensor(lvl={k + 1}, bdim={dim}", leave(t, level, dim), k)
        elif hasattr(level, "tracks") and level.tracks(t):
            return _wrapped(f"GradTrackingTensor(lvl={k + 1}", t, k)
    return _escaped(t) if t._aval.traced.__class__ is tuple else None


def _wrapped(name, inner, k):
    with transformed(state.transforms[:k]), suspended():
        text = shown(inner) or repr(inner.detach())
    return name + ", value=\n" + textwrap.indent(text, "    ") + "\n)"


def _escaped(t):
    """A tensor that has left its vmap: all of its entries."""
    text = repr(whole(t))
    for level in levels_of(t._value):
        text = f"BatchedTensor(lvl={level.index}, bdim=0, value=\n" + textwrap.indent(text, "    ") + "\n)"
    return text
