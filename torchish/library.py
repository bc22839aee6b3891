"""torch.library: Python functions as operators with a name in torch.ops, a derivative and a rule for vmap."""

import collections.abc
import contextlib
import inspect
import types
import typing

from torchish import _ops, ops
from torchish.autograd import Function, no_grad
from torchish.autograd.modes import state
from torchish.ops.dtypes import dtype
from torchish.tensor import Tensor, device
from torchish.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "infer_schema", "register_autograd", "register_fake", "register_kernel",
           "register_vmap"]

ALIAS = ("{} (with implementation in {}): The output of this custom operator (1) must not also be an input to this custom operator and (2) "
         "may not alias any inputs to this custom operator or other returns. The most common way to trigger this error is if we have y = "
         "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return "
         "x.clone()) or refactor the custom operator to not return y.")
OTHER_STRUCTURE = ("Expected the return from backward to be of the same structure as the inputs. Got: {} (return from backward), {} (inputs)")


# -- schemas ------------------------------------------------------------------------------------------------------------

TYPES = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
         int | float | bool: "Scalar"}


def _type(annotation):
    """How a schema calls a type, or None."""
    if annotation in TYPES:
        return TYPES[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in args and len(args) == 2:
        inner = _type(next(a for a in args if a is not type(None)))
        return inner and inner + "?"
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        inner = _type(args[0])
        return inner and inner + "[]"
    return None


def _default(value):
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text.removesuffix("0") if isinstance(value, float) and text.endswith(".0") else text


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function, from its annotations."""
    signature = inspect.signature(prototype_function, eval_str=True)

    def refuse(text):
        raise ValueError(f"infer_schema(func): {text} Got func with signature {signature})")

    unknown = set(mutates_args) - set(signature.parameters) if mutates_args != "unknown" else ()
    parts, star = [], False
    for p in signature.parameters.values():
        if p.annotation is p.empty:
            refuse(f"Parameter {p.name} must have a type annotation.")
        kind = _type(p.annotation)
        if kind is None:
            refuse(f"Parameter {p.name} has unsupported type {p.annotation}. The valid types are: {list(TYPES)}.")
        if p.kind is p.KEYWORD_ONLY and not star:
            parts, star = [*parts, "*"], True
        if p.name in mutates_args or mutates_args == "unknown" and kind.startswith("Tensor"):
            kind = kind.replace("Tensor", f"Tensor(a{len(parts) - star}!)")
        parts.append(f"{kind} {p.name}" + ("" if p.default is p.empty else "=" + _default(p.default)))
    if unknown:
        refuse(f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all args "
               "that the custom op mutates, or just the string 'unknown' if you don't know.")
    out = signature.return_annotation
    if out is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    many = typing.get_origin(out) is tuple
    kinds = () if out is None else [_type(a) for a in (typing.get_args(out) if many else (out,))]
    if None in kinds:
        refuse(f"Return has unsupported type {out}.")
    returns = kinds[0] if len(kinds) == 1 and not many else f"({', '.join(kinds)})"
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


# -- operators ----------------------------------------------------------------------------------------------------------

class _Graph(Function):
    """An operator in the graph. Arguments: the operator, its keyword arguments, how its others are nested, their leaves."""

    @staticmethod
    def forward(op, kwargs, spec, *leaves):
        return op._compute(tree_unflatten(leaves, spec), kwargs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        op, kwargs, spec, *leaves = inputs
        ctx.op, ctx.spec = op, spec
        if op._setup_context is not None:
            more = {"keyword_only_inputs": kwargs} if op._keyword_only else {}
            op._setup_context(ctx=ctx, inputs=tuple(tree_unflatten(leaves, spec)), output=output, **more)

    @staticmethod
    def backward(ctx, *grads):
        op = ctx.op
        if op._backward is None:
            raise RuntimeError(f"Trying to backward through {op._opoverload} but no autograd formula was registered. Please use "
                               "register_autograd to add one.")
        out = op._backward(ctx, *grads)
        out = out if isinstance(out, tuple) else (out,)
        places = tree_unflatten(range(ctx.spec.num_leaves), ctx.spec)
        if not _fits(out, places):
            raise RuntimeError(OTHER_STRUCTURE.format(tree_flatten(list(out), is_leaf=lambda x: x is None)[1], ctx.spec))
        return None, None, None, *_leaves(out, places)

    @staticmethod
    def vmap(info, in_dims, op, kwargs, spec, *leaves):
        if op._vmap is None:
            raise RuntimeError(f"vmap over {op._qualname}: please use register_vmap to add a rule.")
        return op._vmap(info, tuple(tree_unflatten(in_dims[3:], spec)), *tree_unflatten(leaves, spec), **kwargs)


def _fits(grads, inputs):
    """Whether gradients are nested as inputs; None stands for any of them."""
    if grads is None or not isinstance(inputs, (list, tuple)):
        return not isinstance(grads, (list, tuple))
    return isinstance(grads, (list, tuple)) and len(grads) == len(inputs) and all(map(_fits, grads, inputs))


def _leaves(grads, inputs):
    if not isinstance(inputs, (list, tuple)):
        return [grads]
    return [leaf for k, part in enumerate(inputs) for leaf in _leaves(None if grads is None else grads[k], part)]


class CustomOpDef:
    """An operator that custom_op made: a function, and where its derivative and its rule for vmap are registered."""

    def __init__(self, namespace, name, schema, fn, mutated):
        self._namespace, self._name, self._qualname = namespace, name, f"{namespace}::{name}"
        self._schema, self._init_fn, self._mutated = f"{self._qualname}{schema}", fn, mutated
        self._signature = inspect.signature(fn)
        self._keyword_only = any(p.kind is p.KEYWORD_ONLY for p in self._signature.parameters.values())
        self._kernels, self._backward, self._setup_context, self._vmap = {}, None, None, None
        self._function = type(f"GeneratedBackwardFor_{namespace}_{name}_default", (_Graph,), {})
        packet = _ops.OpOverloadPacket(namespace, name, self._call)
        self._opoverload = packet.default
        _ops.put(namespace, name, packet)

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def _bound(self, args, kwargs):
        """(positional arguments, keyword arguments), with defaults, as the schema has them."""
        parameters = list(self._signature.parameters.values())
        plain = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(plain):
            raise RuntimeError(f"{self._qualname}() takes {len(plain)} positional argument(s) but {len(args)} was/were given.  Declaration: "
                               f"{self._schema}")
        for name in kwargs:
            if name not in self._signature.parameters:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self._qualname}'. Schema: {self._schema}")
        given = dict(zip([p.name for p in plain], args)) | kwargs
        for i, p in enumerate(parameters):
            if given.setdefault(p.name, p.default) is p.empty:
                raise RuntimeError(f"{self._qualname}() is missing value for argument '{p.name}'. Declaration: {self._schema}")
            value = given[p.name]
            if p.annotation in (Tensor, "Tensor", "torch.Tensor") and not isinstance(value, Tensor):
                raise RuntimeError(f"{self._qualname}() Expected a value of type 'Tensor' for argument '{p.name}' but instead found type "
                                   f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\nDeclaration: {self._schema}\nCast error "
                                   f"details: Unable to cast {value} to Tensor")
        return [given[p.name] for p in plain], {p.name: given[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}

    def _call(self, /, *args, **kwargs):
        args, kwargs = self._bound(args, kwargs)
        leaves, spec = tree_flatten(args)
        tracked = state.grad and any(isinstance(x, Tensor) and x.requires_grad for x in leaves)
        if not self._mutated and (tracked or state.transforms):
            return self._function.apply(self, kwargs, spec, *leaves)
        with no_grad():
            return self._compute(args, kwargs)

    def _compute(self, args, kwargs):
        if state.below is not None:
            return state.below.call(self._opoverload, tuple(args), kwargs)
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        kind = tensors[0].device.type if tensors else "cpu"
        out = self._kernels.get(kind, self._init_fn)(*args, **kwargs)
        storages = [t._storage for t in (*tensors, *(x for x in tree_leaves(out) if isinstance(x, Tensor)))]
        if len(set(map(id, storages[len(tensors):])) - set(map(id, storages[:len(tensors)]))) < len(storages) - len(tensors):
            raise RuntimeError(ALIAS.format(self._name, inspect.getmodule(self._init_fn)))
        for name, value in zip(self._signature.parameters, args):
            for t in tree_leaves(value) if name in self._mutated else ():
                t._bump()
        return tuple(out) if isinstance(out, list) else out

    def register_autograd(self, backward, /, *, setup_context=None):
        """`backward(ctx, *gradients)`, with what `setup_context(ctx, inputs, output)` kept in `ctx`."""
        if self._mutated:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self} with schema {self._schema}. Please "
                               "create a functional operator and register an autograd formula for that.")
        self._backward, self._setup_context = backward, setup_context

    def register_fake(self, fn, /):
        """Accepted: shapes come from running the function itself."""
        return fn

    def register_kernel(self, device_types, fn=None, /):
        """Another function for tensors of these kinds of device; also a decorator."""
        def register(fn):
            self._kernels |= dict.fromkeys([device_types] if isinstance(device_types, str) else device_types or ["cpu"], fn)
            return fn
        return register if fn is None else register(fn)

    def register_vmap(self, func=None):
        """`func(info, in_dims, *args) -> (outputs, out_dims)`; also a decorator."""
        def register(fn):
            self._vmap = fn
            return fn
        return register if func is None else register(func)


_known = {}


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None):
    """Make a function (or decorate one) an operator: `torch.ops.<namespace>.<name>` for "namespace::name".

    `mutates_args`: the names of the tensors that it writes into. `device_types` says where the function works and is not checked.
    """
    def make(fn):
        namespace, plain = name.split("::")
        found = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        mutated = set(inspect.signature(fn).parameters) if mutates_args == "unknown" else set(mutates_args)
        op = _known[name] = CustomOpDef(namespace, plain, found, fn, mutated)
        return op
    return make if fn is None else make(fn)


def _op(op):
    if isinstance(op, CustomOpDef):
        return op
    name = op.name() if isinstance(op, _ops.OpOverload) else op
    if name not in _known:
        namespace, plain = name.split("::")
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{plain}'")
    return _known[name]


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The derivative of a custom operator (or of one so named)."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Accepted: shapes come from running the function itself."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Another function of a custom operator, for these kinds of device."""
    return _op(op).register_kernel(device_types, func)


def register_vmap(op, func=None, /, *, lib=None):
    """The rule for vmap of a custom operator."""
    return _op(op).register_vmap(func)


def _by_custom_op(*args, **kwargs):
    """Not there: schemas are not parsed."""
    raise NotImplementedError("torch.library.define, impl: make the operator by torch.library.custom_op instead")


define = impl = _by_custom_op


class Library:
    """A namespace of operators; they are made by custom_op."""

    define = impl = fallback = staticmethod(_by_custom_op)

    def __init__(self, ns, kind, dispatch_key=""):
        self.ns, self.kind = ns, kind

    def _destroy(self):
        """Forget the operators of the namespace."""
        for name in [name for name in _known if name.startswith(self.ns + "::")]:
            del _known[name]
        vars(ops).pop(self.ns, None)


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()
