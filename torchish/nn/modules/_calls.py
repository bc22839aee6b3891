"""Calling a module: forward and its hooks."""

import warnings

import torchish as torch
from torchish.autograd.hooks import RemovableHandle
from torchish.nn.modules import module as home  # where the hooks of all modules are, under PyTorch's names
from torchish.nn.modules._backward_hooks import BackwardHooks


def add_hook(hooks, hook, prepend=False, **flags):
    """Register under a fresh id; each flag is a dict that notes the id when asked."""
    marks = [d for d, on in flags.values() if on]
    handle = RemovableHandle(hooks, extra_dict=marks or None)
    hooks[handle.id] = hook
    for d in marks:
        d[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


MIXED = ("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them.")


def register_module_forward_pre_hook(hook):
    """Before every module's forward: `hook(module, args) -> None or new args`."""
    return add_hook(home._global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """After every module's forward: `hook(module, args, output) -> None or new output`."""
    return add_hook(home._global_forward_hooks, hook, kwargs=(home._global_forward_hooks_with_kwargs, with_kwargs),
                    always=(home._global_forward_hooks_always_called, always_call))


def _register_global_backward(hook, full):
    if home._global_is_full_backward_hook is (not full):
        raise RuntimeError(MIXED)
    home._global_is_full_backward_hook = full
    return add_hook(home._global_backward_hooks, hook)


def register_module_backward_hook(hook):
    """The old backward hook for every module; prefer `register_module_full_backward_hook`."""
    return _register_global_backward(hook, False)


def register_module_full_backward_hook(hook):
    """For every module: `hook(module, grad_input, grad_output) -> None or new grad_input`."""
    return _register_global_backward(hook, True)


def register_module_full_backward_pre_hook(hook):
    """For every module: `hook(module, grad_output) -> None or new grad_output`."""
    return add_hook(home._global_backward_pre_hooks, hook)


def register_module_buffer_registration_hook(hook):
    """Whenever a buffer is registered: `hook(module, name, buffer) -> None or another buffer`."""
    return add_hook(home._global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Whenever a submodule is registered: `hook(module, name, submodule) -> None or another module`."""
    return add_hook(home._global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Whenever a parameter is registered: `hook(module, name, param) -> None or another parameter`."""
    return add_hook(home._global_parameter_registration_hooks, hook)


def _first_tensor(x):
    while not isinstance(x, torch.Tensor):
        x = next(v for v in x.values() if isinstance(v, torch.Tensor)) if isinstance(x, dict) else x[0]
    return x


class Calls:
    """The part of Module that runs forward and the hooks around it."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Before forward: `hook(module, args) -> None or new args`; with kwargs `hook(module, args, kwargs)`."""
        return add_hook(self._forward_pre_hooks, hook, prepend,
                        kwargs=(self._forward_pre_hooks_with_kwargs, with_kwargs))

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """After forward: `hook(module, args, output) -> None or new output`; with kwargs they come before output."""
        return add_hook(self._forward_hooks, hook, prepend, kwargs=(self._forward_hooks_with_kwargs, with_kwargs),
                        always=(self._forward_hooks_always_called, always_call))

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Before the module's gradients: `hook(module, grad_output) -> None or new grad_output`."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Once the gradients of the inputs are known: `hook(module, grad_input, grad_output) -> None or new grad_input`."""
        self._set_backward_kind(True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """The old form, deprecated in favour of `register_full_backward_hook`."""
        self._set_backward_kind(False)
        return add_hook(self._backward_hooks, hook)

    def _set_backward_kind(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")
        self._is_full_backward_hook = full

    def __call__(self, *args, **kwargs):
        if not (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
                or home._global_forward_pre_hooks or home._global_forward_hooks or home._global_backward_pre_hooks
                or home._global_backward_hooks):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    _call_impl = __call__

    def _call_with_hooks(self, args, kwargs):
        done = set()
        try:
            return self._hooked_forward(args, kwargs, done)
        except Exception:
            self._run_always_called(args, kwargs, done)
            raise

    def _hooked_forward(self, args, kwargs, done):
        for key, hook in (*home._global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                new = hook(self, args, kwargs)
                if new is not None:
                    if not (isinstance(new, tuple) and len(new) == 2):
                        raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                           f"{new}.")
                    args, kwargs = new
            else:
                new = hook(self, args)
                if new is not None:
                    args = new if isinstance(new, tuple) else (new,)
        full, old = self._current_backward_hooks()
        pre = [*home._global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        gates = BackwardHooks(self, full, pre) if full or pre else None
        if gates:
            args = gates.gate_inputs(args)
        result = self.forward(*args, **kwargs)
        for key, hook in (*home._global_forward_hooks.items(), *self._forward_hooks.items()):
            done.add(key)
            new = self._run_forward_hook(key, hook, args, kwargs, result)
            if new is not None:
                result = new
        if gates:
            if not isinstance(result, (torch.Tensor, tuple)):
                warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                              f"received {type(result)}", stacklevel=4)
            result = gates.gate_outputs(result)
        if old:
            node = _first_tensor(result).grad_fn
            if node is not None:
                for hook in old:
                    node.register_hook(lambda gi, go, hook=hook: hook(self, gi, go))
                self._warn_several_nodes(args, result, node)
        return result

    def _current_backward_hooks(self):
        """(full hooks, old hooks) that are in force now."""
        full, old = [], []
        (full if home._global_is_full_backward_hook else old).extend(home._global_backward_hooks.values())
        (full if self._is_full_backward_hook else old).extend(self._backward_hooks.values())
        return full, old

    @staticmethod
    def _warn_several_nodes(args, result, node):
        """An old backward hook sees one node only: say so where the module is more than that."""
        values = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(v, torch.Tensor) for v in values):
            what, lost = "full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors", "some of the grad_output"
        elif not all(isinstance(a, torch.Tensor) for a in args):
            what, lost = "full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors", "some of the grad_input"
        elif len({v.grad_fn for v in values} - {None}) > 1:
            what, lost = "full backward hook when outputs are generated by different autograd Nodes", "some grad_output"
        elif {n for n, _ in node.next_functions} != {a.grad_fn for a in args} - {None}:
            what, lost = "full backward hook when the forward contains multiple autograd Nodes", "some grad_input"
        else:
            return
        article = "a " if "hook " in what else ""
        warnings.warn(f"Using {article}non-{what} is deprecated and will be removed in future versions. This hook will be missing {lost}. "
                      "Please use register_full_backward_hook to get the documented behavior.", FutureWarning, stacklevel=5)

    def _run_forward_hook(self, key, hook, args, kwargs, result):
        if key in self._forward_hooks_with_kwargs or key in home._global_forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called(self, args, kwargs, done):
        """forward raised: hooks with `always_call` still run, their own errors only warn."""
        always = {**home._global_forward_hooks_always_called, **self._forward_hooks_always_called}
        for key, hook in (*home._global_forward_hooks.items(), *self._forward_hooks.items()):
            if key in always and key not in done:
                try:
                    self._run_forward_hook(key, hook, args, kwargs, None)
                except Exception as e:
                    kind = "global module" if key in home._global_forward_hooks else "module"
                    warnings.warn(f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                                  f"another error was raised in forward: {e}", stacklevel=4)
