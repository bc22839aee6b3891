"""Custom autograd.Function."""

import functools
import inspect
import warnings
import weakref

from torchish.autograd import batching, where
from torchish.autograd.dispatch import check_inplace, rebase, view
from torchish.autograd.graph import (
    FREED,
    BackwardNode,
    SavedTensor,
    edge_of,
    node_class,
    opened,
    saved,
    saved_result,
    second_time,
    sequence,
)
from torchish.autograd.modes import no_grad, set_forward_enabled, state, suspended, transformed
from torchish.ops import TABLE, dtypes
from torchish.program import record
from torchish.program.batched import Level
from torchish.tensor import Tensor

DIRTY_LEAF = "a leaf Variable that requires grad has been used in an in-place operation."


DIRTY_VIEW = ("If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
              "Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a view "
              "(using .clone() for example) or make your Function only return one Tensor (potentially splitting it into two Functions: "
              "one doing the inplace that returns a single Tensor and a second one that does the other operations). You can ask on "
              "the forum https://discuss.pytorch.org/ if you need help to do this change.")
TWO_BACKWARDS = ("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them.")
OF_NODE = {"next_functions", "name", "metadata", "register_hook", "register_prehook", "_sequence_nr"}


class FunctionCtx:
    """What forward leaves for backward. Any attribute is the user's; the node keeps its own apart."""

    _is_node = True

    def __init__(self, node, needs):
        self._node = weakref.ref(node)
        self._to_save = self._kept = self.saved_for_forward = None
        self._non_differentiable = ()
        self._dirty = ()
        self._materialize = self._materialize_non_diff_grads = True
        self._needs = needs

    def __getattr__(self, name):
        if name in OF_NODE:
            return getattr(self._node(), name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def save_for_backward(self, *tensors):
        """Tensors for backward: version-checked, freed with the graph."""
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Tensors for jvp."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Inputs that forward changed in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args):
        """Outputs that get no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether missing gradients come as zeros (the default) or None."""
        self._materialize = value

    @property
    def needs_input_grad(self):
        return self._needs

    @property
    def saved_tensors(self):
        """What forward saved: for jvp while that runs, else for backward."""
        # jvp sees () where forward saved nothing for it
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        node = self._node()
        if node is None:        # a ctx may outlive its graph
            return tuple(opened(None, s) for s in self._kept)
        if not node._function.clear_saved_tensors_on_access or not node._closed:
            return node._open()
        if self._kept is CLEARED:
            raise RuntimeError(ONE_ACCESS)
        found = node._open()
        node._saved, self._kept = [], CLEARED
        return found

    @property
    def saved_variables(self):
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors


CLEARED = []        # in the place of what was handed out and let go
ONE_ACCESS = ("saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. Either access "
              "saved_tensors only once, or set clear_saved_tensors_on_access=False.")


class BackwardCFunction(BackwardNode):
    """The node of a custom Function; attributes that it lacks are looked up in its ctx."""

    plain = False

    def __init__(self, function, needs):
        BackwardNode.__init__(self, (), ())
        self._function, self._saved, self._closed, self._in_avals = function, (), False, ()
        self.ctx = function._ctx_class(self, needs)

    def __repr__(self):
        return "<torch.autograd.function." + super().__repr__()[1:]

    @property
    def next_functions(self):
        return tuple(e or (None, 0) for e, aval in zip(self.edges, self._in_avals) if aval is not None)

    def __getattr__(self, name):
        if name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    def _open(self):
        if self._saved is FREED:
            raise RuntimeError(second_time(self))
        if not self._closed and self.ctx._to_save is not None:
            return tuple(self.ctx._to_save)
        return tuple(opened(self, s) for s in self._saved)

    @property
    def _raw_saved_tensors(self):
        if self._saved is FREED:
            raise RuntimeError(second_time(self))
        return tuple(SavedTensor(self, "_saved", i) for i in range(len(self._saved)))

    def _close(self, outputs):
        """Turn the tensors given to save_for_backward into saved ones."""
        self._closed = True
        if self.ctx._to_save is None:
            return
        kept = []
        for t in self.ctx._to_save:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {len(kept)} is of type "
                                f"{type(t).__name__}")
            k = next((i for i, o in enumerate(outputs) if o is t), None)
            kept.append(None if t is None else saved(t) if k is None else saved_result(t, k))
        self._saved = self.ctx._kept = kept
        self.ctx._to_save = None

    def release(self):
        if self._saved:
            self._saved, self.ctx._kept = FREED, ()

    def run(self, cts, needed):
        if self._saved is FREED:
            raise RuntimeError(second_time(self))
        grads = []
        for i, ct in enumerate(cts):
            aval = self.outs[i]
            if ct is None and aval is not None and self.ctx._materialize and (
                    self.ctx._materialize_non_diff_grads or i not in self._plain_outs):
                ct = Tensor._of(record(TABLE["full"], (0,), (aval.shape, dtypes.FROM_NP[aval.dtype])))
            grads.append(ct)
        cls = self._function
        fn = cls.vjp
        if cls.backward is not Function.backward:
            if fn is not Function.vjp:
                raise RuntimeError(TWO_BACKWARDS)
            fn = cls.backward
        out = fn(self.ctx, grads) if cls.boxed_grads_call else fn(self.ctx, *grads)
        out = list(out) if isinstance(out, (tuple, list)) else [out]
        return self._checked(out)

    def _checked(self, out):
        name = self.name()
        n = len(self.edges)
        while len(out) > n and out[-1] is None:
            out.pop()
        if len(out) != n:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {n}, got {len(out)})")
        for i, (g, aval) in enumerate(zip(out, self._in_avals)):
            if g is None or self.edges[i] is None:
                out[i] = None
                continue
            if not isinstance(g, Tensor):
                raise TypeError(f"expected Variable or None (got {type(g).__name__})" if g is not None else "")
            if g._aval.shape != aval.shape:
                out[i] = _reduce(g, aval.shape, name, i)
        return out


