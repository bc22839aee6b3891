"""Public functions made from the op table: torch.name, Tensor.name, Tensor.name_, nn.functional.name, torch.linalg.name …

A wrapper has the row's own parameter names and defaults; positional-only operands become ordinary parameters, and `out=`,
`axis=`, `keepdims=` are added where PyTorch has them.
"""

import inspect
import numbers
import re

import numpy as np

from torchish.api import bounds
from torchish.autograd.dispatch import apply, inplace, write_out
from torchish.autograd.modes import state
from torchish.ops import TABLE, Op, dtypes
from torchish.ops.promote import CTYPES
from torchish.tensor import Tensor, devices, layout
from torchish.tensor.size import Size

STATIC = {int, float, bool, complex, str, type(None), dtypes.dtype}
NUMBER = {int, float, bool, complex}
PLAIN = NUMBER | {type(None)}
# attributes that PyTorch's methods also take as separate arguments
VARIADIC = {"permute": "dims", "repeat": "repeats", "tile": "dims", "flip": "dims"}

functional, linalg, special, fft, torch, method = {}, {}, {}, {}, {}, {}
SPACES = {"torch": torch, "method": method, "functional": functional, "linalg": linalg, "special": special, "fft": fft}


class _Returns:
    """torch.return_types: named tuples of results."""


return_types = _Returns()


def named(name, fields):
    """The return type `torch.return_types.<name>`."""
    made = getattr(return_types, name, None)
    if made is None:
        import collections
        base = collections.namedtuple(name, fields.split())
        made = type(name, (base,), {"__slots__": (), "__module__": "torch.return_types", "__repr__": _show_named})
        setattr(return_types, name, made)
    return made


def _show_named(self):
    return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(
        f"{f}={getattr(self, f)!r}" for f in self._fields) + ")"


def static(x):
    """An attribute made hashable: lists to tuples, numpy and one-element tensors to Python numbers."""
    if isinstance(x, (list, tuple)):
        return tuple([static(v) for v in x])
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, Tensor) and x.numel() == 1:
        return x.item()
    if isinstance(x, np.ndarray):
        return static(x.tolist())
    if isinstance(x, numbers.Number) and x.__class__ not in STATIC:
        return bool(x) if isinstance(x, bool) else int(x) if isinstance(x, int) else float(x)
    return x


TORCH_TYPES = (dtypes.dtype, devices.device, layout.layout, layout.memory_format, Size)


def type_name(x):
    """The name of a value's type as C code prints it."""
    c = type(x)
    package = "numpy" if c.__module__ == "numpy" else "torch" if isinstance(x, TORCH_TYPES) else None
    return f"{package}.{c.__name__}" if package else c.__name__


def operand(x, function, name, position, number=True):
    """A non-tensor operand: numpy scalars become Python numbers where numbers are taken, anything else is refused."""
    if number and isinstance(x, numbers.Number):
        if isinstance(x, np.generic):
            return x.item()
        return bool(x) if isinstance(x, bool) else int(x) if isinstance(x, numbers.Integral) else \
            float(x) if isinstance(x, numbers.Real) else complex(x)
    if number and isinstance(x, np.bool_):
        return bool(x)
    raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type_name(x)}")


# operands that are given by keyword only
KEYWORD = {"alpha", "beta"}
# operands that may be Python numbers in every row
SCALAR = {"alpha", "beta", "value", "fill_value"}

# rows that reduce over several dimensions at once
MANY = set("sum nansum mean nanmean all any count_nonzero var std var_mean std_mean amax amin logsumexp norm hash_tensor".split())


def axes(dim, function, many):
    """A `dim` argument that is no plain int: index-like values become ints, sequences tuples where several are taken."""
    if hasattr(dim, "__index__"):
        return dim.__index__()
    if many and isinstance(dim, (list, tuple)):
        return tuple([d if d.__class__ is int else axes(d, function, False) for d in dim])
    raise TypeError(f"{function}(): argument 'dim' must be {'tuple of ints' if many else 'int'}, not {type_name(dim)}")


# lines that settle alternative arguments
SETTLE = {"scatter": ["if value is not None: src = value"]}

