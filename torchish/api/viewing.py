"""View functions: what shares storage with its argument."""

import math
import warnings

from torchish.api.lazy import BITS, conj, is_conj, neg_view
from torchish.autograd.dispatch import apply, view
from torchish.autograd.modes import in_float32, state
from torchish.ops import TABLE, dtypes
from torchish.ops.promote import wrap_dim
from torchish.ops.views import view_strides
from torchish.tensor import Tensor

ROW = {n: TABLE[n] for n in ("select", "slice", "view", "alias", "permute", "transpose", "t", "squeeze_dims", "squeeze_all",
                             "squeeze_many", "unsqueeze", "expand", "diagonal", "unfold_view", "as_strided",
                             "view_as_real", "view_as_complex", "view_dtype", "clone", "reshape_alias")}


def _sizes(size):
    if len(size) == 1 and not isinstance(size[0], int):
        size = tuple(size[0]) if isinstance(size[0], (tuple, list)) else size
    return tuple([int(s) for s in size])


def infer_size(size, n):
    """`size` with its -1 filled in."""
    size = list(size)
    unknown = [i for i, s in enumerate(size) if s == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for s in size:
        if s < -1:
            raise RuntimeError(f"invalid shape dimension {s}")
    known = math.prod(s for s in size if s != -1)
    if unknown:
        if known == 0:
            if n == 0:
                raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {size} because the unspecified dimension size "
                                   "-1 can be any value and is ambiguous")
            raise RuntimeError(f"shape '{size}' is invalid for input of size {n}")
        if n % known:
            raise RuntimeError(f"shape '{size}' is invalid for input of size {n}")
        size[unknown[0]] = n // known
    elif known != n:
        raise RuntimeError(f"shape '{size}' is invalid for input of size {n}")
    return tuple(size)


def view_(self, *shape, size=None, dtype=None):
    """The same memory in another shape, or (given a dtype) read as another dtype."""
    first = shape[0] if shape else size if size is not None else dtype
    if isinstance(first, (dtypes.dtype, type)):
        return _as_dtype(self, dtypes.given(first, "view"))
    if not isinstance(first, (int, tuple, list)) and not hasattr(first, "__index__"):
        raise TypeError(f"view() received an invalid combination of arguments - got ({', '.join(type(s).__name__ for s in shape)}), but "
                        "expected one of:\n * (torch.dtype dtype)\n * (tuple of ints size)\n")
    size = shape if size is None else (size,)
    return view(ROW["view"], self, (), (infer_size(_sizes(size), self._aval.size),))


def _as_dtype(t, dtype):
    # no derivative passes through the bits
    t = t.detach() if t.requires_grad else t
    if dtype is t.dtype:
        return view(ROW["alias"], t)
    for name, _, is_set, _ in BITS:
        if is_set(t):
            which = "conjugate view tensors" if name == "conj" else "tensors with negative bit set"
            raise RuntimeError(f"torch.Tensor.view is not supported for {which} when converting to a different dtype.")
    item, n, to = t.dtype.itemsize, dtype.itemsize, f"to view {t.dtype.legacy} as {dtype.legacy} (different element sizes)"
    if item != n:
        if not t.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {to}")
        if t.stride(-1) != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {to}, but got {t.stride(-1)}")
        ratio = n // item
        if n > item and t.shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {to}, but got {t.shape[-1]}")
        if n > item and t.storage_offset() % ratio:
            raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {to}, but got {t.storage_offset()}")
        for k, s in enumerate(t.stride()[:-1] if n > item else ()):
            if s % ratio:
                raise RuntimeError(f"self.stride({k}) must be divisible by {ratio} {to}, but got {s}")
    return view(ROW["view_dtype"], t, (), (dtype, item))


def view_as(self, other):
    return view_(self, other._aval.shape)


def reshape(input, *shape, **kw):
    """A view where the strides allow it, a copy otherwise."""
    if "shape" in kw:
        shape = (kw["shape"],)
    size = infer_size(_sizes(shape), input._aval.size)
    return _reshape(input, size)


