"""PyTorch's operator database as a source of samples: the same call on PyTorch, the oracle, and on torchish.

A check is a function (Case) -> None that raises when torchish differs. `Skip` leaves a sample out because PyTorch itself has
nothing to compare with.
"""

import functools
import itertools
import re
import types
import warnings

import numpy as np
import torch
from ops import saved
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

import torchish

DTYPE, GRAD_DTYPE = torch.float32, torch.float64
TOLERANCE = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-6, "complex64": 1e-4, "complex128": 1e-6}
UNSEEN = re.compile("^(empty|new_empty)")       # contents are nobody's promise


class Skip(Exception):
    """PyTorch itself has no answer for the sample."""


def key(op):
    return f"{op.name}|{op.variant_test_name}" if op.variant_test_name else op.name


OPS = {key(op): op for op in op_db}


# --- the same objects in torchish ------------------------------------------------------------------------------------

def numpy_of(t):
    """The numbers of a tensor of either library; bfloat16 as float32."""
    t = t.detach()
    if isinstance(t, torch.Tensor):
        t = t.resolve_conj().resolve_neg()
        t = t.to_dense() if t.layout is not torch.strided else t
        t = t + 0 if t._is_zerotensor() else t
    return (t.float() if str(t.dtype) == "torch.bfloat16" or "float8" in str(t.dtype) else t).numpy()


def lookup(path):
    """torchish's object under PyTorch's dotted name."""
    return functools.reduce(getattr, path.split(".")[1:], torchish)


def ours(x, grad=False):
    """A value of PyTorch as torchish's value of the same meaning."""
    if isinstance(x, torch.Tensor):
        t = torchish.tensor(np.array(numpy_of(x)), dtype=lookup(str(x.dtype)))
        return t.requires_grad_() if grad and x.requires_grad else t
    if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
        return lookup(str(x))
    if isinstance(x, torch.device):
        return torchish.device(str(x))
    if isinstance(x, torch.nn.Module):
        return getattr(torchish.nn, type(x).__name__)()
    if isinstance(x, types.FunctionType):
        return rebound(x)
    return torchish.Generator() if isinstance(x, torch.Generator) else x


def mapped(tree, grad=False):
    return tree_map(lambda x: ours(x, grad), tree)