# checks that look at the numbers of an index or a divisor
PREPARE = {
    "scatter": ["bounds.gathered(index, input, dim, src)"],
    "gather": ["bounds.gathered(index, input, dim, name='gather')"],
    "add": ["if alpha.__class__ is bool: bounds.alpha(input, other)"],
    "sub": ["if alpha.__class__ is bool: bounds.alpha(input, other)"],
    "take_along_dim": ["if dim is None: bounds.gathered(indices.reshape(-1), input.reshape(-1), 0)"],
    "scatter_add": ["bounds.gathered(index, input, dim, src)"],
    "scatter_reduce": ["bounds.gathered(index, input, dim, src)"],
    "index_select": ["bounds.selected(index, input, dim)"],
    "index_add": ["bounds.gathered(index, input, dim)"],
    "index_copy": ["bounds.copied(index, input, dim)"],
    "index_fill": ["bounds.of_dim(index, input, dim)"],
    "index_reduce": ["bounds.rows(index, input, dim)"],
    "take": ["bounds.flat(index, input)"],
    "put": ["bounds.flat(index, input)"],
    "embedding": ["bounds.rows(input, weight, 0)"],
    "nll_loss": ["bounds.classes(target, input, ignore_index)"],
    "multi_margin_loss": ["bounds.labels(target, input)"],
    "floor_divide": ["bounds.divisor(input, other)"],
    "remainder": ["bounds.divisor(input, other)"],
    "fmod": ["bounds.divisor(input, other)"],
    "div": ["if rounding_mode is not None: bounds.divisor(input, other)"],
}


def _parameters(row):
    """Source of the parameter list, with defaults looked up by name."""
    order = row.extra.get("order")
    if order:
        return order + ("" if "*" in order else ", *") + ", out=None"
    kinds = {p.name: p.kind for p in inspect.signature(row.fn).parameters.values()}
    keyword = row.extra.get("keyword", "").split()

    def by_keyword(name):
        return kinds[name] is inspect.Parameter.KEYWORD_ONLY or name in KEYWORD and name in row.operands or name in keyword
    names = [*row.operands, *row.attrs]
    parts, optional = [], False
    for name in names:
        if by_keyword(name):
            continue
        # a parameter without default may not follow one that has it
        default = f"=D['{name}']" if name in row.defaults else "=None" if optional or name == "dim" else ""
        optional = optional or bool(default)
        parts.append(name + default)
    tail = [name + (f"=D['{name}']" if name in row.defaults else "") for name in names if by_keyword(name)]
    if "dim" in row.attrs:
        tail.append("axis=None")
    if "keepdim" in row.attrs:
        tail.append("keepdims=None")
    if row.out:
        tail.append("out=None")
    return ", ".join(parts + (["*"] if tail else []) + tail)


def _checks(row, public, parameters, skip=0):
    """Source lines that refuse what is no tensor (or number, where PyTorch takes one) and make the attributes hashable."""
    order = [re.sub("=.*", "", p).strip() for p in parameters.split(",") if p.strip() != "*"]
    numeric = row.extra.get("numbers", "")
    lines = list(SETTLE.get(row.name, ()))
    for i, name in enumerate(row.operands):
        if i < skip:
            continue
        number, optional = str(i) in numeric or name in SCALAR, name in row.defaults
        known = "PLAIN" if optional else "NUMBER"
        test = f"{name}.__class__ not in {known} and " if number else f"{name} is not None and " if optional else ""
        lines.append(f"if {test}not isinstance({name}, Tensor): "
                     f"{name} = operand({name}, '{public}', '{name}', {order.index(name) + 1 - skip}, {number})")
    if len(numeric) > 1 and len(numeric) == len(row.operands):
        numbers_only = " and ".join(f"{o}.__class__ in NUMBER" for o in row.operands)
        lines.append(f"if {numbers_only}: refuse_numbers('{public}', {', '.join(row.operands)})")
    if "dim" in row.attrs:
        if "axis=None" in parameters:
            lines.append("if axis is not None: dim = axis")
            if "dim" not in row.defaults:
                lines.append(f"if dim is None: raise TypeError('{public}() missing 1 required positional arguments: \"dim\"')")
        if not row.name.startswith(("fft_", "linalg_")):
            lines.append(f"if dim.__class__ is not int and dim is not None: dim = axes(dim, '{public}', {row.name in MANY})")
    if "keepdim" in row.attrs and "keepdims=None" in parameters:
        lines.append("if keepdims is not None: keepdim = keepdims")
    for name, function in row.extra.get("constant", {}).items():
        lines.append(f"if {name} is not None and {name}.requires_grad and state.grad: refuse_slope('{function}', '{name}')")
    lines += PREPARE.get(row.name, [])
    return lines + [f"if dtype.__class__ is not DTYPE and dtype is not None: dtype = given(dtype, '{public}')" if a == "dtype" else
                    f"if {a}.__class__ not in STATIC: {a} = static({a})" for a in row.attrs]