def _reduce(g, shape, name, i):
    """A gradient that the input's shape expands to is summed; any other shape is refused."""
    s = g._aval.shape
    pad = len(s) - len(shape)
    if pad < 0 or any(b != a and b != 1 for a, b in zip(s[pad:], shape)):
        raise RuntimeError(f"Function {name} returned an invalid gradient at index {i} - got {list(s)} but expected shape compatible "
                           f"with {list(shape)}")
    dims = tuple(range(pad)) + tuple(k + pad for k, (a, b) in enumerate(zip(s[pad:], shape)) if a != b)
    return g.sum(dims).reshape(shape)


class FunctionMeta(type):
    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        cls._backward_cls = node_class(name + "Backward", BackwardCFunction)
        cls._generated_cls = node_class(name + "GeneratedBackward", BackwardCFunction)
        cls._ctx_class = type(name + "Backward", (FunctionCtx,), {"__module__": cls.__module__})


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of custom operations: static `forward`, `backward` (or `vjp`), optionally `setup_context`, `jvp`, `vmap`.

    boxed_grads_call: backward gets one list of gradients, which it may empty on the way.
    clear_saved_tensors_on_access: `ctx.saved_tensors` can be read once and is let go.
    """

    generate_vmap_rule = boxed_grads_call = clear_saved_tensors_on_access = False

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
                      "them on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                      DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
                           "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it "
                                  "with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record this Function's node."""
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if state.transforms:
            return inside_transforms(cls, args, kwargs)
        return recorded(cls, args, kwargs, cls.forward, cls._backward_cls)


def recorded(cls, args, kwargs, forward, backward_cls):
    """A Function's outputs, as `forward` computes them, with their node and their tangents."""
    needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
    node = backward_cls(cls, needs)
    ctx = node.ctx
    with no_grad(), suspended(), set_forward_enabled(False):
        if cls.setup_context is not Function.setup_context:
            outputs = forward(*args, **kwargs)
            cls.setup_context(ctx, args, outputs)
        else:
            outputs = forward(ctx, *args, **kwargs)
    out = _finish(node, args, outputs, state.grad and any(needs))
    if state.level is not None:
        state.level.function(cls, ctx, args, out)
    ctx.saved_for_forward = None
    return out


# --- inside the transforms of torch.func -----------------------------------------------------------------------------------

SEE = " For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
NO_SETUP = ("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            "setup_context staticmethod." + SEE)


def inside_transforms(cls, args, kwargs):
    """`apply` inside transforms, which act on it innermost first."""
    if cls.setup_context is Function.setup_context:
        if all(t.__class__ is Level and t.randomness == "legacy" for t in state.transforms):
            return recorded(cls, args, kwargs, cls.forward, cls._backward_cls)
        raise RuntimeError(NO_SETUP)
    return _below(cls, args, kwargs, state.transforms)


def _check_rule(cls):
    if cls.generate_vmap_rule and cls.vmap is not Function.vmap:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                           "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                           "ambiguity." + SEE)
    if not cls.generate_vmap_rule and cls.vmap is Function.vmap:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
                           "vmap staticmethod or set generate_vmap_rule=True." + SEE)


def _below(cls, args, kwargs, transforms):
    """The outputs under these transforms: by `vmap`, where an argument is mapped, else by forward with a node of their own."""
    maps = [k for k, t in enumerate(transforms) if t.__class__ is Level]
    if maps:
        _check_rule(cls)
    if cls.generate_vmap_rule:
        return recorded(cls, args, kwargs, cls.forward, cls._generated_cls)
    mapped = [k for k in maps if batching.anywhere(args, transforms[k])]
    if not mapped:
        derived = len(maps) < len(transforms)
        return recorded(cls, args, kwargs, cls.forward, cls._generated_cls if derived else cls._backward_cls)
    inner = mapped[-1]
    if any(t.__class__ is not Level for t in transforms[inner + 1:]):       # a derivative inside of the vmap
        def forward(*args, **kwargs):
            return _below(cls, args, kwargs, transforms[:inner + 1])
        return recorded(cls, args, kwargs, forward, cls._generated_cls)
    level = transforms[inner]
    with transformed(transforms[:inner]):
        tensors = {k: x for k, x in kwargs.items() if isinstance(x, Tensor)}
        if tensors:
            raise NotImplementedError("Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to "
                                      f"autograd.Function. Got: {tensors}")
        return batching.by_rule(cls.vmap, level, args, kwargs)


