"""Storage: the mutable cell behind tensors, and views of it."""

import sys
import weakref

import numpy as np

from torchish import program
from torchish.ops.views import put_of
from torchish.program import record


class Storage:
    """A cell holding the current Value and the version that views and `.detach()` share."""

    __slots__ = ("value", "version", "array", "seen", "__weakref__")

    def __init__(self, value):
        self.value = value
        self.version = 0


class SharedStorage(Storage):
    """A storage whose memory a numpy array shares: reads look at the array again, writes go into it.

    `Storage.value` keeps the Value made from `seen`, a copy of the array at the last look.
    """

    __slots__ = ()

    @property
    def value(self):
        array = self.array
        if not _same(array, self.seen):
            self.seen = array.copy()
            _cell.__set__(self, program.from_numpy(self.seen))
        v = _cell.__get__(self)
        if sys.getrefcount(array) == 3 and array.base is None:
            # nobody else holds the array any more: an ordinary storage again
            self.__class__ = Storage
            self.value, self.array, self.seen = v, None, None
        return v

    @value.setter
    def value(self, v):
        _cell.__set__(self, v)
        self.array[...] = program.to_numpy(v)
        self.seen = self.array.copy()


_cell = Storage.value


class NumberStorage(Storage):
    """A storage of one number that the host knows: a Value is made when somebody reads it (`array` holds the number, `seen` its
    shape and dtype). An ordinary storage again once something else is written."""

    __slots__ = ()

    @property
    def value(self):
        v = _cell.__get__(self)
        if v is None:
            v = program.from_numpy(np.full(self.seen.shape, self.array, self.seen.dtype))
            _cell.__set__(self, v)
        return v

    @value.setter
    def value(self, v):
        self.__class__ = Storage
        self.value, self.array, self.seen = v, None, None


def put_number(t, number):
    """Write a Python number, rounded to its dtype by the caller, into a tensor of one element without recording anything."""
    s = t._storage
    if s.__class__ is SharedStorage or t._view is not None:
        t._write(program.from_numpy(np.full(t._aval.shape, number, t._aval.dtype)))
        return
    s.__class__ = NumberStorage
    _cell.__set__(s, None)
    s.array, s.seen = number, t._aval
    t._bump()


def number_of(t):
    """The number in a tensor of one element, without running anything where it is known."""
    s = t._storage
    return s.array if s.__class__ is NumberStorage else t.item()


def _same(a, b):
    return a.tobytes() == b.tobytes()


def share(storage, array):
    """Make `array` the storage's memory."""
    v = storage.value
    storage.__class__ = SharedStorage
    storage.array, storage.seen = array, array.copy()
    _cell.__set__(storage, v)
    return storage


_copies = weakref.WeakKeyDictionary()       # by storage: the memory that `address` tells


def address(storage):
    """Where a storage's contents are to be read: the same place at each call, filled with what is there at the call. 0 if it is empty."""
    v = storage.value
    if v.aval.traced:
        return id(storage)
    if v.aval.size == 0:
        return 0
    place = storage.array if storage.__class__ is SharedStorage else None
    if place is None or not place.flags.c_contiguous:
        contents = np.asarray(program.to_numpy(v))
        place = _copies.get(storage)
        if place is None or place.nbytes != contents.nbytes:
            place = _copies[storage] = np.empty(contents.nbytes, np.uint8)
        place[...] = np.ascontiguousarray(contents).reshape(-1).view(np.uint8)
    return place.ctypes.data


class View:
    """How a tensor reads its storage: strides as PyTorch counts them, and the chain of view ops that yields the array."""

    __slots__ = ("chain", "strides", "offset", "base_value", "cached")

    def __init__(self, chain, strides, offset):
        self.chain, self.strides, self.offset = chain, strides, offset
        self.base_value = self.cached = None

    def read(self, storage):
        x = storage.value
        if x is self.base_value:
            return self.cached
        self.base_value = x
        for row, numbers, attrs in self.chain:
            x = record(row, (x, *numbers), attrs)
        self.cached = x
        return x

    def write(self, storage, new):
        """Replace the elements this view shows; the storage gets a rebuilt Value."""
        stages = [storage.value]
        for row, numbers, attrs in self.chain[:-1]:
            stages.append(record(row, (stages[-1], *numbers), attrs))
        x = new
        for stage, (row, numbers, attrs) in zip(reversed(stages), reversed(self.chain)):
            x = record(put_of(row), (stage, x, *numbers), attrs)
        storage.value = x
        self.base_value, self.cached = (x, new) if 0 not in self.strides else (None, None)


def strided_array(root, sizes, strides, offset):
    """The numpy view of a root array that has a tensor's geometry."""
    item = root.itemsize
    return np.lib.stride_tricks.as_strided(root.reshape(-1)[offset:], sizes, [s * item for s in strides])
