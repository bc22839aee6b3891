"""Copies of views (`*_copy`), the unsafe splits, and torch's functions for methods that write or ask."""

from torchish.api import bind, indexing, viewing
from torchish.api.bind import put_out
from torchish.api.creation import empty_strided, filled, finish, tensor
from torchish.autograd.dispatch import apply
from torchish.autograd.graph import OpNode, node_class
from torchish.ops import TABLE, dtypes
from torchish.ops.promote import wrap_dim
from torchish.tensor import Tensor

CLONE = TABLE["clone"]


def _named(name, fn, doc=None):
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    return fn


def _copying(name, view):
    """The function that copies what `view` shows; `out=` takes one tensor, or one a piece."""
    def copy(input, *args, out=None, **kw):
        if name == "narrow_copy":
            _check_narrow(input, *args, **kw)
        shown = view(input, *args, **kw)
        if not isinstance(shown, tuple):
            made = _copied(shown, _NODES.get(name))
            return made if out is None else put_out(name, made, out)
        made = tuple([_copied(x, _NODES.get(name)) for x in shown])
        if out is None:
            return made
        if len(out) != len(made):
            raise RuntimeError(f"{name}(): expected an out= list of {len(made)} tensors, but got {len(out)}")
        for x, place in zip(made, out):
            put_out(name, x, place)
        return None
    return _named(name, copy, f"A copy of what `torch.{name.removesuffix('_copy')}` shows.")


_NODES = {"narrow_copy": "NarrowCopyBackward0", "unsafe_split": "UnsafeSplitBackward0", "unsafe_chunk": "UnsafeSplitBackward0",
          "unsafe_split_with_sizes": "UnsafeSplitBackward0"}


def _copied(shown, node):
    """A copy whose node has PyTorch's name: that of the view with `_copy`, or `node`."""
    made = apply(CLONE, (shown,))
    if made._fn is not None:
        made._fn.__class__ = node_class(node or shown.grad_fn.name() + "_copy", OpNode)
    return made


def _check_narrow(input, dim, start, length):
    """narrow_copy has words of its own for bad input."""
    if input.ndim and dim >= input.ndim:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    if input.ndim and length < 0:
        n = input.shape[wrap_dim(dim, input.ndim)]
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")


def _slice(input, dim=0, start=None, end=None, step=1):
    return input[(slice(None),) * wrap_dim(dim, input.ndim) + (slice(start, end, step),)]


COPIES = {f"{name}_copy": _copying(f"{name}_copy", fn) for name, fn in {
    "alias": viewing.alias, "as_strided": viewing.as_strided, "detach": lambda input: input.detach(), "diagonal": viewing.diagonal,
    "expand": viewing.expand, "narrow": viewing.narrow, "permute": viewing.permute, "select": viewing.select, "slice": _slice,
    "split": viewing.split, "split_with_sizes": viewing.split_with_sizes, "squeeze": viewing.squeeze, "t": viewing.t,
    "transpose": viewing.transpose, "unbind": viewing.unbind, "unfold": viewing.unfold, "unsqueeze": viewing.unsqueeze,
    "view": viewing.view_, "view_as_complex": viewing.view_as_complex, "view_as_real": viewing.view_as_real}.items()}


_unsafe = {name: _copying(name, fn) for name, fn in {
    "unsafe_split": viewing.split, "unsafe_split_with_sizes": viewing.split_with_sizes, "unsafe_chunk": viewing.chunk}.items()}


# --- pieces that may be written one by one ------------------------------------------------------------------------------

def unsafe_split(tensor, split_size, dim=0):
    """`split`, whose pieces may be written although the others are used."""
    return _unsafe["unsafe_split"](tensor, split_size, dim)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    return _unsafe["unsafe_split_with_sizes"](input, split_sizes, dim)


def unsafe_chunk(input, chunks, dim=0):
    return _unsafe["unsafe_chunk"](input, chunks, dim)


