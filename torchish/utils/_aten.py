"""How torchish's rows are told to dispatch modes: by which of PyTorch's operators, with which arguments.

A row that stands for several operators is carried out by them (FORWARD), and so are the derivatives that PyTorch writes with plain
operators (BACKWARD). A row that PyTorch has not goes by its own name.
"""

import functools
import inspect
import weakref

from torchish import _ops
from torchish.api.bind import MANY, static
from torchish.autograd import dispatch
from torchish.ops import TABLE
from torchish.ops.derive import Pull
from torchish.program import Aval
from torchish.tensor import Tensor

aten = _ops.aten


# -- overloads ----------------------------------------------------------------------------------------------------------

def _kind(name, tensor="Tensor", number="Scalar"):
    """By whether an operand is a tensor."""
    return lambda given: tensor if isinstance(given[name], Tensor) else number


def _by(test, yes, no="default"):
    return lambda given: yes if test(given) else no


def _reduced(overload):
    return _by(lambda given: given["dim"] is not None, overload)


# row -> the overload that it is for the arguments given
CHOICE = {name: choose for names, choose in (
    ("add sub mul", lambda given: "Tensor"), ("div", _by(lambda given: given["rounding_mode"] is None, "Tensor", "Tensor_mode")),
    ("eq ne lt le gt ge remainder fmod bitwise_and bitwise_or bitwise_xor copysign rsub xlogy", _kind("other")), ("lerp", _kind("weight")),
    ("masked_fill fill", _kind("value")), ("index_fill", _kind("value", "int_Tensor", "int_Scalar")),
    ("scatter", _kind("src", "src", "value")), ("pow", _kind("exponent", "Tensor_Tensor", "Tensor_Scalar")),
    ("clamp", _by(lambda given: isinstance(given["min"], Tensor) or isinstance(given["max"], Tensor), "Tensor")),
    ("clamp_min", _kind("min", "Tensor", "default")), ("clamp_max", _kind("max", "Tensor", "default")),
    ("sum nansum", _reduced("dim_IntList")), ("mean any all", _reduced("dim")), ("prod", _reduced("dim_int")),
    ("var std var_mean std_mean", lambda given: "correction"), ("where", lambda given: "self"),
    ("scatter_reduce", lambda given: "two")) for name in names.split()}


def _first(x, *rest):
    return (x,)


def _along(x, dim, keepdim):
    return (x, dim, True) if keepdim else (x, dim)


def _looked_up(ids, weight, padding_idx):
    return (weight, ids) if padding_idx is None else (weight, ids, padding_idx)


def _indexed(x, *rest):
    *tensors, present = rest
    given = iter(tensors)
    indices = [next(given) if there else None for there in present]
    while indices[-1] is None:
        indices.pop()
    return x, indices


def _convolution(n):
    def arranged(x, w, b, stride, padding, dilation, groups):
        sizes = [[v] * n if isinstance(v, int) else list(v) for v in (stride, padding, dilation)]
        return x, w, b, *sizes, False, [0] * n, groups
    return arranged


# row -> (operator, overload, how its arguments are made of the row's operands and attributes)
CALLS = {f"{name}_{which}": (name, overload, arrange) for name in ("max", "min", "median", "nanmedian")
         for which, overload, arrange in (("all", "default", _first), ("dim", "dim", _along))} | {
    "pow_tensor": ("pow", "Tensor_Tensor", lambda a, b: (a, b)), "pow_of_number": ("pow", "Scalar", lambda a, b: (a, b)),
    "matmul_mv": ("mv", "default", lambda a, b: (a, b)), "matmul_dot": ("dot", "default", lambda a, b: (a, b)),
    "accumulate": ("add", "Tensor", lambda a, b: (a, b)), "embedding": ("embedding", "default", _looked_up),
    "index": ("index", "Tensor", _indexed), "einsum": ("einsum", "default", lambda *args: (args[-1], list(args[:-1]))),
    **{f"conv{n}d": ("convolution", "default", _convolution(n)) for n in (1, 2, 3)},
}
# only for the dtype of the operand
SAME_DTYPE = {"softmax": "_softmax", "log_softmax": "_log_softmax"}


def _sliced(x, start, dim, size, step):
    return (x, dim, start, min(start + size * step, x.size(dim)), step)[:4 + (step != 1)]


# view -> the same
VIEWS = {
    "view": ("view", "default", lambda x, size: (x, size)), "reshape_alias": ("view", "default", lambda x, size: (x, size)),
    "select": ("select", "int", lambda x, index, dim: (x, dim, index)),
    "slice": ("slice", "Tensor", _sliced),
    "permute": ("permute", "default", lambda x, dims: (x, dims)), "transpose": ("transpose", "int", lambda x, a, b: (x, a, b)),
    "t": ("t", "default", lambda x: (x,)), "unsqueeze": ("unsqueeze", "default", lambda x, dim: (x, dim)),
    "squeeze_dims": ("squeeze", "dim", lambda x, dims: (x, *dims)), "squeeze_all": ("squeeze", "default", lambda x, dims: (x,)),
    "squeeze_many": ("squeeze", "dims", lambda x, dims: (x, dims)), "expand": ("expand", "default", lambda x, size: (x, size)),
    "alias": ("alias", "default", lambda x: (x,)),
}


