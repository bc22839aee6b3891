"""Optimizer: the base class, and the loop over parameters that most optimizers share."""

import functools
import typing
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from copy import deepcopy
from itertools import chain

import torchish as torch
from torchish import program
from torchish.autograd.dispatch import apply, update
from torchish.autograd.hooks import RemovableHandle
from torchish.nn.modules._names import typename
from torchish.nn.parameter import zero_grads
from torchish.ops import TABLE
from torchish.tensor import number_of, put_number

_global_pre_hooks, _global_post_hooks = OrderedDict(), OrderedDict()


def _add(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Before every optimizer's step: `hook(optimizer, args, kwargs) -> None or (args, kwargs)`."""
    return _add(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """After every optimizer's step: `hook(optimizer, args, kwargs)`."""
    return _add(_global_post_hooks, hook)


class _RequiredParameter:
    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


class Optimizer:
    """Base class of all optimizers: parameter groups with their options, and a state per parameter."""

    OptimizerPreHook = Callable[[typing.Self, tuple[typing.Any, ...], dict[str, typing.Any]],
                                tuple[tuple[typing.Any, ...], dict[str, typing.Any]] | None]
    OptimizerPostHook = Callable[[typing.Self, tuple[typing.Any, ...], dict[str, typing.Any]], None]

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()
        self._optimizer_state_dict_pre_hooks, self._optimizer_state_dict_post_hooks = OrderedDict(), OrderedDict()
        self._optimizer_load_state_dict_pre_hooks, self._optimizer_load_state_dict_post_hooks = OrderedDict(), OrderedDict()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + typename(params))
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for when in ("step", "state_dict", "load_state_dict"):
            for side in ("pre", "post"):
                self.__dict__.setdefault(f"_optimizer_{when}_{side}_hooks", OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # --- step ---------------------------------------------------------------------------------------------------------
    def _patch_step_function(self):
        step = type(self).step
        if not getattr(step, "hooked", None):
            type(self).step = self.profile_hook_step(step)
            type(self).step.hooked = True

    @staticmethod
    def profile_hook_step(func):
        """`func`, a class's step, with the hooks around it."""
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self, *_ = args
            for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                new = hook(self, args, kwargs)
                if new is not None:
                    if not (isinstance(new, tuple) and len(new) == 2):
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {new}.")
                    args, kwargs = new
            out = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
                hook(self, args, kwargs)
            program.flush()  # one iteration, one program
            return out
        return wrapper

    def step(self, closure=None):
        """One update of the parameters."""
        raise NotImplementedError

    def zero_grad(self, set_to_none=True):
        """Reset the gradients of all parameters."""
        for group in self.param_groups:
            zero_grads(group["params"], set_to_none)

    # --- hooks --------------------------------------------------------------------------------------------------------
    def register_step_pre_hook(self, hook):
        """Before step: `hook(optimizer, args, kwargs) -> None or (args, kwargs)`."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """After step: `hook(optimizer, args, kwargs)`."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Before state_dict: `hook(optimizer)`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """After state_dict: `hook(optimizer, state_dict) -> None or state_dict`."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Before load_state_dict: `hook(optimizer, state_dict) -> None or state_dict`."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """After load_state_dict: `hook(optimizer)`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- groups and state ---------------------------------------------------------------------------------------------
    def add_param_group(self, param_group):
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                            "will change between runs. Please use a list instead.")
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        named = [isinstance(p, tuple) for p in params]
        if any(named):
            if not all(named):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for p in params:
            if not isinstance(p, torch.Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                          "see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        if self.param_groups:
            with_names = "param_names" in self.param_groups[0]
            if ("param_names" in param_group) != with_names:
                how = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{how} to the optimizer")
        known = {p for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def state_dict(self):
        """The state by parameter number, and the options of the groups with these numbers."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(p, len(number))
            groups.append({**{k: v for k, v in group.items() if k != "params"}, "params": [number[p] for p in group["params"]]})
        state = {number[k] if isinstance(k, torch.Tensor) else k: v for k, v in self.state.items()}
        made = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            new = hook(self, made)
            if new is not None:
                made = new
        return made

    def load_state_dict(self, state_dict):
        """Take over what `state_dict()` returned; tensors of the right dtype are aliased, not copied."""
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            new = hook(self, state_dict)
            if new is not None:
                state_dict = new
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        by_number = dict(zip(chain.from_iterable(s["params"] for s in saved), chain.from_iterable(g["params"] for g in groups)))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                state[by_number[key]] = _fitted(by_number[key], value)
            else:
                state[key] = value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _fitted(param, value, key=None):
    """A loaded state with its tensors in the parameter's dtype; the step counts stay as they are."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _fitted(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(param, v) for v in value)
    return value


def check_one(lr):
    """Refuse tensors of several elements."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_lr(lr, strictly=False):
    """Refuse negative learning rates."""
    check_one(lr)
    if not (0.0 < lr if strictly else 0.0 <= lr):
        raise ValueError(f"Invalid learning rate: {lr}")


def check_at_least(least, options):
    """Refuse smaller options."""
    for name, value in options.items():
        if not least <= value:
            raise ValueError(f"{name} should be >= {least:.0f} but is: {value}")


def check_betas(betas):
    """Refuse decay rates outside of [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def plain_betas(group):
    """The decay rates as Python numbers."""
    return tuple(number_of(b) if isinstance(b, torch.Tensor) else b for b in group["betas"])


def check(name, value, ok):
    """Refuse a value of an option."""
    if not ok:
        raise ValueError(f"Invalid {name} value: {value}")


def advance(state):
    """Add one to state["step"] and return the new count as a Python number.

    The count is known on the host; reading a tensor would run the recorded program at every step.
    """
    count = number_of(state["step"]) + 1
    put_number(state["step"], count)
    return count


def plain_lr(group):
    """The learning rate: a Python number, or a tensor of no dimensions where the update is to be differentiated by it."""
    lr = group["lr"]
    if not isinstance(lr, torch.Tensor):
        return lr
    return lr.reshape(()) if lr.requires_grad and torch.is_grad_enabled() else number_of(lr)


def l2_and_factor(group):
    """Weight decay as an addition to the gradient, and (decoupled) as a factor of the parameter."""
    decay = group["weight_decay"]
    if group.get("decoupled_weight_decay", True) and decay != 0:
        return 0, 1 - plain_lr(group) * decay
    return decay, 1.0


def step_tensor():
    """A new step count."""
    return torch.tensor(0.0, dtype=torch.float32)


_CAPTURABLE = ["cuda", "xpu", "hpu", "privateuseone"]
_FUSED = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


class PerParameter(Optimizer):
    """An optimizer whose step is one operation for all parameters of a group that have come equally far.

    row         name of that operation in the table (see `ops/optimizers.py`), with `_numbers` and `_attributes` for its arguments
    states      names of the state tensors that it updates
    counted     what must be on an accelerator if the optimizer is capturable, in PyTorch's words (with `foreach` at last)
    on_xla      whether XLA is such an accelerator (likewise)
    """

    row, states = None, ()
    counted = ("params and state_steps",)
    on_xla = (True, False)

    def __init__(self, params, defaults):
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def step(self, closure=None):
        """One update of the parameters; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            with torch.set_grad_enabled(group.get("differentiable", False) and torch.is_grad_enabled()):
                self._step_group(group)
        return loss

    def _step_group(self, group):
        batches = {}
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            self._check(p, grad, group)
            state = self.state.get(p, {})
            if not state:
                self._init_state(p, state, group)
            batches.setdefault(self._advance(p, state, group), []).append((p, grad, state))
            if state:
                self.state[p] = state
        for progress, members in batches.items():
            params, grads, states = zip(*members)
            columns = [params, *([s[name] for s in states] for name in self._names(group, progress))]
            targets = [t for column in columns for t in column]
            numbers, attributes = self._numbers(group, progress), (len(members), *self._attributes(group, progress))
            if not torch.is_grad_enabled():
                update(TABLE[self.row], targets, [*numbers, *params, *grads, *targets[len(members):]], attributes)
                continue
            # what is overwritten below cannot be saved for the backward: copies
            before = [t.clone() for t in targets]
            operands = [*numbers, *before[:len(members)], *grads, *before[len(members):]]
            # states depend on the gradients, and on the parameters only where these decay
            reached = bool(group.get("weight_decay")) or any(t.requires_grad for t in (*grads, *targets[len(members):]))
            for i, new in enumerate(apply(TABLE[self.row], operands, attributes)):
                targets[i].copy_(new if reached or i < len(members) else new.detach())

    def _check(self, p, grad, group):
        """Refuse what the implementation that was asked for cannot do."""
        if group.get("fused") and (p.device.type not in _FUSED or not p.is_floating_point()):
            raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                               f"{_FUSED} but {p.dtype} and {p.device.type}")
        foreach = bool(group.get("foreach"))
        if group.get("capturable") and p.device.type not in (devices := _CAPTURABLE + ["xla"] * self.on_xla[foreach]):
            raise AssertionError(f"If capturable=True, {self.counted[-foreach]} must be on supported devices: {devices}.")
        if foreach and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")

    def _init_state(self, p, state, group):
        """Fill an empty state."""

    def _advance(self, p, state, group):
        """Count the step; parameters with another answer need an operation of their own."""
        return advance(state)

    def _names(self, group, progress):
        """The states that are updated."""
        return self.states

    def _numbers(self, group, progress):
        """The operands in front of the tensors."""
        return (plain_lr(group),)

    def _attributes(self, group, progress):
        """The operation's attributes after the number of parameters."""
        raise NotImplementedError

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for s in self.state.values():
            # older files hold the count as a number
            if "step" in s and not isinstance(s["step"], torch.Tensor):
                s["step"] = torch.tensor(float(s["step"]), dtype=torch.float32)