def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """Each tensor cut into `num_chunks` pieces along `dim` (padded with zeros), piece k of all of them side by side in row k."""
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if any(t.ndim != tensors[0].ndim for t in tensors) and dim < 0:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    if any(not t.numel() for t in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    d = wrap_dim(dim, tensors[0].ndim)
    if any(d >= t.ndim for t in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    if any(t.shape[:d] != tensors[0].shape[:d] for t in tensors):
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    rows = []
    for t in tensors:
        size = -(-t.shape[d] // num_chunks)
        t = bind.functional["pad"](t, [0, 0] * (t.ndim - d - 1) + [0, size * num_chunks - t.shape[d]])
        rows.append(t.reshape(*t.shape[:d], num_chunks, -1))
    made = bind.torch["cat"](rows, -1)
    return made if out is None else put_out("_chunk_cat", made, out)


# --- scatters into views -------------------------------------------------------------------------------------------------

def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of `input` in which the strided view is replaced by `src`."""
    start = input.storage_offset()
    offset = start if storage_offset is None else storage_offset
    viewing.within_storage(input, size, stride, offset)
    return apply(TABLE["as_strided_scatter"], (input, src), (tuple(size), tuple(stride), offset, input.stride(), start))


def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """`src`, where it is the slice of a tensor like `input`."""
    if not isinstance(src, Tensor):
        raise TypeError(f"slice_inverse(): argument 'src' (position 2) must be Tensor, not {type(src).__name__}")
    return viewing.as_strided(input, src.shape, src.stride(), src.storage_offset())


def _clamped(input, indices):
    """Indices that are all in range; None takes a whole dimension."""
    return tuple([slice(None) if i is None else i.clamp(min=-n, max=n - 1) for i, n in zip(indices, input.shape)])


def _unsafe_masked_index(input, mask, indices, fill):
    """`input[indices]` where `mask` is true, `fill` elsewhere; indices may be out of range where it is false."""
    return input[_clamped(input, indices)].masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """`input` with `values` added at the indices where `mask` is true."""
    return input.index_put(_clamped(input, indices), values.masked_fill(mask.logical_not(), 0), accumulate=True)


# --- questions with one answer -------------------------------------------------------------------------------------------

def is_signed(input):
    return input.dtype.is_signed


def is_inference(input):
    return input._inference


def is_set_to(self, tensor):
    """Whether both show the same memory in the same way."""
    return (self._storage is tensor._storage and self.shape == tensor.shape and self.stride() == tensor.stride()
            and self.storage_offset() == tensor.storage_offset())


def get_device(input):
    return input.get_device()


# --- geometry ------------------------------------------------------------------------------------------------------------

def as_strided_(self, size, stride, storage_offset=None):
    """This tensor becomes the strided view of its storage."""
    shown = viewing.as_strided(self, size, stride, storage_offset)
    for slot in ("_aval", "_view", "_fn", "_nr", "_meta"):
        setattr(self, slot, getattr(shown, slot))
    return self


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Uninitialised memory whose dimensions lie in the order `physical_layout`."""
    if len(size) != len(physical_layout):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}")
    for d in physical_layout:
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index "
                               f"{physical_layout.index(d)}).  NB: negative dims not currently supported; file an issue if you want it.")
    if len(set(physical_layout)) != len(size):
        raise RuntimeError("Duplicate dim not allowed")
    strides, step = [0] * len(size), 1
    for d in reversed(physical_layout):
        strides[d], step = step, step * size[d]
    return empty_strided(size, strides, dtype=dtype, device=device, requires_grad=requires_grad)


def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def dim_order(self, *, ambiguity_check=False):
    """The dimensions, outermost in memory first."""
    if ambiguity_check and (1 in self.shape or len(set(self.stride())) < self.ndim):
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(self.ndim), key=lambda d: (-self.stride()[d], d)))


def fill_diagonal_(self, fill_value, wrap=False):
    """Write the main diagonal; with `wrap` it goes on below a tall matrix."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    steps = sum(self.stride())
    rows, columns = self.shape[0], self.shape[1]
    count = min(self.shape)
    viewing.as_strided(self, (count,), (steps,), self.storage_offset()).fill_(fill_value)
    if wrap and self.ndim == 2 and rows > columns + 1:
        start = self.stride(0) * (columns + 1)
        rest = -(-(self.numel() - start) // steps)
        viewing.as_strided(self, (rest,), (steps,), self.storage_offset() + start).fill_(fill_value)
    return self


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """`size` rows of `nonzero`: cut, or filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = indexing.nonzero(input)[:size]
    made = finish(filled((size, input.ndim), fill_value, dtypes.int64), False, None)
    made[:found.shape[0]] = found
    return made if out is None else put_out("nonzero_static", made, out)


# --- a value at a time (CPU) ---------------------------------------------------------------------------------------------

def _elementwise(name, fn, *tensors):
    self = tensors[0]
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for x in tensors[1:]:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument 'other' (position 1) must be Tensor, not {type(x).__name__}")
        if x.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {x.type()})")
    rows = [viewing.expand(x, self.shape).reshape(-1).tolist() for x in tensors]
    return self.copy_(tensor([fn(*xs) for xs in zip(*rows)], dtype=self.dtype).reshape(self.shape))


def apply_(self, callable):
    """Replace every element by `callable(element)`, in Python."""
    return _elementwise("apply_", callable, self)


def map_(self, other, callable):
    """Replace every element by `callable(element, other's element)`, in Python."""
    return _elementwise("map_", callable, self, other)


def map2_(self, x, y, callable):
    """Replace every element by `callable(element, x's element, y's element)`, in Python."""
    return _elementwise("map2_", callable, self, x, y)


def _method_call(name):
    def function(input, *args, **kw):
        return getattr(input, name)(*args, **kw)
    return _named(name, function, f"`input.{name}(...)`.")


BOTH = {f.__name__: f for f in (
    unsafe_split, unsafe_split_with_sizes, unsafe_chunk, as_strided_scatter, slice_inverse, is_signed, is_inference,
    nonzero_static)}
TORCH = COPIES | BOTH | {f.__name__: f for f in (_chunk_cat, _unsafe_masked_index, _unsafe_masked_index_put_accumulate, empty_permuted,
                                                get_device)}
TORCH |= {name: _method_call(name) for name in ("zero_", "fill_", "detach_", "resize_as_", "as_strided_", "index_put_")}
METHODS = BOTH | {f.__name__: f for f in (as_strided_, new_empty_strided, dim_order, fill_diagonal_, is_set_to, apply_, map_, map2_)}
METHODS["narrow_copy"] = COPIES["narrow_copy"]