def _finish(node, args, outputs, tracked):
    """What `apply` returns: the outputs with the node, inputs that forward gave back as views of them."""
    ctx = node.ctx
    single = not isinstance(outputs, tuple)
    outs = [outputs] if single else list(outputs)
    _check_dirty(ctx._dirty, args, outs, tracked)
    for k, o in enumerate(outs):
        if isinstance(o, Tensor) and not _among(o, ctx._dirty) and _among(o, args):
            with no_grad(), suspended():
                outs[k] = view(TABLE["alias"], o) if type(o) is Tensor else o.view_as(o)
    tensors = [o for o in outs if isinstance(o, Tensor)]
    several = sum(not _among(o, ctx._non_differentiable) for o in tensors) > 1
    for k, o in enumerate(outs if state.grad else ()):
        if isinstance(o, Tensor) and (m := o._meta) is not None and not _among(o, ctx._dirty):
            m.creation, m.source, m.number = "multi" if several else "function", node._function.__name__, k
    if tracked:
        _connect(node, args, outs)
    return outs[0] if single else tuple(outs)


def _among(t, tensors):
    return any(t is other for other in tensors)


def _check_dirty(dirty, args, outs, tracked):
    """Refuse what can't be changed in place, after the fact."""
    for t in dirty:
        if not _among(t, outs):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                               "modified inplace must all be outputs of the Function.")
        if not _among(t, args):
            warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
                          "passed to ctx.mark_dirty().", UserWarning, stacklevel=4)
        if tracked and t._meta is None and t.requires_grad and t.is_leaf:
            raise RuntimeError(DIRTY_LEAF)
        if tracked and t._meta is not None:
            check_inplace(t, True)
            if len(outs) > 1:
                raise RuntimeError(DIRTY_VIEW)


def _connect(node, args, outs):
    """The node's edges, its saved tensors, and itself as the history of the outputs."""
    ctx = node.ctx
    node.edges, node.sequence = tuple(edge_of(a) if isinstance(a, Tensor) else None for a in args), next(sequence)
    node._in_avals = [a._aval if isinstance(a, Tensor) else None for a in args]
    node.outs = tuple(o._aval if isinstance(o, Tensor) else None for o in outs)
    node.place = where.here()
    node._plain_outs = [k for k, o in enumerate(outs) if _among(o, ctx._non_differentiable)]
    for k, o in enumerate(outs):
        if not isinstance(o, Tensor) or o._aval.dtype.kind not in "fcV" or _among(o, ctx._non_differentiable):
            continue
        if _among(o, ctx._dirty):
            rebase(o, node, next((i for i, a in enumerate(args) if a is o), None))
            if o._meta is None:
                o._nr = k
            continue
        o._fn, o._nr, o._req = node, k, False
    if any(isinstance(o, Tensor) for o in outs):
        node._close(outs)


class Raising(Function):
    """The first `count` tensors, with a history whose backward raises `message`."""

    @staticmethod
    def forward(ctx, message, count, *xs):
        ctx.message = message
        return tuple(x.detach().clone() if isinstance(x, Tensor) else x for x in xs[:count])

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(ctx.message)


class Error(BackwardCFunction):
    """Its node: an edge for every tensor's place, also where there is None."""

    def name(self):
        return "torch::autograd::Error"

    @property
    def next_functions(self):
        return tuple(e or (None, 0) for e in self.edges[2:])


Raising._backward_cls = Error


class DelayedError:
    """Makes tensors that can be used, but not differentiated."""

    _is_node = True

    def __init__(self, message, num_inputs):
        self.message, self.count = message, num_inputs

    def __call__(self, *tensors):
        outs = Raising.apply(self.message, len(tensors), *tensors)
        return outs[0] if self.count == 1 else outs


class UndefinedGrad(Function):
    """The tensor itself; sends no gradient at all to what is before it."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


def once_differentiable(fn):
    """Mark a backward that can't be differentiated itself."""
    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            outputs = fn(ctx, *args)
        if not state.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        outs = outputs if isinstance(outputs, tuple) else (outputs,)
        # leaves of their own, so that a second pass meets the error and nothing else
        leaves = [a.detach().requires_grad_() if isinstance(a, Tensor) and a.dtype.category >= 2 else a for a in outs]
        return DelayedError("trying to differentiate twice a function that was marked with @once_differentiable", len(outs))(*leaves)
    return wrapper


class InplaceFunction(Function):
    """Kept for old code: a Function."""


class NestedIOFunction(Function):
    """Kept for old code: a Function."""
