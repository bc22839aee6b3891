"""Pruning: a parameter becomes its original times a mask of zeros and ones."""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torchish as torch


class BasePruningMethod(ABC):
    """A forward pre-hook that masks one tensor of its module; a subclass says by `compute_mask` what is masked."""

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for a tensor of importances `t`; what `default_mask` hides stays hidden."""

    def apply_mask(self, module):
        """The original tensor times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune the tensor `name` of the module; once more if it is pruned already."""
        older = [(key, hook) for key, hook in _pruning_hooks(module) if hook._tensor_name == name]
        if len(older) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                                 "PruningContainer.")
        method = cls(*args, **kwargs)
        method._tensor_name = name
        for key, hook in older:
            del module._forward_pre_hooks[key]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name + "_orig" if older else name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if older:
            default_mask = getattr(module, name + "_mask").detach().clone()
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = torch.ones_like(original)
        try:
            with torch.no_grad():
                mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not older:
                module.register_parameter(name, original)
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """The tensor `t`, pruned; no module is involved."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default_mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module):
        """Make the masked tensor the parameter again."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        masked = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = masked.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods on one tensor, one after another: each prunes what the earlier ones left."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
            return
        for method in args[0] if len(args) == 1 else args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a further one."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named "
                             f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """What the newest method leaves of what `default_mask` leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError("Pruning methods of PRUNING_TYPE \"structured\" need to have the attribute `dim` defined.")
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            left = (slice(None),) * dim + (mask.sum(dim=others) != 0,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise AttributeError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        partial = method.compute_mask(t[left], default_mask=mask[left])
        new = mask.clone()
        new[left] = partial.to(dtype=new.dtype)
        return new


class Identity(BasePruningMethod):
    """Nothing is pruned; the parameter only gets a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class _ByAmount(BasePruningMethod):
    """Some amount of the tensor's elements, or of its channels along `dim`."""

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class _Unstructured(_ByAmount):
    PRUNING_TYPE = "unstructured"
    _least = False      # the least important ones, or the greatest

    def compute_mask(self, t, default_mask):
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[torch.topk(self._scores(t).reshape(-1), k=count, largest=not self._least).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prune elements by chance."""

    def _scores(self, t):
        return torch.rand_like(t)

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prune the elements of the least magnitude."""

    _least = True

    def _scores(self, t):
        return torch.abs(t)

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = self._count(size)
        if not count:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = size
        return default_mask * self._kept(t, size, count).reshape(shape).to(dtype=default_mask.dtype)


class RandomStructured(_Structured):
    """Prune channels along `dim` by chance."""

    def _kept(self, t, size, count):
        chances = torch.rand(size)
        return chances > torch.kthvalue(chances, k=count).values

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prune the channels along `dim` of the least norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, size, count):
        kept = torch.zeros(size)
        kept[torch.topk(_compute_norm(t, self.n, self.dim), k=size - count, largest=True).indices] = 1
        return kept

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask shape {self.mask.shape} does not match default_mask shape {default_mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


def _pruning_hooks(module):
    return [(key, hook) for key, hook in module._forward_pre_hooks.items() if isinstance(hook, BasePruningMethod)]


# --- on modules ----------------------------------------------------------------------------------------------------------

def identity(module, name):
    """Give the tensor a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune `amount` elements (a number, or a fraction of all) by chance."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the `amount` elements of the least magnitude."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune `amount` channels along `dim` by chance."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the `amount` channels along `dim` of the least n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune by a given mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune the elements of several (module, name) pairs as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE is supported for the `pruning_method`. Found method {pruning_method} of '
                        f"type {method.PRUNING_TYPE}")
    container = PruningContainer()
    container._tensor_name = "temp"
    container.add_pruning_method(method)
    tensors = [getattr(module, name) for module, name in parameters]
    flat = torch.nn.utils.parameters_to_vector([scores.get(pair, t) for pair, t in zip(parameters, tensors)])
    masks = [getattr(module, name + "_mask", torch.ones_like(t)) for (module, name), t in zip(parameters, tensors)]
    final = container.compute_mask(flat, torch.nn.utils.parameters_to_vector(masks))
    for (module, name), t, mask in zip(parameters, tensors, final.split([t.numel() for t in tensors])):
        custom_from_mask(module, name, mask=mask.view_as(t))


def remove(module, name):
    """Make the masked tensor the parameter again."""
    for key, hook in _pruning_hooks(module):
        if hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    """Whether something of the module or of its descendants is pruned."""
    return any(_pruning_hooks(m) for m in module.modules())


# --- checks --------------------------------------------------------------------------------------------------------------

def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or not isinstance(amount, numbers.Integral) and float(amount) > 1.0:
        raise ValueError(f"amount={amount} should either be a float in the range [0.0, 1.0] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t):
    if len(t.shape) <= 1:
        raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                         f"{t.shape} with {len(t.shape)} dims")


def _validate_pruning_dim(t, dim):
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount, tensor_size):
    """A count as it is, or a fraction of the size."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t, n, dim):
    """The norm of each slice along `dim`."""
    dim %= t.dim()
    return torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim])
