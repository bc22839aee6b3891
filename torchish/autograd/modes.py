"""Grad modes: thread-local switches, usable as context managers, decorators and (set_grad_enabled) calls."""

import functools
import inspect
import threading
import warnings

CLASSES = ("Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. To "
           "preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else.")


class _State(threading.local):
    grad = True
    forward = True          # whether operations push tangents on
    inference = False
    anomaly = False
    check_nan = True
    saved_hooks = ()
    multithreading = grad_layout = True
    view_replay = False     # whether a view whose base was written gets the node of its own function instead of AsStrided
    level = None            # the innermost open level of forward mode
    below = None            # the door of the dispatch modes that are on, below all the rest
    door = None             # what operations go through instead of the usual way: autocast, else the level, else `below`
    transforms = ()         # the torch.func transforms that run, outermost first: levels of vmap, of forward mode, of reverse mode
    task = None             # the live backward pass that runs in this thread
    depth = 0               # how many of them run inside each other


state = _State()


def in_thread(fn, *args):
    """Call `fn` in a thread of its own (with a fresh stack) and in this thread's modes, and wait for it."""
    modes, failed = dict(vars(state), depth=0), []

    def call():
        vars(state).update(modes)
        try:
            fn(*args)
        except BaseException as error:
            failed.append(error)
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


class _Mode:
    """A context manager that is a decorator as well; on generators only the body runs in the mode."""

    def __call__(self, fn):
        if inspect.isclass(fn):
            warnings.warn(CLASSES, FutureWarning, stacklevel=2)
            fn.__init__ = self(fn.__init__)
            return fn
        if inspect.isgeneratorfunction(fn):
            @functools.wraps(fn)
            def generator(*args, **kwargs):
                gen = fn(*args, **kwargs)
                send, value = gen.send, None
                try:
                    while True:
                        with self.clone():
                            try:
                                out = send(value)
                            except StopIteration as stop:
                                return stop.value
                        try:
                            value, send = (yield out), gen.send
                        except GeneratorExit:
                            with self.clone():
                                gen.close()
                            raise
                        except BaseException as e:
                            value, send = e, gen.throw
                finally:
                    gen.close()
            return generator

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            with self.clone():
                return fn(*args, **kwargs)
        return wrapper

    def clone(self):
        return self.__class__()


class no_grad(_Mode):
    """Operations inside record no graph."""

    def __new__(cls, orig_func=None):
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __enter__(self):
        self.previous = state.grad
        state.grad = False

    def __exit__(self, *exc):
        state.grad = self.previous


class enable_grad(no_grad):
    """Operations inside record the graph again."""

    def __enter__(self):
        self.previous = state.grad
        state.grad = True


class _Switch(_Mode):
    """Sets a flag of the thread: at once when called, restored at the end of a `with` block; as a decorator it does not leak."""

    def __init__(self, mode):
        self.previous = getattr(state, self.flag)
        self.mode = bool(mode)
        setattr(state, self.flag, self.mode)

    def __call__(self, fn):
        setattr(state, self.flag, self.previous)
        return super().__call__(fn)

    def __enter__(self):
        setattr(state, self.flag, self.mode)

    def __exit__(self, *exc):
        setattr(state, self.flag, self.previous)

    def clone(self):
        return self.__class__(self.mode)


class set_grad_enabled(_Switch):
    """Set the grad mode: at once when called, restored at the end of a `with` block; as a decorator it does not leak."""

    flag = "grad"


class set_forward_enabled(_Switch):
    """Whether operations push tangents on; torch.autograd.forward_ad._set_fwd_grad_enabled."""

    flag = "forward"


class _Flag(_Mode):
    """A flag of the thread, set when the object is made; as a context manager it is what it was afterwards."""

    def __init__(self, mode):
        self.previous, self.mode = getattr(state, self.name), bool(mode)
        setattr(state, self.name, self.mode)

    def __enter__(self):
        """Set already."""

    def __exit__(self, *exc):
        setattr(state, self.name, self.previous)

    def clone(self):
        return self.__class__(self.mode)


class set_multithreading_enabled(_Flag):
    """Kept for scripts: backward runs in the thread that calls it, always."""

    name = "multithreading"


class enforce_grad_layout_policy(_Flag):
    """Kept for scripts: gradients are contiguous, always."""

    name = "grad_layout"

    def __init__(self, enable=True):
        super().__init__(enable)


class _force_original_view_tracking(_Flag):
    """Whether a view whose base was written gets the node of its own function instead of AsStrided."""

    name = "view_replay"


def is_view_replay_enabled():
    """What `_force_original_view_tracking` set."""
    return state.view_replay


class suspended:
    """What runs inside pushes tangents of the level `outer` at most: by default none."""

    def __init__(self, outer=None):
        self.outer = outer

    def __enter__(self):
        self.previous = state.level, state.door
        if state.door is (state.level or state.below):
            state.door = self.outer or state.below
        state.level = self.outer

    def __exit__(self, *exc):
        state.level, state.door = self.previous


class dispatched:
    """What runs inside meets the dispatch modes behind the door `below`: by default none."""

    def __init__(self, below=None):
        self.below = below

    def __enter__(self):
        self.previous = state.below, state.door
        if state.level is None and state.door is state.below:
            state.door = self.below
        state.below = self.below

    def __exit__(self, *exc):
        state.below, state.door = self.previous


class transformed:
    """What runs inside is in these torch.func transforms."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __enter__(self):
        self.previous, state.transforms = state.transforms, self.transforms

    def __exit__(self, *exc):
        state.transforms = self.previous


def in_float32(fn):
    """A function of several operations whose operands autocast casts to float32, as if it were one operation of its list."""
    @functools.wraps(fn)
    def call(*args, **kwargs):
        if state.door is (state.level or state.below):
            return fn(*args, **kwargs)
        return state.door.in_float32(fn, args, kwargs)
    return call


class inference_mode(_Mode):
    """No graph, and tensors made inside are inference tensors."""

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        self.mode = mode
        return self

    def __enter__(self):
        self.previous = state.inference, state.grad
        state.inference = self.mode
        state.grad = not self.mode if self.mode else state.grad

    def __exit__(self, *exc):
        state.inference, state.grad = self.previous

    def clone(self):
        return self.__class__(self.mode)


def is_multithreading_enabled():
    return state.multithreading


def is_grad_enabled():
    return state.grad


def is_inference_mode_enabled():
    return state.inference
