"""`grad_fn._saved_self` and the like: the names that PyTorch's nodes show, and what stands behind each.

A name is one of the node's operands or results (kept, and freed with the graph), an argument of the call, or a fact about one of them
(`self_sym_sizes`); the latter two are never freed. The rest (`alpha` of an addition that was given none) is in `FACTS`.
"""

import re

from torchish.autograd.graph import FREED, SavedTensor, opened, second_time
from torchish.autograd.saved_names import NAMES
from torchish.program import Aval

MISSING = object()


class Call:
    """What a node knows of its call, under PyTorch's names."""

    def __init__(self, node):
        self.node, self.sig = node, node.pull.sig
        self.row = getattr(self.sig.op, "row", self.sig.op)
        self.shown = shown = NAMES.get(node.name(), ()) if hasattr(self.row, "operands") else ()
        self.names = [_RENAMED.get((self.row.name, n)) or ("self" if n in ("input", "A", "x") and n not in shown else n)
                      for n in getattr(self.row, "operands", ())]
        self.operands = dict(zip(self.names, self.sig.operands))
        self.attrs = {n.rstrip("_"): a for n, a in zip(self.row.attrs or (), self.sig.attrs)}
        self.results = (getattr(self.row, "multi", None) or "result").split()
        if self.results[0] not in shown:
            self.results[0] = next((n for n in ("result", "S", "eigenvalues") if n in shown), "result")
        self.dims = _spatial(node.name(), self.sig.outs[0])

    def number(self, name):
        """A number operand, or MISSING when it was freed."""
        pull, at = self.node.pull, self.names.index(name)
        if at in pull.numbers:
            return self.node.numbers[pull.numbers.index(at)]
        return MISSING if self.node.saved is FREED or at not in pull.passed else self.node.saved[pull.passed.index(at)]

    def place(self, name):
        """Where the node keeps an operand or a result, or None; 0 when it was freed."""
        pull, kept = self.node.pull, self.node.saved
        at = self.names.index(name) if name in self.names else None
        if self.row.starred and at == len(self.names) - 1:
            return None         # a list
        if at in pull.passed:
            return None if at in pull.unsaved else pull.passed.index(at)
        result = None if at is not None else self.results.index(name) if name in self.results else _NUMBERED.get(name)
        if kept is FREED:
            return 0 if result is not None or at in pull.watched else None
        rest = [i for i in range(len(pull.passed), len(kept)) if kept[i].__class__ is not tuple]
        if result is not None:
            return next((i for i in rest if kept[i].nr == result), None)
        if at not in pull.watched:
            return None
        operands = [i for i in rest if kept[i].nr is None]
        k = len(operands) - len(pull.watched) + pull.watched.index(at)      # what is written in place is not among them
        return operands[k] if k >= 0 else None


def _spatial(node, out):
    """How many dimensions an image has."""
    known = re.search(r"(\d)D|2(Col|Im)", node)
    return out.ndim - 2 if known is None else int(known[1] or 2)


_NUMBERED = {"result0": 0, "result1": 1, "result2": 2}
# a row's operand -> PyTorch's name for it
_RENAMED = {("embedding", "input"): "indices", ("linear", "input"): "mat1", ("linalg_lstsq", "B"): "b", ("triangular_solve", "b"): "self",
            ("triangular_solve", "A"): "A", ("ormqr", "tau"): "input2", ("ormqr", "other"): "input3"}


def attribute(node, name):
    """The value of `node._saved_<name>`."""
    call = Call(node)
    if name in call.shown:
        i = call.place(name)
        if i is not None:
            if node.saved is FREED:
                raise RuntimeError(second_time(node))
            return opened(node, node.saved[i])
        found = _fact(call, name)
        if found is not MISSING:
            return found
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def raw(node, name):
    """`node._raw_saved_<name>`: the saved tensor, which can be given hooks; several for a list of them."""
    call = Call(node)
    if name in call.shown and name == "indices" and call.row.starred:
        return tuple([SavedTensor(node, "saved", i) for i in _index_places(call)])
    i = call.place(name) if name in call.shown else None
    if i is None:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'")
    return SavedTensor(node, "saved", i)


def shown(node):
    """The names that `dir` lists."""
    call = Call(node)
    return [n for n in sorted(call.shown) if call.place(n) is not None or _fact(call, n) is not MISSING]


ABOUT = re.compile(r"(\w+?)_sym_(sizes|strides|numel|argsize_)(minus_)?(\d*)")


def _fact(call, name):
    """An argument of the call, or what is known of an operand: its sizes, one of them."""
    if (call.row.name, name) in _CONSTANTS:
        return _CONSTANTS[call.row.name, name]
    if name in FACTS and (found := FACTS[name](call)) is not MISSING:
        return found
    if name in call.attrs:
        value = call.attrs[name]
        return _unsigned((value,) if type(value) is int and name in ("dim", "dims", "shifts") and _LISTS.match(call.node.name()) else value)
    if name in call.operands:       # known, and not kept: an absent one, or one that PyTorch would not have saved either
        return None if call.operands[name] is type(None) or isinstance(call.operands[name], Aval) and _guarded(call, name) else MISSING
    about = ABOUT.fullmatch(name)
    aval = (call.operands | dict(zip(call.results, call.sig.outs))).get(about[1]) if about else None
    if not isinstance(aval, Aval):
        return MISSING
    if about[2] == "numel":
        return aval.size
    if about[2] == "strides":
        i = call.place(about[1])
        return MISSING if i is None or call.node.saved is FREED else opened(call.node, call.node.saved[i]).stride()
    return tuple(aval.shape) if about[2] == "sizes" else aval.shape[-int(about[4]) if about[3] else int(about[4])]


