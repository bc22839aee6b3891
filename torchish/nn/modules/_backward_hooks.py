"""Full backward hooks: two identity gates around a forward, whose graph nodes carry the hooks."""

import warnings

import torchish as torch


class BackwardHookFunction(torch.autograd.Function):
    """Identity on several tensors, so that all of them share one node."""

    @staticmethod
    def forward(ctx, *tensors):
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return grads


class _Gate:
    """The tensors of a tuple that require grad, sent through one node."""

    def __init__(self, values):
        self.where = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor) and v.requires_grad]
        self.size = len(values)
        # hooks see zeros for the other tensors
        self.others = {i: (v.shape, v.dtype) for i, v in enumerate(values) if isinstance(v, torch.Tensor) and i not in self.where}

    def __call__(self, values, hook):
        passed = BackwardHookFunction.apply(*[values[i] for i in self.where])
        passed[0].grad_fn.register_hook(hook)
        out = list(values)
        for i, t in zip(self.where, passed):
            out[i] = t
        return tuple(out) if type(values) is tuple else type(values)(*out)

    def spread(self, grads):
        """The gradients at the places of their tensors."""
        out = [None] * self.size
        for i, g in zip(self.where, grads):
            out[i] = g
        for i, (shape, dtype) in self.others.items():
            out[i] = torch.zeros(shape, dtype=dtype)
        return tuple(out)

    def gather(self, grads):
        """What comes back from hooks, for the node."""
        return tuple(grads[i] for i in self.where)


def _gated(values, hook):
    """(the values, their gate); no gate where nothing requires grad."""
    gate = _Gate(values)
    if not (torch.is_grad_enabled() and gate.where):
        return values, None
    return gate(values, hook), gate


class BackwardHooks:
    """The hooks of one call of a module."""

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs = None
        self.inputs = self.outputs = None
        self.n_inputs = 0

    def gate_inputs(self, args):
        self.n_inputs = len(args)
        args, self.inputs = _gated(args, self._at_inputs)
        return args

    def gate_outputs(self, result):
        values = result if isinstance(result, tuple) else (result,)
        values, self.outputs = _gated(values, self._at_outputs)
        return values if isinstance(result, tuple) else values[0]

    def _at_inputs(self, grad_inputs, _):
        if self.grad_outputs is None:  # reached without passing through the module's output (double backward)
            return None
        grads = self.inputs.spread(grad_inputs)
        for hook in self.hooks:
            new = hook(self.module, grads, self.grad_outputs)
            if new is None:
                continue
            if len(new) != len(grads):
                raise RuntimeError("Backward hook returned an invalid number of grad_input, "
                                   f"got {len(new)}, but expected {len(grads)}")
            grads = new
        self.grad_outputs = None
        return self.inputs.gather(grads)

    def _at_outputs(self, _, grad_outputs):
        grads = self.outputs.spread(grad_outputs)
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
        return self.outputs.gather(grads)

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
