"""Modules whose sizes are taken from the first input."""

import warnings

import torchish as torch
from torchish.nn.parameter import is_lazy


class LazyModuleMixin:
    """Put before a Module class: its uninitialized parameters and buffers get their shapes in `initialize_parameters`, which
    runs before the first forward; then the module becomes an instance of `cls_to_become`."""

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        warnings.warn("Lazy modules are a new feature under heavy development so changes to the API or functionality can happen at "
                      "any moment.", stacklevel=2)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._persistent():
            if value is not None:
                destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Before loading: take the shapes of what will be loaded."""
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and value is not None and is_lazy(value) and not is_lazy(given):
                with torch.no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Materialize the parameters for these arguments of forward; every lazy module defines its own."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether some parameter or buffer of its own still waits for its shape."""
        return any(is_lazy(value) for value in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module, args, kwargs=None):
        """The hook before the first forward."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for hook in ("_initialize_hook", "_load_hook"):
            getattr(module, hook).remove()
            delattr(module, hook)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
                           "correctly initialize the modules")