def _reshape(t, size):
    if t._view is None or view_strides(t._aval.shape, t.stride(), size) is not None:
        return view(ROW["view"], t, (), (size,))
    copy = apply(ROW["clone"], (t,))
    out = view(ROW["reshape_alias"], copy, (), (size,))
    if out._fn is not None:
        from torchish.autograd.graph import OpNode, node_class
        out._fn.__class__ = node_class("UnsafeViewBackward0", OpNode)
    out._meta = None
    return out


def reshape_as(self, other):
    return reshape(self, other._aval.shape)


def ravel(input):
    return _reshape(input, (input._aval.size,)) if input.ndim != 1 or not input.is_contiguous() else input


def flatten(input, start_dim=0, end_dim=-1):
    n = input.ndim
    a, b = wrap_dim(start_dim, n), wrap_dim(end_dim, n)
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if n == 0:
        return _reshape(input, (1,))
    if a == b:
        return input
    s = input._aval.shape
    return _reshape(input, s[:a] + (math.prod(s[a:b + 1]),) + s[b + 1:])


def unflatten(input, dim, sizes):
    d = wrap_dim(dim, input.ndim)
    s = input._aval.shape
    try:
        sizes = infer_size(tuple(sizes), s[d])
    except RuntimeError:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({s[d]}) in the "
                           "input tensor") from None
    return view(ROW["view"], input, (), (s[:d] + sizes + s[d + 1:],))


def permute(input, *dims, **kw):
    dims = _sizes(kw["dims"] if "dims" in kw else dims) if "dims" not in kw else tuple(kw["dims"])
    n = input.ndim
    if len(dims) != n:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}")
    wrapped = tuple(wrap_dim(d, n) for d in dims)
    if len(set(wrapped)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return view(ROW["permute"], input, (), (wrapped,))


def transpose(input, dim0, dim1):
    n = input.ndim
    a, b = wrap_dim(dim0, n), wrap_dim(dim1, n)
    return view(ROW["transpose"], input, (), (a, b)) if n else view(ROW["alias"], input)


def t(input):
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return view(ROW["t"], input)


def T(self):
    """The dimensions in reverse order."""
    if self.ndim == 0:
        warnings.warn("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.", UserWarning, stacklevel=2)
    elif self.ndim != 2:
        warnings.warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
                      "in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, "
                      "-1))` to reverse the dimensions of a tensor.", UserWarning, stacklevel=2)
    return view(ROW["permute"], self, (), (tuple(reversed(range(self.ndim))),))


def _transposed(name, finish, most=None):
    """mT, mH, adjoint and H: a matrix, or (without `most`) a batch of them; a number stays as it is."""
    kind = "matrices (2-D tensors)" if most else "matrices or batches of matrices"

    def transposed(input):
        n = input.ndim
        if n == 1 or most and n > most:
            hint = " For batches of matrices, consider using tensor.mH" if n > 1 else ""
            raise RuntimeError(f"tensor.{name} is only supported on {kind}. Got {n}-D tensor.{hint}")
        if not n:
            what = "This function is the identity in these cases." if finish is not conj else "Consider using x.conj()."
            warnings.warn(f"{'' if name.endswith(')') else 'Tensor.'}{name} is deprecated on 0-D tensors. {what}", UserWarning, stacklevel=2)
            return input
        return finish(transpose(input, -2, -1))
    return transposed


mT, mH = _transposed("mT", lambda t: t), _transposed("mH", conj)
adjoint, H = _transposed("adjoint()", conj), _transposed("H", conj, most=2)


def movedim(input, source, destination):
    n = input.ndim
    source, destination = ([d] if isinstance(d, int) else list(d) for d in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of "
                           f"dims as destination ({destination} dims)")
    src, dst = ([wrap_dim(d, n) for d in dims] for dims in (source, destination))
    for name, dims, given in ("source", src, source), ("destination", dst, destination):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    rest = iter(d for d in range(n) if d not in src)
    place = dict(zip(dst, src))
    return permute(input, tuple(place[i] if i in place else next(rest) for i in range(n)))


