"""Public functions made from the op table: torch.name, Tensor.name, Tensor.name_, nn.functional.name, torch.linalg.name …

A wrapper has the row's own parameter names and defaults; positional-only operands become ordinary parameters, and `out=`,
`axis=`, `keepdims=` are added where PyTorch has them.
"""

import numbers

import numpy as np

from torchish.autograd.dispatch import apply, inplace, write_out
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor, tensor_of

STATIC = {int, float, bool, complex, str, type(None), dtypes.dtype}
PLAIN = {int, float, bool, complex, type(None)}
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
    if x is float:
        return dtypes.float64
    return x


def operand(x, function, name, position):
    """A non-tensor operand: Python numbers stay, numpy scalars become numbers, anything else is refused."""
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, numbers.Number):
        return bool(x) if isinstance(x, bool) else int(x) if isinstance(x, numbers.Integral) else \
            float(x) if isinstance(x, numbers.Real) else complex(x)
    if isinstance(x, np.ndarray):
        return tensor_of(x)
    raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(x).__name__}")


def first(x, function, name="input"):
    raise TypeError(f"{function}(): argument '{name}' (position 1) must be Tensor, not {type(x).__name__}")


# where PyTorch's order of parameters is not operands first
ORDER = {
    "gather": "input, dim, index, *, sparse_grad=False",
    "scatter": "input, dim, index, src=None, *, value=None, reduce=None",
    "scatter_add": "input, dim, index, src",
    "scatter_reduce": "input, dim, index, src, reduce, *, include_self=True",
    "index_select": "input, dim, index",
    "index_add": "input, dim, index, source, *, alpha=1",
    "index_copy": "input, dim, index, source",
    "index_fill": "input, dim, index, value",
    "index_reduce": "input, dim, index, source, reduce, *, include_self=True",
    "diff": "input, n=1, dim=-1, prepend=None, append=None",
    "trapezoid": "y, x=None, *, dx=None, dim=-1",
    "cumulative_trapezoid": "y, x=None, *, dx=None, dim=-1",
}

# lines that settle alternative arguments
PREPARE = {
    "scatter": ["    if value is not None: src = value"],
    "trapezoid": ["    if dx is None: dx = 1"],
    "cumulative_trapezoid": ["    if dx is None: dx = 1"],
}


def _parameters(row):
    """Source of the parameter list, with defaults looked up by name."""
    if row.name in ORDER:
        return ORDER[row.name] + ("" if "*" in ORDER[row.name] else ", *") + ", out=None"
    parts, star = [], False
    sig_attrs = list(row.attrs)
    import inspect
    kinds = {p.name: p.kind for p in inspect.signature(row.fn).parameters.values()}
    for name in [*row.operands, *sig_attrs]:
        if kinds[name] is inspect.Parameter.KEYWORD_ONLY and not star and not row.starred:
            parts.append("*")
            star = True
        parts.append(name + (f"=D['{name}']" if name in row.defaults else ""))
    if any("=" in p for p in parts if p != "*"):
        # a parameter without default may not follow one that has it
        seen = False
        for i, p in enumerate(parts):
            if p == "*":
                break
            if "=" in p:
                seen = True
            elif seen:
                parts[i] = p + "=None"
    extra = []
    if "dim" in row.attrs:
        extra.append("axis=None")
    if "keepdim" in row.attrs:
        extra.append("keepdims=None")
    if row.out:
        extra.append("out=None")
    if extra and not star:
        parts.append("*")
    return ", ".join(parts + extra)


def wrapper(row, name):
    """Compile the public function of a row."""
    if row.starred:
        return _starred(row, name)
    public = name.split(".")[-1]
    lines = [f"def {public}({_parameters(row)}):"]
    for i, o in enumerate(row.operands):
        if i == 0 and not (row.operands[0] == "fill_value"):
            if "other" in row.operands or "exponent" in row.operands:
                lines.append(f"    if {o}.__class__ not in PLAIN and not isinstance({o}, Tensor): "
                             f"{o} = operand({o}, '{public}', '{o}', 1)")
            else:
                lines.append(f"    if not isinstance({o}, Tensor): first({o}, '{public}', '{o}')")
        else:
            lines.append(f"    if {o}.__class__ not in PLAIN and not isinstance({o}, Tensor): "
                         f"{o} = operand({o}, '{public}', '{o}', {i + 1})")
    if "dim" in row.attrs and row.name not in ORDER:
        lines.append("    if axis is not None: dim = axis")
    if "keepdim" in row.attrs:
        lines.append("    if keepdims is not None: keepdim = keepdims")
    lines += PREPARE.get(row.name, [])
    for a in row.attrs:
        lines.append(f"    if {a}.__class__ not in STATIC: {a} = static({a})")
    call = f"apply(OP, ({''.join(o + ', ' for o in row.operands)}), ({''.join(a + ', ' for a in row.attrs)}))"
    if row.multi:
        call = f"TYPE(*{call})"
    if row.out:
        lines.append("    if out is not None: return put_out(NAME, " + call + ", out)")
    lines.append("    return " + call)
    space = {"apply": apply, "OP": row, "D": row.defaults, "PLAIN": PLAIN, "STATIC": STATIC, "Tensor": Tensor,
             "operand": operand, "first": first, "static": static, "put_out": put_out, "NAME": public,
             "TYPE": named(public, row.multi) if row.multi else None}
    exec(compile("\n".join(lines), f"<torchish {public}>", "exec"), space)
    fn = space[public]
    fn.__doc__ = row.fn.__doc__ or f"See PyTorch's `{name}`."
    fn.__module__ = "torch"
    return fn


def put_out(name, result, out):
    """Results into `out=`: one tensor or a tuple of them."""
    if isinstance(result, tuple):
        return type(result)(*[write_out(name, r, o) for r, o in zip(result, out)])
    return write_out(name, result, out)


def _starred(row, name):
    import inspect
    public = name.split(".")[-1]
    spec = {p.name: p.default for p in inspect.signature(row.fn).parameters.values() if p.name in row.attrs}
    order = list(row.attrs)

    def fn(*args, out=None, **kw):
        tensors, rest = (args[0], args[1:]) if args and isinstance(args[0], (list, tuple)) else (args, ())
        if "tensors" in kw:
            tensors = kw.pop("tensors")
            rest = args
        if "axis" in kw:
            kw["dim"] = kw.pop("axis")
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise TypeError(f"{public}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                                f"{type(tensors).__name__}" if i == 0 and not isinstance(tensors, (list, tuple)) else
                                f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
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
    params = _parameters(row)
    for extra in (", out=None", ", axis=None", ", keepdims=None"):
        params = params.replace(extra, "")
    params = params.removesuffix(", *")
    me = row.operands[0]
    lines = [f"def {public}({params}):"]
    for i, o in enumerate(row.operands[1:], 2):
        lines.append(f"    if {o}.__class__ not in PLAIN and not isinstance({o}, Tensor): {o} = operand({o}, '{public}', '{o}', {i - 1})")
    lines += PREPARE.get(row.name, [])
    for a in row.attrs:
        lines.append(f"    if {a}.__class__ not in STATIC: {a} = static({a})")
    lines.append(f"    return inplace(OP, {me}, ({''.join(o + ', ' for o in row.operands[1:])}), "
                 f"({''.join(a + ', ' for a in row.attrs)}))")
    space = {"inplace": inplace, "OP": row, "D": row.defaults, "PLAIN": PLAIN, "STATIC": STATIC, "Tensor": Tensor,
             "operand": operand, "static": static}
    exec(compile("\n".join(lines), f"<torchish {public}>", "exec"), space)
    return space[public]


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