def _guarded(call, name):
    """Whether PyTorch keeps an operand only for the gradient of another one."""
    rule = call.sig.op.saves
    return rule is None or str(call.names.index(name)) in rule


# the nodes that hold their dimensions as a list
_LISTS = re.compile("(Sum|Nansum|Mean|Amax|Amin|Logsumexp|Var|Std|VarMean|StdMean|LinalgVectorNorm|Roll)Backward")


def _unsigned(x):
    """PyTorch shows negative dimensions as 64-bit numbers without a sign."""
    if isinstance(x, (tuple, list)):
        return tuple(map(_unsigned, x))
    return x + (1 << 64) if type(x) is int and x < 0 else x


def _number(name, default):
    """A number operand, where the node has it; the default where the call had none."""
    def read(call):
        return call.number(name) if call.operands.get(name, type(None)) is not type(None) else call.attrs.get(name, default)
    return read


def _spread(name, default=MISSING):
    """One number a dimension."""
    def read(call):
        value = call.attrs.get(name, default)
        return (value,) * call.dims if type(value) is int else () if value is None else MISSING if isinstance(value, str) else value
    return read


def _choice(name, values):
    """An enumeration's number."""
    return lambda call: values.index(call.attrs[name]) if call.attrs.get(name) in values else MISSING


def _double(name):
    """An argument that PyTorch's node holds as a double."""
    def read(call):
        value = call.attrs.get(name, MISSING)
        return float(value) if type(value) is int and call.node.name().startswith(("Cdist", "Pdist", "Logit", "Native")) else value
    return read


def _scale(k):
    """The scale factor of a resampled dimension, counted from the last; None where the size was given."""
    def read(call):
        factor = call.attrs.get("scale_factor", MISSING)
        return factor if factor in (None, MISSING) else float(factor[k] if isinstance(factor, tuple) else factor)
    return read


def _transformed(call):
    """The dimensions of a Fourier transform, as axes."""
    if not call.node.name().startswith("Fft"):
        return MISSING
    dim, ndim, s = call.attrs.get("dim"), call.sig.operands[0].ndim, call.attrs.get("s")
    dims = range(ndim - (ndim if s is None else len(s)), ndim) if dim is None else (dim,) if type(dim) is int else dim
    dims = tuple([d % ndim for d in dims])
    return dims[-1:] if call.row.name in ("fft_hfft2", "fft_hfftn") else dims     # the others went before


def _normalised(call):
    """0: not, 1: by the root, 2: by the number of points."""
    inverse = call.row.name.startswith("fft_i")
    return {"ortho": 1, "forward": 0 if inverse else 2}.get(call.attrs.get("norm"), 2 if inverse else 0)


def _indices(call):
    """The index tensors by dimension, None where a dimension has none."""
    if not call.row.starred or call.node.saved is FREED:
        return MISSING
    return tuple([None if i is None else opened(call.node, call.node.saved[i]) for i in _index_places(call)])


def _index_places(call):
    """Where the node keeps the index tensor of each dimension, up to the last that has one."""
    places = iter([k for k, i in enumerate(call.node.pull.passed) if i >= len(call.names) - 1])
    present = call.attrs["present"]
    return [next(places) if p else None for p in present[:max(k for k, p in enumerate(present) if p) + 1]]


_CONSTANTS = {("relu6", "min_val"): 0, ("relu6", "max_val"): 6, ("square", "exponent"): 2, ("softsign", "self"): None,
              ("selu", "alpha"): 1.6732632423543772, ("selu", "scale"): 1.0507009873554805}
FACTS = {
    "dim": _transformed, "dimension": lambda call: call.attrs.get("dim", MISSING),
    "normalization": _normalised, "forward": lambda call: not call.row.name.startswith("fft_i"),
    "onesided": lambda call: call.row.name.startswith("fft_r"), "indices": _indices,
    "alpha": _number("alpha", 1), "beta": _number("beta", 1), "value": _number("value", 1),
    "reduction": _choice("reduction", ("none", "mean", "sum")),
    "interpolation_mode": _choice("mode", ("bilinear", "nearest", "bicubic")),
    "padding_mode": _choice("padding_mode", ("zeros", "border", "reflection")),
    "kernel_size": _spread("kernel_size"), "stride": _spread("stride"), "dilation": _spread("dilation"),
    "padding": lambda call: _unsigned(call.attrs["pad"]) if "pad" in call.attrs else _spread("padding")(call),
    "output_padding": _spread("output_padding", 0),
    "transposed": lambda call: call.row.name.startswith("conv_transpose"),
    "bias_sym_sizes_opt": lambda call: tuple(b.shape) if isinstance(b := call.operands.get("bias"), Aval) else (0,),
    "storage_offset": lambda call: call.attrs.get("start", MISSING),
    "output_size": lambda call: tuple(call.sig.outs[0].shape[2:]) if call.sig.outs[0].ndim == call.dims + 2 else MISSING,
    "p": _double("p"), "eps": _double("eps"),
    "align_corners": lambda call: bool(call.attrs.get("align_corners")),
    "scales": _scale(-1), "scales_w": _scale(-1), "scales_h": _scale(-2), "scales_d": _scale(-3),
    "padding_idx": lambda call: _unsigned(-1 if (at := call.attrs.get("padding_idx")) is None else at),
    "scale_grad_by_freq": lambda call: False, "sparse": lambda call: False,
    "training": lambda call: call.row.name != "native_batch_norm_eval",
    "ord": lambda call: {None: 2.0, "fro": 2}.get(ord := call.attrs.get("ord", call.attrs.get("p")), ord),
    "scale": lambda call: call.attrs.get("scale", 1), "input_scale": lambda call: call.attrs.get("input_scale", 1),
}