def _plain(x):
    return [_plain(v) for v in x] if isinstance(x, tuple) else x


def _arranged(fn, given):
    """The arguments of `fn`, without what is its default anyway."""
    args, waiting, kwargs, gap = [], [], {}, False
    for p in inspect.signature(fn).parameters.values():
        if p.name not in given:
            gap = gap or p.kind is not p.KEYWORD_ONLY
            continue
        value = given[p.name]
        usual = p.default is not p.empty and (value is p.default or value.__class__ is p.default.__class__ and value == p.default)
        if gap or p.kind is p.KEYWORD_ONLY:
            kwargs |= {} if usual else {p.name: _plain(value)}
            continue
        waiting.append(_plain(value))
        if not usual:
            args, waiting = args + waiting, []
    return tuple(args), kwargs


_named_overloads, _derived = {}, weakref.WeakKeyDictionary()


def _named(name, run, *more):
    """An overload that is found under no attribute."""
    made = _named_overloads.get((name, *more))
    if made is None:
        made = _named_overloads[(name, *more)] = _ops.OpOverload(_ops.OpOverloadPacket("aten", name, run), "default", run)
    return made


def _of_derived(op):
    """The overload of an op that is derived from a row."""
    made = _derived.get(op)
    if made is None:
        name = op.name.replace(".vjp", "_backward").replace(".", "_")
        made = _derived[op] = _ops.OpOverloadPacket("aten", name, functools.partial(_run, weakref.ref(op))).default
    return made


def _run(op, *args):
    return dispatch.apply(op(), _turned(op(), args, True))


def _turned(op, args, back=False):
    """The operands of a VJP with the cotangents first, as PyTorch has them."""
    n = len(op.float_outs) if op.__class__ is Pull else 0
    n = n if back else len(args) - n
    return (*args[n:], *args[:n])


def _static(attrs):
    return tuple(map(static, attrs))


def call_of(op, args, attrs):
    """(overload, arguments, keyword arguments) of a row."""
    if not hasattr(op, "names"):
        return _of_derived(op), _turned(op, args), {}
    row = TABLE[op.name]        # of which `op` may be a variant
    given = dict(zip((*row.operands, *row.attrs), (*args, *attrs)))
    found = CALLS.get(op.name)
    if found is not None and not isinstance(given.get("padding"), str):
        return getattr(getattr(aten, found[0]), found[1]), tuple(map(_plain, found[2](*args, *attrs))), {}
    if op.name in SAME_DTYPE and given["dtype"] is None:
        return getattr(aten, SAME_DTYPE[op.name]).default, (args[0], given["dim"], False), {}
    if op.name == "to_copy":
        return aten._to_copy.default, args, {"dtype": attrs[0]}
    if not row.names and op.name not in PUBLIC:
        return _named(op.name, _ops.of_row(row)), (*args, *map(_plain, attrs)), {}
    return _usual(getattr(aten, op.name), row, args, attrs, given)


# rows without names of their own whose operands are all that PyTorch's operator takes
PUBLIC = {"clone", "fill"}


def _usual(packet, row, args, attrs, given):
    func = getattr(packet, CHOICE[row.name](given) if row.name in CHOICE else "default")
    if not row.names:
        return func, (*args, *map(_plain, attrs)), {}
    if row.starred:
        return func, (list(args),), {a: v for a, v in zip(row.attrs, attrs) if v != row.defaults.get(a)}
    if row.name in MANY and given.get("dim").__class__ is int:
        given["dim"] = given["dim"],
    return func, *_arranged(func._op, given)


def inplace_of(row, t, args, attrs):
    """The same of a write into `t`."""
    given = dict(zip((*row.operands, *row.attrs), (t, *args, *attrs)))
    if row.starred or row.name == "index_put":
        n = len(args)
        return _named(row.name + "_", lambda t, *rest: dispatch.inplace(row, t, rest[:n], _static(rest[n:]), True), n), (
            t, *args, *map(_plain, attrs)), {}
    return _usual(getattr(aten, row.name + "_"), row, (t, *args), attrs, given)


def view_of(row, t, numbers, attrs):
    """The same of a view."""
    found = VIEWS.get(row.name)
    if found is None:
        return _named(row.name, lambda t, *rest: dispatch.view(row, t, rest[:len(numbers)], _static(rest[len(numbers):]))), (
            t, *numbers, *map(_plain, attrs)), {}
    args = tuple(map(_plain, found[2](t, *numbers, *attrs)))
    return getattr(getattr(aten, found[0]), found[1]), args, {}


def update_of(row, targets, args, attrs):
    """The same of an update of several tensors at once."""
    def run(targets, *rest):
        dispatch.update(row, targets, rest[:len(args)], _static(rest[len(args):]))
    return _named(row.name + "_", run, len(args)), (list(targets), *args, *map(_plain, attrs)), {}