def squeeze(input, dim=None, *, axis=None):
    dim = axis if dim is None else dim
    s = input._aval.shape
    if dim is None:
        return view(ROW["squeeze_all"], input, (), (tuple(i for i, n in enumerate(s) if n == 1),))
    if isinstance(dim, int):
        d = wrap_dim(dim, len(s))
        return view(ROW["squeeze_dims"], input, (), ((d,) if s and s[d] == 1 else (),))
    dims = tuple(d for d in (wrap_dim(d, len(s)) for d in dim) if s and s[d] == 1)
    return view(ROW["squeeze_many"], input, (), (dims,))


def unsqueeze(input, dim, *, axis=None):
    return view(ROW["unsqueeze"], input, (), (wrap_dim(dim, input.ndim + 1, False),))


def expand(self, *size, implicit=False):
    size = _sizes(size)
    s = self._aval.shape
    pad = len(size) - len(s)
    if pad < 0:
        raise RuntimeError(f"expand({self.dtype.legacy and f'torch.{self.dtype.legacy}Tensor'}{{{list(s)}}}, size={list(size)}): the "
                           f"number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the "
                           f"tensor ({len(s)})")
    out = list(size)
    for i, n in enumerate(size):
        if i < pad:
            if n == -1:
                raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
            continue
        have = s[i - pad]
        if n == -1:
            out[i] = have
        elif have != n and have != 1:
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton "
                               f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(s)}")
    return view(ROW["expand"], self, (), (tuple(out),))


def expand_as(self, other):
    return expand(self, other._aval.shape)


def broadcast_to(input, *size, **kw):
    return expand(input, *size, **kw)


def broadcast_tensors(*tensors):
    from torchish.ops.promote import broadcast_shapes
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = ()
    for x in tensors:
        shape = broadcast_shapes(shape, x._aval.shape)
    return tuple(expand(x, shape) for x in tensors)


def narrow(input, dim, start, length):
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d = wrap_dim(dim, input.ndim)
    n = input._aval.shape[d]
    start = int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start += n if start < 0 else 0
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return view(ROW["slice"], input, (start,), (d, length, 1))


def select(input, dim, index):
    n = input.ndim
    if not n:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, n)
    size = input._aval.shape[d]
    i = int(index)
    if not -size <= i < size:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(input._aval.shape)} at dimension {d}")
    return view(ROW["select"], input, (i + size if i < 0 else i,), (d,))


def diagonal(input, offset=0, dim1=0, dim2=1):
    n = input.ndim
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return view(ROW["diagonal"], input, (), (offset, a, b))


def unfold(self, dimension, size, step):
    d = wrap_dim(dimension, self.ndim)
    n = self._aval.shape[d] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        self = view(ROW["unsqueeze"], self, (), (0,))
        return self if size else narrow(self, 0, 0, 0)
    return view(ROW["unfold_view"], self, (), (d, size, step))


def within_storage(t, size, stride, start):
    """Refuse a geometry that leaves the storage."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    item, held = t.dtype.itemsize, t._storage.value.aval
    needed = (start + sum((n - 1) * s for n, s in zip(size, stride)) + 1) * item if all(size) else 0
    have = held.size * held.dtype.itemsize
    if needed > have:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {item} requiring "
                           f"a storage size of {needed} are out of bounds for storage of size {have}")


def as_strided(input, size, stride, storage_offset=None):
    """A view of the storage by explicit sizes and strides."""
    start = input.storage_offset() if storage_offset is None else storage_offset
    within_storage(input, size, stride, start)
    root = input
    if input._view is not None:
        root = _retyped(input._meta.base if input._meta is not None else Tensor._wrap(input._storage, input._storage.value.aval), input.dtype)
    out = view(ROW["as_strided"], root, (), (tuple(size), tuple(stride), start if start or storage_offset is not None else None))
    for _, _, is_set, set_bit in BITS:
        if is_set(input):
            out = set_bit(out)
    if state.level is not None and root is not input:
        state.level.share(out, input, lambda along: as_strided(along, size, stride, start))
    return out


def _retyped(root, dtype):
    """The whole storage, flat, as elements of `dtype`."""
    if root.dtype is dtype:
        return root
    if root.dtype is dtype.to_real():
        return view_as_complex(_reshape(root, (root._aval.size // 2, 2)))
    flat = view_as_real(root) if root.dtype.is_complex and root.dtype.to_real() is dtype else _as_dtype(root, dtype)
    return _reshape(flat, (flat._aval.size,))


def alias(input):
    return view(ROW["alias"], input)


def real(input):
    """The real parts as a view; a real tensor itself."""
    return select(view_as_real(_unconjugated(input)), -1, 0) if input.dtype.is_complex else input


def imag(input):
    """The imaginary parts as a view."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    parts = view_as_real(_unconjugated(input))
    return select(neg_view(parts) if is_conj(input) else parts, -1, 1)


