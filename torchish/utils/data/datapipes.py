"""DataPipes: datasets that are chained by methods registered for their classes. PyTorch's own collection of pipes is not here."""

import functools

from torchish.utils.data.dataset import Dataset, IterableDataset


class _Pipe:
    """Methods by name: `functional_datapipe("name")` makes a class of pipes callable as `pipe.name(...)`."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if _Pipe in cls.__bases__:
            cls.functions = {}

    def __getattr__(self, name):
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")

    def __repr__(self):
        return type(self).__name__

    @classmethod
    def register_function(cls, function_name, function):
        """Make a function a method of all pipes."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Make a class of pipes a method of all pipes."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Pipe, IterableDataset):
    """A stream of samples: a subclass defines `__iter__`."""

    def reset(self):
        """Called before an iteration by those who want it; a subclass may begin anew here."""


class MapDataPipe(_Pipe, Dataset):
    """Samples by key: a subclass defines `__getitem__`."""


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""


class DataChunk(list):
    """A batch of samples."""

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """The samples in brackets."""
        return indent + "[" + ", ".join(str(i) for i in self) + "]"

    def raw_iterator(self):
        """The samples as they are, whatever `__iter__` is."""
        yield from self.items


class functional_datapipe:
    """Decorator of a class of pipes: `functional_datapipe("name")`."""

    def __init__(self, name, enable_df_api_tracing=False):
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        for base in (IterDataPipe, MapDataPipe):
            if issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
                return cls
        raise TypeError("`functional_datapipe` can only decorate IterDataPipe")


class guaranteed_datapipes_determinism:
    """Within, pipes that are marked `non_deterministic` cannot be made."""

    on = False

    def __init__(self):
        self.before = self.on
        guaranteed_datapipes_determinism.on = True

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        guaranteed_datapipes_determinism.on = self.before


class non_deterministic:
    """Decorator of a class of pipes whose order is not always the same; or of such a class, with a function that tells when."""

    def __init__(self, arg):
        if not callable(arg):
            raise TypeError(f"{arg} can not be decorated by non_deterministic")
        self.cls, self.tells = (arg, None) if isinstance(arg, type) else (None, arg)

    def __call__(self, *args, **kwargs):
        if self.cls is None:
            cls, tells = args[0], self.tells
            return functools.wraps(cls, updated=())(lambda *a, **k: self._make(cls, tells(*a, **k), a, k))
        return self._make(self.cls, True, args, kwargs)

    @staticmethod
    def _make(cls, is_random, args, kwargs):
        if is_random and guaranteed_datapipes_determinism.on:
            raise TypeError(f"{cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. You can turn off "
                            "determinism for this DataPipe if that is acceptable for your application")
        return cls(*args, **kwargs)


def argument_validation(f):
    """Not there."""
    raise NotImplementedError("argument_validation: check the arguments inside the function")


def runtime_validation(f):
    """Not there."""
    raise NotImplementedError("runtime_validation: check the samples inside the pipe")


class runtime_validation_disabled:
    """Not there, as there is nothing to disable."""

    def __init__(self):
        raise NotImplementedError("runtime_validation_disabled: samples are not checked here")