def refuse_slope(function, name):
    raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
                       "requires_grad True.")


def refuse_numbers(function, *given):
    """A function of tensors and numbers was given numbers only."""
    types = ", ".join(map(type_name, given))
    raise TypeError(f"{function}() received an invalid combination of arguments - got ({types}), but expected a Tensor among them")


def _compile(public, parameters, lines, **names):
    space = {"PLAIN": PLAIN, "NUMBER": NUMBER, "STATIC": STATIC, "Tensor": Tensor, "operand": operand, "static": static,
             "given": dtypes.given, "DTYPE": dtypes.dtype,
             "bounds": bounds, "axes": axes, "state": state, "refuse_slope": refuse_slope, "refuse_numbers": refuse_numbers,
             **names}
    exec(compile(f"def {public}({parameters}):\n    " + "\n    ".join(lines), f"<torchish {public}>", "exec"), space)
    return space[public]


def variants(row):
    """Where PyTorch's node depends on an argument: for its values (`by`), the row with another node name (and saved set, and reason why it
    has no derivative), or none."""
    def made(node, saves, underivable=None):
        return Op(row.name, row.fn, names="", node=node, saves=saves, result=row.result, connects=row.connects,
                  underivable=underivable if node else f"aten::{row.name}", keeps=row.keeps and not underivable, multi=row.multi)
    return {key: made(*(node if isinstance(node, tuple) else (node, row.saves))) for key, node in row.extra.get("variants", {}).items()}


def variant(row, **given):
    """The variant for the arguments `given`."""
    return variants(row).get(eval(row.extra["by"], {"Tensor": Tensor}, row.defaults | given), row) if "by" in row.extra else row


def _chosen(row):
    """Source that picks the row or one of its variants."""
    return f"VARIANTS.get(({row.extra['by']}), OP)" if "by" in row.extra else "OP"


def wrapper(row, name):
    """Compile the public function of a row."""
    if row.starred:
        return _starred(row, name)
    public = name.split(".")[-1]
    parameters = _parameters(row)
    call = f"apply({_chosen(row)}, ({''.join(o + ', ' for o in row.operands)}), ({''.join(a + ', ' for a in row.attrs)}))"
    if row.multi:
        call = f"TYPE(*{call})"
    lines = _checks(row, public, parameters)
    if row.out:
        lines.append("if out is not None: return put_out(NAME, " + call + ", out)")
    size = row.extra.get("positions")
    if size:
        lines += [f"result = {call}", f"bounds.within({'result[1]' if row.multi else 'result'}, 0, {size})", "return result"]
    else:
        lines.append("return " + call)
    fn = _compile(public, parameters, lines, apply=apply, OP=row, D=row.defaults, put_out=put_out, NAME=public,
                  VARIANTS=variants(row),
                  TYPE=named(public, row.multi) if row.multi else None)
    fn.__doc__ = row.fn.__doc__ or f"See PyTorch's `{name}`."
    fn.__module__ = "torch"
    return fn


# functions of many tensors that also take them as separate arguments
SPREAD = {"block_diag", "cartesian_prod", "chain_matmul"}


# functions that do not cast their result to an out= tensor of another dtype, and what they say
EXACT = dict.fromkeys(("gather scatter scatter_add scatter_reduce index_add index_copy index_reduce take_along_dim tril triu diag renorm "
                       "transpose_copy diagonal_copy").split(), "Expected out tensor to have dtype {want}, but got {got} instead")