def _unconjugated(t):
    return conj(t) if is_conj(t) else t


def view_as_real(input):
    if not input.dtype.is_complex:
        raise RuntimeError(f"view_as_real is only supported for complex tensors, but got a tensor of scalar type: "
                           f"{input.dtype.legacy}")
    if is_conj(input):
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view "
                           "it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.")
    return view(ROW["view_as_real"], input)


@in_float32
def view_as_complex(input):
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input._aval.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.dtype.is_complex or not input.dtype.is_floating_point:
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
                           f"{input.dtype.legacy}")
    input.dtype.to_complex().held()
    *strides, last = input.stride()
    if last != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in strides):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return view(ROW["view_as_complex"], input)


def _pieces(input, sizes, d, name):
    out, start = [], 0
    for k, n in enumerate(sizes):
        out.append(view(ROW["slice"], input, (start,), (d, n, 1), creation="multi", source=name, number=k))
        start += n
    _share_node(out, name)
    return tuple(out)


def _share_node(pieces, name):
    """Pieces carry PyTorch's node name of the function that made them."""
    from torchish.autograd.graph import OpNode, node_class
    for _k, p in enumerate(pieces):
        if p._fn is not None:
            p._fn.__class__ = node_class(name + "Backward0", OpNode)


def split(tensor, split_size_or_sections, dim=0):
    d = wrap_dim(dim, tensor.ndim)
    n = tensor._aval.shape[d]
    k = split_size_or_sections
    if isinstance(k, int):
        if k < 0 or (k == 0 and n):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={k}" if k < 0 else
                               f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        sizes = [min(k, n - i) for i in range(0, n, k)] if n else [0]
        return _pieces(tensor, sizes, d, "Split")
    if isinstance(k, str):
        raise TypeError("split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not str")
    k = [int(v) for v in k]
    if sum(k) != n:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), but "
                           f"got split_sizes={k}")
    return _pieces(tensor, k, d, "SplitWithSizes")


def split_with_sizes(input, split_sizes, dim=0):
    return split(input, list(split_sizes), dim)


