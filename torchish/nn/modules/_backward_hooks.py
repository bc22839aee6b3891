"""Full backward hooks: two identity gates around a forward, whose graph nodes carry the hooks."""

import warnings

import torchish as torch


class BackwardHookFunction(torch.autograd.Function):
    """Identity on several tensors, so that all of them share one node."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return grads


def _gate(values, register):
    """Send the tensors of a tuple through one node; returns the new tuple and their positions (None: no node)."""
    where = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor)]
    if not (torch.is_grad_enabled() and any(values[i].requires_grad for i in where)):
        return values, None
    passed = BackwardHookFunction.apply(*[values[i] for i in where])
    register(next(t.grad_fn for t in passed if t.grad_fn is not None))
    out = list(values)
    for i, t in zip(where, passed):
        out[i] = t
    return (tuple(out) if type(values) is tuple else type(values)(*out)), where


def _spread(where, grads, size):
    out = [None] * size
    for i, g in zip(where, grads):
        out[i] = g
    return tuple(out)


class BackwardHooks:
    """The hooks of one call of a module."""

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs = None
        self.inputs = self.outputs = None
        self.n_inputs = self.n_outputs = 0

    def gate_inputs(self, args):
        self.n_inputs = len(args)
        args, self.inputs = _gate(args, lambda node: node.register_hook(self._at_inputs))
        return args

    def gate_outputs(self, result):
        values = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(values)
        values, self.outputs = _gate(values, lambda node: node.register_hook(self._at_outputs))
        return values if isinstance(result, tuple) else values[0]

    def _at_inputs(self, grad_inputs, _):
        if self.grad_outputs is None:  # reached without passing through the module's output (double backward)
            return None
        grads = _spread(self.inputs, grad_inputs, self.n_inputs)
        for hook in self.hooks:
            new = hook(self.module, grads, self.grad_outputs)
            if new is None:
                continue
            if len(new) != len(grads):
                raise RuntimeError("Backward hook returned an invalid number of grad_input, "
                                   f"got {len(new)}, but expected {len(grads)}")
            grads = new
        self.grad_outputs = None
        return tuple(grads[i] for i in self.inputs)

    def _at_outputs(self, _, grad_outputs):
        grads = _spread(self.outputs, grad_outputs, self.n_outputs)
        for hook in self.pre_hooks:
            new = hook(self.module, grads)
            if new is None:
                continue
            if len(new) != len(grads):
                raise RuntimeError("Backward pre hook returned an invalid number of grad_output, "
                                   f"got {len(new)}, but expected {len(grads)}")
            grads = new
        if self.inputs is None:
            self._without_inputs(grads)
        else:
            self.grad_outputs = grads
        return tuple(grads[i] for i in self.outputs)

    def _without_inputs(self, grads):
        """No input requires grad: the hooks run here, with nothing to replace."""
        warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                      "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                      "#torch.nn.Module.register_full_backward_hook for more details.", stacklevel=5)
        for hook in self.hooks:
            new = hook(self.module, (None,) * self.n_inputs, grads)
            if new is not None and not (isinstance(new, tuple) and all(g is None for g in new)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or "
                                   "None for all gradients.")