EXACT |= dict.fromkeys(("index_select", "masked_select"), "{name}(): self and result must have the same scalar type")
EXACT |= dict.fromkeys(("nonzero", "nonzero_static"), "{name}: Expected out tensor to have scalar type {Want} but got scalar type{Got}")
EXACT |= dict.fromkeys(("complex", "polar"), "Expected object of scalar type {Want} but got scalar type {Got} for argument 'out'")
EXACT |= {"take": "take(): self and out expected to have the same dtype, but got self.dtype = {Want} and out.dtype = {Got}",
          "where": "Expected out type to be {Want} but got {Got}",
          "narrow_copy": "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  If so, "
                         "please report an enhancement request to PyTorch.)"}


def put_out(name, result, out):
    """Results into `out=`: one tensor or a tuple of them."""
    if isinstance(result, tuple):
        return type(result)(*[write_out(name, r, o) for r, o in zip(result, out)])
    if name in EXACT and isinstance(out, Tensor) and out.dtype is not result.dtype:
        want, got = result.dtype.legacy, out.dtype.legacy
        raise RuntimeError(EXACT[name].format(name=name, Want=want, Got=got, want=CTYPES.get(want, want), got=CTYPES.get(got, got)))
    return write_out(name, result, out)


def _starred(row, name):
    public = name.split(".")[-1]
    spec = {p.name: p.default for p in inspect.signature(row.fn).parameters.values() if p.name in row.attrs}
    order = list(row.attrs)

    def fn(*args, out=None, **kw):
        tensors, rest = (args[0], args[1:]) if args and isinstance(args[0], (list, tuple)) else (args, ())
        if "tensors" in kw:
            tensors = kw.pop("tensors")
            rest = args
        elif tensors is args and public not in SPREAD:
            if not args:
                raise TypeError(f'{public}() missing 1 required positional arguments: "tensors"')
            raise TypeError(f"{public}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(args[0])}")
        if "axis" in kw:
            kw["dim"] = kw.pop("axis")
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(t)}")
        attrs = dict(spec)
        attrs.update(zip(order, rest))
        for k in kw:
            if k not in attrs:
                raise TypeError(f"{public}() got an unexpected keyword argument '{k}'")
        attrs.update(kw)
        result = apply(row, tuple(tensors), tuple(static(attrs[a]) for a in order))
        return put_out(public, result, out) if out is not None else result

    fn.__name__ = fn.__qualname__ = public
    fn.__doc__ = row.fn.__doc__
    return fn


def inplace_wrapper(row, name):
    """The method with a trailing underscore."""
    public = name + "_"
    parameters = re.sub(", (out|axis|keepdims)=None", "", _parameters(row)).removesuffix(", *")
    call = (f"return inplace({_chosen(row)}, {row.operands[0]}, ({''.join(o + ', ' for o in row.operands[1:])}), "
            f"({''.join(a + ', ' for a in row.attrs)}))")
    return _compile(public, parameters, [*_checks(row, public, parameters, skip=1), call], inplace=inplace, OP=row, D=row.defaults,
                    VARIANTS=variants(row))


def variadic(fn, attr):
    """Also accept the sizes as separate arguments."""
    def method(self, *args, **kw):
        if attr in kw or (len(args) == 1 and isinstance(args[0], (list, tuple))):
            return fn(self, *args, **kw)
        return fn(self, tuple(args), **kw)
    method.__name__ = fn.__name__
    return method


def _strip(name):
    for space in ("linalg_", "special_", "fft_"):
        if name.startswith(space):
            return name[len(space):]
    return name


def bind():
    """Fill the name spaces from the table."""
    for row in TABLE.values():
        if not row.names:
            continue
        base = _strip(row.name)
        fn = wrapper(row, base)
        plain_aliases = [a for a in row.aliases if "." not in a]
        for name in (base, *plain_aliases):
            for space in row.names:
                SPACES[space][name] = fn
            if row.inplace:
                SPACES["method"][name + "_"] = inplace_wrapper(row, name)
                if "torch" in row.names:
                    SPACES["torch"][name + "_"] = SPACES["method"][name + "_"]
                if "functional" in row.names and "torch" not in row.names:
                    SPACES["functional"][name + "_"] = SPACES["method"][name + "_"]
        for a in row.aliases:
            if "." in a:
                space, name = a.split(".")
                SPACES[space][name] = fn
    for name, attr in VARIADIC.items():
        if name in method:
            method[name] = variadic(method[name], attr)


bind()