def chunk(input, chunks, dim=0):
    if chunks <= 0:
        raise RuntimeError("chunk expects `chunks` to be greater than 0, got: " + str(chunks))
    n = input._aval.shape[wrap_dim(dim, input.ndim)]
    return split(input, -(-n // chunks) if n else [0] * chunks, dim)


def swapaxes(input, axis0, axis1):
    return transpose(input, axis0, axis1)


def split_method(self, split_size, dim=0):
    return split(self, split_size, dim)


def tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None, tensor_indices_or_sections=None):
    """Pieces at given marks, or a number of nearly equal ones."""
    for given in (indices, sections, tensor_indices_or_sections):
        indices_or_sections = given if indices_or_sections is None else indices_or_sections
    if not isinstance(indices_or_sections, (int, list, tuple, Tensor)):
        shown = "" if indices_or_sections is None else type(indices_or_sections).__name__
        raise TypeError(f"tensor_split() received an invalid combination of arguments - got ({shown}), but expected one of:\n * (tuple of "
                        "ints indices, int dim = 0)\n * (Tensor tensor_indices_or_sections, int dim = 0)\n * (int sections, int dim = 0)\n")
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(dim, input.ndim)
    n = input._aval.shape[d]
    if isinstance(indices_or_sections, Tensor):
        marks = indices_or_sections
        if marks.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
                               f"got a tensor with {marks.ndim} dims")
        if marks.dtype is not dtypes.int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{marks.dtype.legacy}")
        indices_or_sections = marks.tolist()
    if isinstance(indices_or_sections, int):
        k = indices_or_sections
        if k <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {k}")
        sizes = [n // k + (i < n % k) for i in range(k)]
    else:
        marks = [min(max(int(i) + (n if i < 0 else 0), 0), n) for i in indices_or_sections]
        edges = [0, *marks, n]
        sizes = [max(b - a, 0) for a, b in zip(edges, edges[1:])]
    out, start = [], 0
    for k, s in enumerate(sizes):
        begin = start if isinstance(indices_or_sections, int) else edges[k]
        out.append(view(ROW["slice"], input, (begin,), (d, s, 1)))
        start += s
    return tuple(out)


def unbind(input, dim=0):
    n = input.ndim
    if not n:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, n)
    out = [view(ROW["select"], input, (i,), (d,), creation="multi", source="Unbind", number=i)
           for i in range(input._aval.shape[d])]
    _share_node(out, "Unbind")
    return tuple(out)


def _splitter(name, least, dim):
    def splits(input, indices_or_sections=None, *, indices=None, sections=None):
        given = next((x for x in (indices_or_sections, indices, sections) if x is not None), None)
        if input.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a "
                               f"tensor with {input.ndim} dimensions!")
        if not isinstance(given, (int, list, tuple)):
            raise TypeError(f"{name}() received an invalid combination of arguments - got (Tensor, {type(given).__name__}), but expected "
                            "one of:\n * (Tensor input, int sections)\n * (Tensor input, tuple of ints indices)\n")
        d = min(dim, input.ndim - 1)    # hsplit splits a vector too
        if isinstance(given, int):
            n = input._aval.shape[d]
            if given <= 0 or n % given:
                raise RuntimeError(f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {n} is not "
                                   f"divisible by the split_size {given}!")
        return tensor_split(input, given, d)
    splits.__name__ = splits.__qualname__ = name
    return splits


hsplit, vsplit, dsplit = _splitter("hsplit", 1, 1), _splitter("vsplit", 2, 0), _splitter("dsplit", 3, 2)


def atleast(n):
    def fn(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tensors[0]

        def lift(x):
            while x.ndim < n:
                x = unsqueeze(x, 0) if x.ndim < 2 else unsqueeze(x, -1)
            return x
        out = tuple(lift(x) if not (n == 3 and x.ndim == 1) else unsqueeze(unsqueeze(x, 0), -1) for x in tensors)
        return out[0] if len(out) == 1 else out
    return fn


atleast_1d, atleast_2d, atleast_3d = atleast(1), atleast(2), atleast(3)

FUNCTIONS = {f.__name__: f for f in (
    reshape, ravel, flatten, unflatten, permute, transpose, t, movedim, squeeze, unsqueeze, narrow, select, diagonal, real, imag,
    view_as_real, view_as_complex, split, split_with_sizes, chunk, tensor_split, unbind, hsplit, vsplit, dsplit, broadcast_to,
    as_strided)}
FUNCTIONS.update(swapaxes=swapaxes, swapdims=transpose, moveaxis=movedim, adjoint=adjoint)
METHODS = dict(FUNCTIONS, view=view_, split=split_method, view_as=view_as, reshape_as=reshape_as, expand=expand, expand_as=expand_as, unfold=unfold)
TORCH = dict(FUNCTIONS, broadcast_tensors=broadcast_tensors, atleast_1d=atleast_1d, atleast_2d=atleast_2d, atleast_3d=atleast_3d)
