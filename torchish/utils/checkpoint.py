"""torch.utils.checkpoint: save memory by computing intermediates again in the backward pass."""

import collections
import contextlib
import enum
import threading
import warnings
import weakref

from torchish._ops import OpOverload, OpOverloadPacket, aten
from torchish.amp.settings import settings
from torchish.api import random
from torchish.autograd import Function, backward, enable_grad, where
from torchish.autograd.graph import BackwardNode, opened, saved
from torchish.autograd.modes import state
from torchish.autograd.saved_hooks import saved_tensors_hooks
from torchish.tensor import Tensor
from torchish.utils._python_dispatch import TorchDispatchMode
from torchish.utils._pytree import tree_map, tree_map_only

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup", "SAC_IGNORED_OPS",
           "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
           "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]


_TIP = """

Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.
"""
TWICE = ("Unpack is being triggered for a tensor that was already unpacked once. {}If you are calling ctx.saved_tensors in backward, make "
         "sure to do so only once. Otherwise please open an issue with details on your use case.")
OVERLAP = ("Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) is not "
           "allowed while under the torch.utils.checkpoint.GraphExecGroup context. ")
_LOG = """ An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.

Tensors saved during the original forward:

{}

Tensors saved during recomputation:

{}

{}"""


class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""


def noop_context_fn():
    """(context of the forward, context of the recomputation) that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class _Switch:
    """A setting of `checkpoint` that a with block takes over; None leaves it to the argument."""

    def __init__(self, value):
        self.value = value

    def over(self, argument):
        return argument if self.value is None else self.value

    @contextlib.contextmanager
    def set(self, value):
        before, self.value = self.value, value
        try:
            yield
        finally:
            self.value = before


_debug, _early_stop = _Switch(None), _Switch(None)


def set_checkpoint_debug_enabled(enabled):
    """Context manager: `debug` of all checkpoints within."""
    return _debug.set(enabled)


def set_checkpoint_early_stop(enable):
    """Context manager: `early_stop` of all checkpoints within."""
    return _early_stop.set(enable)


class _Circumstances:
    """The state of the random numbers and of autocast when the function ran, for its second run."""

    def __init__(self, preserve_rng_state):
        self.drawn = random.get_rng_state() if preserve_rng_state else None
        self.autocast = settings.kept()

    @contextlib.contextmanager
    def again(self):
        drawn, autocast = random.get_rng_state(), settings.kept()
        if self.drawn is not None:
            random.set_rng_state(self.drawn)
        settings.restore(self.autocast)
        try:
            yield
        finally:
            settings.restore(autocast)
            if self.drawn is not None:
                random.set_rng_state(drawn)


# -- use_reentrant=True -----------------------------------------------------------------------------------------------

def detach_variable(inputs):
    """The inputs with tensors cut off from their graph."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warn if no input requires grad."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """Keeps the inputs alone; backward runs the function again and differentiates it."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.function, ctx.then = run_function, _Circumstances(preserve_rng_state)
        ctx.is_tensor = [isinstance(a, Tensor) for a in args]
        ctx.others = [None if t else a for a, t in zip(args, ctx.is_tensor)]
        ctx.save_for_backward(*(a for a in args if isinstance(a, Tensor)))
        return run_function(*args)

    @staticmethod
    def backward(ctx, *args):
        if state.task.capture is not None:
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                               "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                               ".backward() without passing the `inputs` argument.")
        saved = iter(ctx.saved_tensors)
        inputs = detach_variable(tuple(next(saved) if t else a for a, t in zip(ctx.others, ctx.is_tensor)))
        with ctx.then.again(), enable_grad():
            outs = ctx.function(*inputs)
        outs = outs if isinstance(outs, tuple) else (outs,)
        pairs = [(o, c) for o, c in zip(outs, args) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [c for _, c in pairs])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in inputs)


# -- use_reentrant=False ----------------------------------------------------------------------------------------------

class _Enough(Exception):
    """Everything that was saved is there again."""


class _Place:
    """Stands for a saved tensor in the graph."""


class _Inputs(BackwardNode):
    """Keeps the inputs as a node does, so that writing into them is noticed."""

    def __init__(self, args):
        super().__init__((), ())
        self.place = where.here()
        self.kept = [(isinstance(a, Tensor), saved(a) if isinstance(a, Tensor) else a) for a in args]

    def name(self):
        return "checkpoint"

    def again(self):
        return [opened(self, a) if is_tensor else a for is_tensor, a in self.kept]


def _facts(x):
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


class GraphExecGroup:
    """Context manager: the backward passes inside compute every checkpointed call again once at most, all together. No two of them may
    need the same saved tensor."""

    _now = threading.local()

    def __enter__(self):
        if self._get_current_group() is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {self._get_current_group()}")
        self._now.group = self
        return self

    def __exit__(self, *exc):
        self._now.group = None

    @classmethod
    def _get_current_group(cls):
        return getattr(cls._now, "group", None)


class _Frame:
    """One checkpointed call: the places of what it saved, and by backward pass the tensors again once it asks for one of them."""

    def __init__(self, run, args, early_stop, compare, debug):
        self.run, self.early_stop, self.compare, self.debug = run, early_stop, compare, debug
        self.inputs = _Inputs(args)
        self.places, self.facts = [], []
        self.passes = weakref.WeakKeyDictionary()
        self.complete = False       # whether the first run has ended
        self.lines = [], []         # with `debug`: of what the two runs saved

    def note(self, x, again):
        if self.debug:
            self.lines[again].append(f"${len(self.lines[again]) + 1}: {x.dtype} {list(x.shape)} at {where.text(where.here())}")
        return _facts(x)

    def pack(self, x):
        place = _Place()
        self.places.append(weakref.ref(place))
        self.facts.append(self.note(x, False))
        return place

    def unpack(self, place):
        group = GraphExecGroup._get_current_group()
        key = group or state.task
        again = self.passes.get(key) if key is not None else None
        if again is None:
            again = self._recomputed()
            if key is not None:
                self.passes[key] = again
        x, again[place] = again[place], None
        if x is None:
            raise self._error(TWICE.format(OVERLAP if group is not None else ""), "")
        return x

    def _recomputed(self):
        """{place: tensor} of what a second run saves."""
        found, again = [], weakref.WeakKeyDictionary()

        def collect(x):
            x = x.detach() if x.requires_grad else x
            found.append(self.note(x, True))
            if len(found) > len(self.places):
                if self.complete:
                    raise self._error("trying to save more tensors during recomputation than during the original forward pass.")
                return x
            place = self.places[len(found) - 1]()
            if place is not None:
                again[place] = x
            if self.early_stop and len(found) == len(self.places):
                raise _Enough
            return x

        self.lines[True].clear()
        with contextlib.suppress(_Enough), saved_tensors_hooks(collect, lambda x: x), enable_grad():
            self.run(True, self.inputs.again())
        self._check(found)
        return again

    def _check(self, found):
        if len(found) > len(self.places):       # a backward inside of the first run, which goes on
            return
        if len(found) != len(self.places):
            raise self._error("A different number of tensors was saved during the original forward and recomputation.\nNumber of tensors "
                              f"saved during forward: {len(self.places)}\nNumber of tensors saved during recomputation: {len(found)}.")
        differ = [f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n"
                  for i, (place, a, b) in enumerate(zip(self.places, self.facts, found)) if a != b and place() is not None]
        if self.compare and differ:
            raise self._error("Recomputed values for the following tensors have different metadata than during the forward pass.\n"
                              f"{''.join(differ)}.")

    def _error(self, text, tip=_TIP):
        text = "torch.utils.checkpoint: " + text
        return CheckpointError(_LOG.format(*map("\n".join, self.lines), text) if self.debug else text + tip)


def _without_reentry(function, args, kwargs, preserve, context_fn, determinism_check, early_stop, debug):
    debug = _debug.over(debug)
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    forward, recompute = context_fn()
    if not state.grad:
        return function(*args, **kwargs)
    then = _Circumstances(preserve)

    def run(again, args):
        with then.again() if again else contextlib.nullcontext(), recompute if again else forward:
            return function(*args, **kwargs)

    frame = _Frame(run, args, _early_stop.over(early_stop), determinism_check == "default", debug)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        out = run(False, args)
    frame.complete = True
    return out


# -- the functions ----------------------------------------------------------------------------------------------------

def _explicit(use_reentrant, name, when):
    if use_reentrant is None:
        warnings.warn(f"torch.utils.{name}: the use_reentrant parameter should be passed explicitly. {when} "
                      "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
                      "use_reentrant=True. Refer to docs for more details on the differences between the two variants.",
                      stacklevel=3)
        return True
    return use_reentrant


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, **kwargs):
    """`function(*args, **kwargs)`, with its intermediates computed again in the backward pass.

    With `use_reentrant` the whole function is differentiated inside the backward pass (no keyword arguments, no higher
    derivatives); without, its saved tensors are made again when the backward first needs one. `preserve_rng_state=False` lets the
    second run draw other random numbers.
    """
    use_reentrant = _explicit(use_reentrant, "checkpoint",
                              "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentry(function, args, kwargs, preserve, context_fn, determinism_check, early_stop, debug)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A chain of functions, checkpointed in `segments` pieces, of which the last keeps its intermediates."""
    use_reentrant = _explicit(use_reentrant, "checkpoint.checkpoint_sequential",
                              "In version 2.9 we will raise an exception if use_reentrant is not passed.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children() if hasattr(functions, "children") else functions)

    def piece(start, end):
        def run(x):
            for f in functions[start:end]:
                x = f(x)
            return x
        return run

    size = len(functions) // segments
    last = 0
    for start in range(0, size * (segments - 1), size):
        last = start + size
        input = checkpoint(piece(start, last), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return piece(last, len(functions))(input)


# -- devices and selective checkpointing ------------------------------------------------------------------------------

class DefaultDeviceType:
    """The kind of device whose random numbers are kept when no input tells."""

    _default_device_type = None

    @staticmethod
    def set_device_type(device="cuda"):
        """Choose the kind."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        """The kind."""
        from torchish import accelerator
        found = accelerator.current_accelerator()
        return DefaultDeviceType._default_device_type or (found.type if found is not None else "cpu")


def get_device_states(*args):
    """(devices, states) of the accelerators of the inputs: none, there is one stream of random numbers for all devices."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Put back what get_device_states returned."""


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with an operation's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy function is told beside the operation: its result. It is asked in the first run only."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


SAC_IGNORED_OPS = {aten.detach.default}     # of these the two runs make different numbers
SAVE = {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True}
DIFFERENT = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed "
             "between forward and backward.")
_RECOMPUTE, _CONSUMED = object(), object()


class _Kept:
    """A result kept outside the graph, and its version then."""

    def __init__(self, x):
        self.val, self.version = (x.detach(), x._version) if isinstance(x, Tensor) else (x, None)

    def get_val(self, allow_cache_entry_mutation):
        if not allow_cache_entry_mutation and self.version is not None and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


class _CountingMode(TorchDispatchMode):
    """Numbers the calls of each operation."""

    def __init__(self, policy_fn, storage):
        self.policy_fn, self.storage, self.func_counter = policy_fn, storage, collections.Counter()

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        self.func_counter[func] += 1
        return self.result(func, self.func_counter[func] - 1, args, kwargs)


class _CachingTorchDispatchMode(_CountingMode):
    """The first run: keeps the results that the policy wants."""

    def result(self, func, number, args, kwargs):
        out = func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        self.storage[func][number] = tree_map(_Kept, out) if policy in SAVE else _RECOMPUTE
        return out


class _CachedTorchDispatchMode(_CountingMode):
    """The second run: takes them."""

    def __init__(self, policy_fn, storage, allow_cache_entry_mutation=False):
        super().__init__(policy_fn, storage)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __enter__(self):
        self.func_counter.clear()
        return super().__enter__()

    def result(self, func, number, args, kwargs):
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {DIFFERENT}")
        entry = self.storage[func].get(number)
        if entry is None:
            raise RuntimeError(f"{func} invocation index {number} encountered during backward but not found in storage. {DIFFERENT}")
        if entry is _CONSUMED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                               "selective activation checkpoint.")
        if entry is _RECOMPUTE:
            return func(*args, **kwargs)
        self.storage[func][number] = _CONSUMED
        return tree_map_only(_Kept, lambda kept: kept.get_val(self.allow_cache_entry_mutation), entry)


def _check_overload(op):
    if isinstance(op, OpOverload):
        return
    advice = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change it to "
              "`torch.ops.aten.mm.default`.") if isinstance(op, OpOverloadPacket) else ""
    raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {advice}")


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts of `checkpoint(..., context_fn=...)` between which results travel instead of being computed again.

    Of which operations tells a list of overloads (`torch.ops.aten.mm.default`), or a function `policy(context, op, *args, **kwargs)`
    that returns a CheckpointPolicy or a bool. `allow_cache_entry_mutation`: results may have been written to meanwhile.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            _check_overload(op)

        def policy(context, op, *args, **kwargs):
            return op in policy_fn_or_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage = collections.defaultdict(dict)
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation)