def names_in(code):
    """The global names that a function uses, also those of the functions inside it."""
    return set(code.co_names).union(*(names_in(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def rebound(f, known=None):
    """A function of PyTorch's test code that calls torchish instead: the same code in a namespace where torch is torchish.

    `known` holds what is under way, for functions that name each other."""
    known = {} if known is None else known
    if f in known:
        return known[f]
    if not isinstance(f, types.FunctionType) or not f.__module__.startswith("torch.testing"):
        return public(f)
    names, cells = dict(f.__globals__), tuple(types.CellType(c.cell_contents) for c in f.__closure__ or ())
    made = known[f] = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    for name in names_in(f.__code__) & names.keys():
        value = names[name]
        if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] == "torch":
            names[name] = lookup(value.__name__)
        elif isinstance(value, types.FunctionType) and value is not f:
            names[name] = rebound(value, known)
    for cell in cells:
        if callable(cell.cell_contents):
            cell.cell_contents = rebound(cell.cell_contents, known)
    return made


HOMES = ["torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft"]


def public(f):
    """torchish's function for a public one of PyTorch's, found by name."""
    name = getattr(f, "__name__", "")
    for home in HOMES:
        if getattr(functools.reduce(getattr, home.split(".")[1:], torch), name, None) is f:
            return getattr(lookup(home), name)
    return f


def function(op):
    """torchish's callable for an entry of op_db."""
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        return rebound(op.op)
    for home in (*HOMES[:3], "torch.ops.aten"):
        path = op.name if op.name.startswith("torch.") else f"{home}.{op.name}"
        try:
            if callable(functools.reduce(getattr, path.split(".")[1:], torch)):
                break
        except AttributeError:
            continue
    return lookup(path)


def method(op, variant):
    if isinstance(variant, functools.partial):
        return functools.partial(lookup("torch." + op.name), *variant.args, **variant.keywords)
    if isinstance(variant, types.FunctionType):
        return rebound(variant)
    return getattr(torchish.Tensor, variant.__name__)


# --- comparison ------------------------------------------------------------------------------------------------------

def flat(tree, kind):
    """The tensors of a result in order."""
    if isinstance(tree, kind):
        return [tree]
    values = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [t for x in values for t in flat(x, kind)]


def assert_same(want, got, values=True):
    """Same tensors: number, shape, dtype, and with `values` the numbers."""
    wants, gots = flat(want, torch.Tensor), flat(got, torchish.Tensor)
    assert len(gots) == len(wants), f"{len(gots)} tensors, not {len(wants)}"
    for w, g in zip(wants, gots):
        assert tuple(g.shape) == tuple(w.shape), f"shape {tuple(g.shape)}, not {tuple(w.shape)}"
        assert str(g.dtype) == str(w.dtype), f"dtype {g.dtype}, not {w.dtype}"
        if values:
            assert_close(w, g)
    if not wants and values and isinstance(want, (bool, int, float, complex)):
        assert np.allclose(want, got, equal_nan=True), f"{got}, not {want}"


def assert_close(want, got):
    r = TOLERANCE.get(str(want.dtype).removeprefix("torch."), 0)
    np.testing.assert_allclose(numpy_of(got), numpy_of(want), rtol=r, atol=r / 10)


def assert_gradients(wants, gots):
    """Gradients agree, a missing one counts as zeros."""
    for w, g in zip(wants, gots, strict=True):
        if w is None or g is None:
            some = w if g is None else g
            assert some is None or not numpy_of(some).any(), "a gradient is missing" if g is None else "a gradient too many"
        else:
            assert_close(w, g)


# --- one sample ------------------------------------------------------------------------------------------------------

class Case:
    """One sample of one operator: its arguments for either library, and PyTorch's answer."""

    def __init__(self, op, sample):
        self.op, self.sample = op, sample

    def args(self, grad=False):
        def copy(x):
            return x.detach().clone().requires_grad_(grad and x.requires_grad) if isinstance(x, torch.Tensor) else x
        return tree_map(copy, (self.sample.input, tuple(self.sample.args), dict(self.sample.kwargs)))

    @staticmethod
    def call(f, args, **kw):
        first, rest, kwargs = args
        return f(first, *rest, **kwargs, **kw)

    def oracle(self, f, args, **kw):
        torch.manual_seed(0)
        try:
            return self.call(f, args, **kw)
        except Exception as e:
            raise Skip from e

    def subject(self, f, args, **kw):
        torchish.manual_seed(0)
        return self.call(f, args, **kw)

    def values(self, want):
        """Whether the numbers are promised: not random, not uninitialised."""
        if UNSEEN.match(self.op.name):
            return False
        torch.manual_seed(1)
        again = self.call(self.op.op, self.args())
        return all(np.array_equal(numpy_of(a), numpy_of(b), equal_nan=a.dtype.is_floating_point or a.dtype.is_complex)
                   for a, b in zip(flat(want, torch.Tensor), flat(again, torch.Tensor)))

    def compare(self, want, got):
        """Equal, or equal after what op_db says removes the freedom of a decomposition."""
        if not self.values(want):
            return assert_same(want, got, values=False)
        try:
            assert_same(want, got)
        except AssertionError:
            fixed = self.sample.output_process_fn_grad(want)
            if fixed is want:
                raise
            assert_same(want, got, values=False)
            for a, b in zip(flat(fixed, torch.Tensor), flat(self.sample.output_process_fn_grad(self.theirs(want, got)), torch.Tensor)):
                assert_close(a, b)

    @staticmethod
    def theirs(want, got):
        """torchish's result as PyTorch's tensors, in the structure of `want`."""
        made = [torch.from_numpy(np.array(numpy_of(t))) for t in flat(got, torchish.Tensor)]
        if isinstance(want, torch.Tensor):
            return made[0]
        return type(want)(made) if isinstance(want, tuple) and hasattr(want, "n_fields") else tuple(made)


def forward(case):
    want = case.oracle(case.op.op, case.args())
    case.compare(want, case.subject(function(case.op), mapped(case.args())))


def as_method(case):
    want = case.oracle(case.op.op, case.args())
    case.compare(want, case.subject(method(case.op, case.op.method_variant), mapped(case.args())))


def in_place(case):
    args = case.args()
    if not isinstance(args[0], torch.Tensor):
        raise Skip
    want = case.oracle(case.op.inplace_variant, args)
    mine = mapped(case.args())
    got = case.subject(method(case.op, case.op.inplace_variant), mine)
    assert got is mine[0], "an in-place operation returns its tensor"
    assert_same(want, got, case.values(case.oracle(case.op.op, case.args())))


def out_argument(case):
    want = case.oracle(case.op.op, case.args())
    parts = list(want) if isinstance(want, (tuple, list)) else [want]
    if not all(isinstance(t, torch.Tensor) for t in parts):
        raise Skip
    case.oracle(case.op.op, case.args(), out=tree_map(torch.empty_like, want))
    places = tree_map(lambda t: ours(torch.zeros_like(t)), tuple(want) if isinstance(want, (tuple, list)) else want)
    case.subject(function(case.op), mapped(case.args()), out=places)
    case.compare(want, places)


def dtypes(case):
    want = case.oracle(case.op.op, case.args())
    assert_same(want, case.subject(function(case.op), mapped(case.args())), values=False)


def differentiable(outs, kind):
    return [t for t in flat(outs, kind) if t.requires_grad]


def wrapped(op, f):
    return lambda *args, **kw: op.gradcheck_wrapper(f, *args, **kw)


def both_graphs(case):
    """(inputs, outputs, cotangents) of PyTorch, and (inputs, outputs, cotangents) of torchish."""
    theirs = case.args(grad=True)
    ins = differentiable(theirs, torch.Tensor)
    raw = case.oracle(wrapped(case.op, case.op.op), theirs) if ins else None
    outs = differentiable(raw, torch.Tensor)
    if not outs or any(t.layout is not torch.strided for t in outs) or case.sample.output_process_fn_grad(raw) is not raw:
        raise Skip
    torch.manual_seed(7)
    cots = [torch.randn_like(t).requires_grad_() for t in outs]
    mine = mapped(case.args(grad=True), grad=True)
    wrap = rebound(case.op.gradcheck_wrapper)
    torchish.manual_seed(0)
    got = wrap(function(case.op), mine[0], *mine[1], **mine[2])
    my_outs = differentiable(got, torchish.Tensor)
    assert len(my_outs) == len(outs), f"{len(my_outs)} differentiable outputs, not {len(outs)}"
    return (ins, outs, cots), (differentiable(mine, torchish.Tensor), my_outs, [ours(c, True) for c in cots])


def gradient(case):
    (ins, outs, cots), (xs, ys, cs) = both_graphs(case)
    want = torch.autograd.grad(outs, ins, [c.detach() for c in cots], allow_unused=True)
    assert_gradients(want, torchish.autograd.grad(ys, xs, [c.detach() for c in cs], allow_unused=True))


def second_gradient(case):
    (ins, outs, cots), (xs, ys, cs) = both_graphs(case)
    first = torch.autograd.grad(outs, ins, cots, allow_unused=True, create_graph=True)
    places = [k for k, g in enumerate(first) if g is not None and g.requires_grad]
    torch.manual_seed(9)
    along = [torch.randn_like(first[k]) for k in places]
    try:
        want = torch.autograd.grad([first[k] for k in places], ins + cots, along, allow_unused=True)
    except (RuntimeError, ValueError) as e:     # PyTorch has no second derivative here
        raise Skip from e
    mine = torchish.autograd.grad(ys, xs, cs, allow_unused=True, create_graph=True)
    got = torchish.autograd.grad([mine[k] for k in places], xs + cs, [ours(t) for t in along], allow_unused=True)
    assert_gradients(want, got)


def tangents(lib, args, f, seed):
    """Tangents of the results of `f` with the tangents `seed` on what requires grad."""
    ad, seeds = lib.autograd.forward_ad, iter(seed)

    def dual(x):
        if not isinstance(x, lib.Tensor):
            return tuple(map(dual, x)) if isinstance(x, tuple) else list(map(dual, x)) if isinstance(x, list) else x
        return ad.make_dual(x.detach(), next(seeds)) if x.requires_grad else x

    first, rest, kwargs = args
    with ad.dual_level():
        out = f(dual(first), *map(dual, rest), **{k: dual(v) for k, v in kwargs.items()})
        return [ad.unpack_dual(t).tangent for t in flat(out, lib.Tensor)]


def forward_mode(case):
    theirs = case.args(grad=True)
    ins = differentiable(theirs, torch.Tensor)
    torch.manual_seed(5)
    seed = [torch.randn_like(t) for t in ins]
    raw = case.oracle(case.op.op, case.args())
    if not ins or case.sample.output_process_fn_grad(raw) is not raw:
        raise Skip
    torch.manual_seed(0)
    try:
        want = tangents(torch, theirs, case.op.op, seed)
    except (RuntimeError, NotImplementedError) as e:
        raise Skip from e
    mine = mapped(case.args(grad=True), grad=True)
    torchish.manual_seed(0)
    assert_gradients(want, tangents(torchish, mine, function(case.op), map(ours, seed)))


def saved_writes(case):
    saved.writes(lambda: (case.op.op, case.args(grad=True)), lambda: (function(case.op), mapped(case.args(grad=True), grad=True)), Skip)


def saved_facts(case):
    theirs = case.args(grad=True)
    raw = case.oracle(case.op.op, theirs)
    outs = differentiable(raw, torch.Tensor)
    mine = differentiable(case.subject(function(case.op), mapped(case.args(grad=True), grad=True)), torchish.Tensor)
    if not saved.facts(key(case.op), outs, mine, not case.values(raw)):
        raise Skip


CHECKS = {"forward": forward, "method": as_method, "in-place": in_place, "out": out_argument, "dtypes": dtypes, "gradient": gradient,
          "second gradient": second_gradient, "forward mode": forward_mode, "writes": saved_writes, "saved": saved_facts}


def applies(name, check):
    """Whether op_db promises for an operator what the check looks at."""
    op = OPS[name]
    derivative = op.supports_autograd and GRAD_DTYPE in op.backward_dtypes
    return {"method": op.method_variant is not None, "in-place": op.inplace_variant is not None, "out": op.supports_out,
            "gradient": derivative, "saved": derivative, "writes": derivative and name not in saved.WRITES, "second gradient": derivative and op.supports_gradgrad,
            "forward mode": derivative and op.supports_forward_ad, "error": op.error_inputs_func is not None}.get(check, True)


# --- samples ---------------------------------------------------------------------------------------------------------

def samples(op, check, most):
    """The samples of a check, at most `most` (None: all) for each dtype."""
    derivative = check in ("gradient", "second gradient", "forward mode", "writes", "saved")
    if check == "dtypes":
        kinds = [d for d in sorted(op.dtypes, key=str) if d not in (DTYPE, torch.complex32)]
    else:
        kinds = [GRAD_DTYPE] if derivative else [DTYPE if DTYPE in op.dtypes else sorted(op.dtypes, key=str)[0]] if op.dtypes else []
    for d in kinds:
        yield from itertools.islice(op.sample_inputs("cpu", d, requires_grad=derivative), 1 if check == "dtypes" and most else most)


def run(name, check, most):
    """Run a check on the samples of an operator; returns how many PyTorch had an answer for. Raises for the first that differs."""
    compared = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number, sample in enumerate(samples(OPS[name], check, most)):
            try:
                CHECKS[check](Case(OPS[name], sample))
                compared += 1
            except Skip:
                continue
            except Exception as e:
                raise AssertionError(f"{name}, {check}, sample {number} {sample.summary()}: {type(e).__name__}: {e}") from e
    return compared


def run_errors(name):
    """PyTorch's exception type and key words for each of an operator's bad inputs."""
    op, compared = OPS[name], 0
    for number, bad in enumerate(op.error_inputs("cpu")):
        case = Case(op, bad.sample_input)
        try:
            case.call(op.op, case.args())
            continue            # PyTorch accepts it on a CPU
        except Exception as e:
            want = e
        place = f"{name}, error input {number}: PyTorch raises {type(want).__name__}: {want}"
        try:
            out = case.call(function(op), mapped(case.args()))
            for t in flat(out, torchish.Tensor):
                t.numpy()
        except AssertionError:
            raise
        except Exception as e:
            assert isinstance(e, bad.error_type), f"{place}\ntorchish raises {type(e).__name__}: {e}"
            assert re.search(bad.error_regex, str(e)), f"{place}\ntorchish says: {e}"
        else:
            raise AssertionError(f"{place}\ntorchish raises nothing")
        compared += 1
    return compared