# factories whose sizes may be separate arguments
SIZES = {"zeros", "ones", "empty", "rand", "randn"}


def sized(name, args):
    """A factory's arguments, with its sizes as one list."""
    if name not in SIZES or not args:
        return tuple(map(_plain, args))
    return (list(args[0] if isinstance(args[0], (list, tuple)) else args),)


# -- rows that are several operators ------------------------------------------------------------------------------------

def _rows(fn):
    """`fn` on the rows of a tensor of any number of dimensions."""
    return lambda x, w, *b: fn(x.view(-1, x.size(-1)), w, *b).view(*x.shape[:-1], -1)


def _matrices(a, b):
    if a.ndim == b.ndim == 3 and a.size(0) == b.size(0):
        return a.bmm(b)
    if a.ndim > 2 and b.ndim == 2 and a.is_contiguous():
        return _rows(lambda a, b: a.mm(b))(a, b)
    return None


def _linear(x, w, *b):
    if x.ndim < 3 or w.ndim < 2 or not x.is_contiguous():
        return None
    return _rows(lambda x, w, b: b.addmm(x, w.t()))(x, w, *b) if b else _rows(lambda x, w: x.mm(w.t()))(x, w)


FORWARD = {"linear_mm": lambda x, w: x.mm(w.t()), "linear_addmm": lambda b, x, w: b.addmm(x, w.t()), "linear_view": _linear,
           "linear": _linear, "matmul": _matrices}


# -- derivatives that are plain operators -------------------------------------------------------------------------------

def _spread(g, of, dim, keepdim, dtype):
    """The gradient of a sum."""
    if dim is not None and not keepdim and of.shape:
        for d in sorted(d % len(of.shape) for d in ((dim,) if isinstance(dim, int) else dim)):
            g = g.unsqueeze(d)
    return g.expand(*of.shape)


def _alike(sig, i):
    """Whether nothing was broadcast or cast."""
    out = sig.outs[0]
    return all(a.shape == out.shape and a.dtype == out.dtype for a in sig.operands if isinstance(a, Aval))


def _vector(sig, i):
    return i or sig.operands[0].shape == sig.outs[0].shape[1:]


def _always(sig, i):
    return True


# row -> (for which signature and operand, by operand: (gradient, facts of the operand, operands, attributes) -> its gradient)
BACKWARD = {
    "sin": (_alike, {0: lambda g, of, p: g * p[0].cos()}), "cos": (_alike, {0: lambda g, of, p: g * p[0].sin().neg()}),
    "neg": (_alike, {0: lambda g, of, p: g.neg()}), "div": (_alike, {0: lambda g, of, p, rounding_mode: g / p[1]}),
    "mul": (_alike, {0: lambda g, of, p: g * p[1], 1: lambda g, of, p: g * p[0]}),
    "sum": (_always, {0: lambda g, of, p, *attrs: _spread(g, of, *attrs)}),
    "t": (_always, {0: lambda g, of, p: g.t()}), "transpose": (_always, {0: lambda g, of, p, a, b: g.transpose(a, b)}),
    "view": (_always, {0: lambda g, of, p, size: g.reshape(of.shape)}), "unsqueeze": (_always, {0: lambda g, of, p, dim: g.squeeze(dim)}),
    "mm": (_always, {0: lambda g, of, p: g.mm(p[1].t()), 1: lambda g, of, p: p[0].t().mm(g)}),
    "bmm": (_always, {0: lambda g, of, p: g.bmm(p[1].transpose(1, 2)), 1: lambda g, of, p: p[0].transpose(1, 2).bmm(g)}),
    "linear_mm": (_always, {0: lambda g, of, p: g.mm(p[1]), 1: lambda g, of, p: p[0].t().mm(g).t()}),
    "linear_addmm": (_vector, {0: lambda g, of, p: g.sum(0, keepdim=True).view(-1), 1: lambda g, of, p: g.mm(p[2]),
                               2: lambda g, of, p: p[1].t().mm(g).t()}),
}
BY_RESULT = {"exp": lambda g, y: g * y}


def carried_out(op, args, attrs):
    """The results of an op by several operators, in the modes that are on; None where it is one operator."""
    if op.__class__ is not Pull:
        fn = FORWARD.get(op.name) if hasattr(op, "names") else None
        return fn(*args) if fn is not None else None
    sig, g = op.sig, args[-1]
    name = sig.op.name if hasattr(sig.op, "names") else None
    if op.results:
        return BY_RESULT[name](g, args[0]) if name in BY_RESULT and g._aval.dtype.kind == "f" else None
    fits, rules = BACKWARD.get(name, (None, {}))
    if fits is None or sig.outs[0].dtype.kind != "f" or g is None or not all(
            i in rules and fits(sig, i) and sig.operands[i].dtype == sig.outs[0].dtype for i in op.wrt):
        return None
    known = dict(zip(op.passed, args))
    grads = tuple([rules[i](g, sig.operands[i], known, *sig.attrs) for i in op.wrt])
    return grads[0] if len(grads) == 1 else grads
