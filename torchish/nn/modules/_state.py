"""state_dict and load_state_dict."""

import warnings
import weakref
from collections import OrderedDict, namedtuple

import torchish as torch
from torchish.nn.modules._calls import add_hook
from torchish.nn.parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the keys that did not meet."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _quoted(keys):
    return ", ".join(f'"{k}"' for k in keys)


class _WrappedHook:
    """A hook, called with its module first where one is given; it does not keep the module alive."""

    __module__ = "torchish.nn.modules.module"   # where saved modules look for it

    def __init__(self, hook, module=None):
        self.hook, self.with_module = hook, module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        return {**vars(self), "module": self.module()} if self.with_module else vars(self)

    def __setstate__(self, state):
        self.__init__(state["hook"], state["module"] if state["with_module"] else None)


class State:
    """The part of Module that saves and loads."""

    def register_state_dict_pre_hook(self, hook):
        """Before saving: `hook(module, prefix, keep_vars)`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered via "
                               "register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """After saving: `hook(module, state_dict, prefix, local_metadata) -> None`."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """Before loading: `hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """After loading: `hook(module, incompatible_keys) -> None`; it may edit the keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def get_extra_state(self):
        """What else belongs into the state dict. Override together with `set_extra_state`."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at "
                           "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")

    def set_extra_state(self, state):
        """Take back what `get_extra_state` returned."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at "
                           "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")

    def _persistent(self):
        """The parameters and buffers that are saved."""
        yield from self._parameters.items()
        for name, buffer in self._buffers.items():
            if name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._persistent():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An OrderedDict with the parameters and persistent buffers of this module and its descendants."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead. Refer to "
                          "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                          FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination") if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy parameters and buffers from `state_dict`; `assign=True` takes its tensors themselves."""
        if not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        self._load_tree(state_dict, "", metadata, assign, missing, unexpected, errors)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)

    def _load_tree(self, state_dict, prefix, metadata, assign, missing, unexpected, errors):
        local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        # `True` as in PyTorch: keys are collected even when the caller is not strict
        self._load_from_state_dict(state_dict, prefix, local_metadata, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                child._load_tree(OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(inner)), inner, metadata,
                                 assign, missing, unexpected, errors)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                                     "new values, if incompatible_keys need to be modified, it should be done inplace.")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        here = {k: v for k, v in self._persistent() if v is not None}
        for name, value in here.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(key, name, value, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not State.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, *rest = key[len(prefix):].split(".", 1)
                    if first not in (self._modules if rest else here):
                        unexpected_keys.append(key)

    def _load_one(self, key, name, value, new, assign, errors):
        """Copy or assign one entry; what is wrong with it is appended to `errors`."""
        if not isinstance(new, torch.Tensor):
            errors.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                          f"checkpoint but received {type(new)}")
            return
        if not is_lazy(value):
            if len(value.shape) == 0 and tuple(new.shape) == (1,):
                new = new[0]  # files of PyTorch 0.3 hold scalars as one element
            if new.shape != value.shape:
                errors.append(f"size mismatch for {key}: copying a param with shape {new.shape} from checkpoint, the shape in "
                              f"current model is {value.shape}.")
                return
        try:
            with torch.no_grad():
                if not assign:
                    value.copy_(new)
                    return
                if isinstance(value, Parameter):
                    if not isinstance(new, Parameter):
                        new = Parameter(new, requires_grad=value.requires_grad)
                    else:
                        new.requires_grad_(value.requires_grad)
                setattr(self, name, new)
        except Exception as e:
            errors.append(f'While copying the parameter named "{key}", whose dimensions in the model are {value.size()} and whose '
                          f"dimensions in the checkpoint are {new.size()}, an exception occurred : {e.args}.")
