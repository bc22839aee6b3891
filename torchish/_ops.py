"""torch.ops.aten: PyTorch's operators under their own names, each with its overloads.

An operator is a row of the table, the public function or method of that name, or one of those below, which have no other name.
"""

import torchish as torch
from torchish import ops
from torchish.api import bind
from torchish.autograd.dispatch import apply, inplace
from torchish.nn import native
from torchish.ops import TABLE

# functions of nn.functional that take their operator's arguments
FUNCTIONAL = ("elu", "gelu", "glu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu6", "silu", "softplus")
PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """Batch norm in training: (result, mean, reciprocal standard deviation, memory that only GPUs use)."""
    made = native.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, torch.empty(0, dtype=torch.uint8)


def native_dropout_backward(grad_output, mask, scale):
    """The gradient of `native_dropout`."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of a maximum goes to where the maximum was."""
    return apply(TABLE["max_pool2d_with_indices_backward"], (grad_output, self, indices))


def _upsample_bilinear2d_aa(input, output_size, align_corners, scales_h=None, scales_w=None, *, scale_factors=None):
    """Bilinear resampling that averages where it shrinks."""
    if isinstance(scales_h, (list, tuple)):         # the overload `vec`
        scale_factors, scales_h = scales_h, None
    scales = (scales_h, scales_w) if scale_factors is None else tuple(scale_factors)
    if output_size is None:
        output_size = (int(n * s) for n, s in zip(input.shape[2:], scales))
    return apply(TABLE["upsample_aa"], (input,), (tuple(output_size), scales, bool(align_corners)))


def _softmax(self, dim, half_to_float):
    """Softmax in the dtype of its operand."""
    return apply(TABLE["softmax"], (self,), (dim, None))


def _log_softmax(self, dim, half_to_float):
    """The same, of logarithms."""
    return apply(TABLE["log_softmax"], (self,), (dim, None))


def _to_copy(self, *, dtype=None, **kw):
    """A copy in another dtype."""
    return self.to(dtype, copy=True)


def _slice(self, dim=0, start=None, end=None, step=1):
    """Part of a dimension."""
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)]


def _index(self, indices):
    """What indices, one a dimension or None, pick."""
    return self[tuple(slice(None) if i is None else i for i in indices)]


OWN = {f.__name__: f for f in (_batch_norm_with_update, native_dropout_backward, max_pool2d_with_indices_backward,
                               _upsample_bilinear2d_aa, _softmax, _log_softmax, _to_copy)}
OWN |= {"slice": _slice, "index": _index, "embedding": native.embedding}

# rows that take other arguments than their operator
OTHERWISE = {"arange", "linspace", "logspace", "eye", "full", "einsum", "where", "tril_indices", "triu_indices"}

# operators whose overloads are not just `default`; the number of a tensor is an overload of its own in some
OVERLOADS = {
    name + ending: overloads for names, overloads in (
        ("add sub mul", "Tensor Scalar"), ("div", "Tensor Scalar Tensor_mode Scalar_mode"), ("pow", "Tensor_Scalar Tensor_Tensor Scalar"),
        ("eq ne lt le gt ge remainder fmod bitwise_and bitwise_or bitwise_xor copysign rsub xlogy lerp masked_fill fill", "Tensor Scalar"),
        ("sum nansum", "default dim_IntList"), ("mean any all", "default dim"), ("prod", "default dim_int"), ("max min", "default dim"),
        ("median nanmedian", "default dim"), ("var std var_mean std_mean", "default dim correction"), ("where", "self"),
        ("transpose select", "int"), ("slice index", "Tensor"), ("squeeze", "default dim dims"), ("clamp clamp_min clamp_max", "default Tensor"),
        ("scatter", "src value"), ("scatter_reduce", "two"), ("index_fill", "int_Tensor int_Scalar"), ("view", "default dtype"),
        ("repeat_interleave", "self_int self_Tensor Tensor"), ("linalg_norm", "default ord_str"), ("split", "Tensor default sizes"))
    for name in names.split() for ending in ("", "_")}
ALWAYS = "default", "out"


def of_row(row):
    """A function that runs a row: operands first, then attributes."""
    if row.names:
        return bind.wrapper(row, row.name)
    return lambda *args: apply(row, *_parted(row, args))


def of_row_inplace(row):
    """The same, into the first operand."""
    if row.names:
        return bind.inplace_wrapper(row, row.name)
    return lambda t, *args: inplace(row, t, *_parted(row, args))


def _parted(row, args):
    """(operands, attributes); some rows take any number of operands."""
    n = len(args) - len(row.attrs)
    return args[:n], tuple(map(bind.static, args[n:]))


def _find(name):
    if name in OWN:
        return OWN[name]
    for prefix, space in PREFIXES.items():
        if name.startswith(prefix):
            return getattr(getattr(torch, space), name[len(prefix):], None)
    if name in FUNCTIONAL:
        return getattr(torch.nn.functional, name)
    found = getattr(torch, name, None)
    found = getattr(torch.Tensor, name, None) if found is None else found
    if callable(found) and not isinstance(found, type) and not name.startswith("__"):
        return found
    return of_row(TABLE[name]) if name in TABLE else None


def _runner(name):
    """What an overload runs: the row, where there is one for all that it may be given."""
    row = TABLE.get(name)
    if row is not None and row.names and name not in OWN and name not in OTHERWISE:
        return of_row(row)
    row = TABLE.get(name[:-1]) if name.endswith("_") else None
    found = _find(name)
    return of_row_inplace(row) if row is not None and (row.names or found is None) else found


class OpOverload:
    """One overload of an operator: what a dispatch mode is told, and a function."""

    def __init__(self, packet, overload, fn):
        self.overloadpacket, self._overloadname, self._op = packet, overload, fn
        self.namespace, self._opname = packet._qualified_op_name.split("::")
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__ = f"torch._ops.{self.namespace}"

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    def name(self):
        """`aten::sin`, `aten::add.Tensor`."""
        return self.overloadpacket._qualified_op_name + ("" if self._overloadname == "default" else "." + self._overloadname)

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self):
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An operator of a namespace; called, it takes what any of its overloads takes."""

    def __init__(self, namespace, name, fn, overloads=("default",), run=None):
        self._qualified_op_name, self.__name__, self._op = f"{namespace}::{name}", name, fn
        self._overloads, self._run = overloads, run or fn
        self.__module__ = f"torch._ops.{namespace}"

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    def overloads(self):
        """The names of its overloads."""
        return list(self._overloads)

    def __getattr__(self, name):
        if name.startswith("__") or name not in (*self._overloads, *ALWAYS):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        made = OpOverload(self, name, self._run)
        setattr(self, name, made)
        return made

    def __str__(self):
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"


class Namespace:
    """The operators of one library."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        fn = _find(name) if self.name == "aten" else None
        if fn is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        operator = OpOverloadPacket(self.name, name, fn, tuple(OVERLOADS.get(name, "default").split()), _runner(name))
        setattr(self, name, operator)
        return operator


aten = Namespace("aten")


def put(namespace, name, packet):
    """Make an operator found: `torch.ops.<namespace>.<name>`."""
    space = vars(ops).setdefault(namespace, Namespace(namespace))
    if not isinstance(space, Namespace):
        raise NotImplementedError(f"torch.library: torchish keeps the name torch.ops.{namespace} for itself; take another namespace")
    setattr(space, name, packet)
