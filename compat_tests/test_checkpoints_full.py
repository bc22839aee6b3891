"""Files of torch.save in both libraries, what weights_only lets through, recomputation, autocast, GradScaler and torch.jit."""

import collections
import io
import os
import pickle

import pytest
from checks import raises, warnings_of

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"]


# -- files ------------------------------------------------------------------------------------------------------------

def carry(writer, reader, obj, **options):
    """An object through a file in PyTorch's format."""
    buffer = io.BytesIO()
    save = {k: options.pop(k) for k in ("_use_new_zipfile_serialization",) if k in options}
    writer.save(obj, buffer, **save)
    buffer.seek(0)
    return reader.load(buffer, **options)


@pytest.fixture(params=["to_torch", "from_torch", "alone"])
def ways(request, oracle):
    """(the library that writes, the library that reads)."""
    import torchish
    return {"to_torch": (torchish, oracle), "from_torch": (oracle, torchish), "alone": (torchish, torchish)}[request.param]


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"_use_new_zipfile_serialization": False}])
def test_storages(ways, options):
    writer, reader = ways
    t = writer.arange(4.0)
    for made in (t.storage(), writer.BoolStorage([True]), writer.IntStorage([1, 2])):
        read = carry(writer, reader, made, **options)
        assert isinstance(read, reader.storage.TypedStorage) and str(read.dtype) == str(made.dtype) and read.tolist() == made.tolist()
    if reader.__name__ == "torchish" or "_use_new_zipfile_serialization" not in options:     # PyTorch cannot read its own
        read = carry(writer, reader, t.untyped_storage(), **({} if writer.__name__ == "torch" else options))
        assert read.dtype is reader.uint8 and read.nbytes() == 16 and read.tolist() == t.untyped_storage().tolist()
    read = carry(writer, reader, {"tensor": t[1:], "storage": t.storage()}, **options)
    read["storage"][1] = 9
    assert read["tensor"].tolist() == [9, 2, 3] and len(read["storage"]) == 4
    first, second = writer.ones(3), writer.ones(3)
    read = carry(writer, reader, [first.storage(), first.storage(), second.storage()], **options)
    read[0][0] = 5
    assert [s.tolist() for s in read] == [[5, 1, 1], [5, 1, 1], [1, 1, 1]] and read[0]._cdata == read[1]._cdata != read[2]._cdata


def test_one_memory_has_one_type(torch):
    t = torch.arange(4.0)
    with raises(RuntimeError, "Cannot save multiple tensors or storages that view the same data as different types"):
        torch.save([t, t.untyped_storage()], io.BytesIO())
    empty = torch.zeros(0)
    torch.save([empty, empty.untyped_storage()], io.BytesIO())


def test_a_file_is_complete_after_saving(torch, tmp_path):
    for zipped in (True, False):
        with open(tmp_path / "file", "wb") as f:
            torch.save(torch.ones(3), f, _use_new_zipfile_serialization=zipped)
            assert torch.load(tmp_path / "file").tolist() == [1, 1, 1]


def test_pickled_storages(torch):
    made = torch.FloatStorage([1, 2])
    assert pickle.loads(pickle.dumps(made)).tolist() == [1, 2]


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_travel(ways, name, new):
    writer, reader = ways
    if not new and reader.__name__ == "torch" and (name.startswith("float8") or name in ("uint16", "uint32", "uint64")):
        pytest.skip("PyTorch cannot read its own legacy files of this dtype")
    t = writer.tensor([0.0, 1.0, 2.0]).to(getattr(writer, name))
    got = carry(writer, reader, t, _use_new_zipfile_serialization=new)
    assert got.dtype is getattr(reader, name)
    kind = reader.complex64 if name.startswith("complex") else reader.float32
    assert got.to(kind).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("new", [True, False])
def test_shared_storages_stay_shared(ways, new):
    writer, reader = ways
    a = writer.arange(6.0)
    got = carry(writer, reader, {"a": a, "part": a[2:4], "turned": a.view(2, 3).t()}, _use_new_zipfile_serialization=new)
    got["a"][2] = 99.0
    assert got["part"].tolist() == [99.0, 3.0] and got["turned"].stride() == (1, 3) and got["turned"][2, 0].item() == 99.0
    assert got["part"].storage_offset() == 2


def test_plain_contents_travel(ways):
    writer, reader = ways
    contents = {"list": [1, 2.0, None, True], "tuple": ("x", b"y"), "set": {1}, "big": 2**80, "complex": 1j,
                "count": collections.Counter("aa"), "ordered": collections.OrderedDict(a=1)}
    got = carry(writer, reader, {**contents, "size": writer.Size([1, 2]), "dtype": writer.float32, "device": writer.device("cpu"),
                                 "parameter": writer.nn.Parameter(writer.ones(2)), "leaf": writer.ones(1, requires_grad=True)})
    assert {k: got[k] for k in contents} == contents and got["dtype"] is reader.float32
    assert got["size"] == reader.Size([1, 2]) and got["device"] == reader.device("cpu")
    assert isinstance(got["parameter"], reader.nn.Parameter) and got["leaf"].requires_grad


def test_states_and_modules_travel(ways):
    writer, reader = ways

    def make(torch):
        return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Dropout())

    model = make(writer).eval()
    x = [[1.0, -2.0], [0.5, 0.0]]
    wanted = model(writer.tensor(x)).tolist()
    other = make(reader).eval()
    other.load_state_dict(carry(writer, reader, model.state_dict()))
    whole = carry(writer, reader, model, weights_only=False)
    for found in (other, whole):
        assert [round(v, 5) for row in found(reader.tensor(x)).tolist() for v in row] == [round(v, 5) for row in wanted for v in row]
    with raises(pickle.UnpicklingError, "Weights only load failed."):
        carry(writer, reader, model)


def test_map_location(torch):
    t = {"a": torch.ones(2)}
    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage, lambda storage, location: None):
        assert carry(torch, torch, t, map_location=place)["a"].device == torch.device("cpu")
    with raises(RuntimeError, "don't know how to restore data location of torch.storage.UntypedStorage (tagged with nowhere)"):
        carry(torch, torch, t, map_location="nowhere")


def test_mapped_files(torch, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(4.0)}, path)
    got = torch.load(path, mmap=True)
    got["a"][0] = 7.0
    assert got["a"].tolist() == [7.0, 1.0, 2.0, 3.0] and torch.load(path)["a"].tolist() == [0.0, 1.0, 2.0, 3.0]
    with raises(ValueError, "f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)


class Hostile:
    """Its pickle makes a folder when it runs."""

    def __init__(self, function, path):
        self.call = function, (str(path),)

    def __reduce__(self):
        return self.call


class Listed:
    """A class of the user's."""

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("function", [os.mkdir, os.system, eval])
def test_a_hostile_file_does_not_run(torch, tmp_path, new, function):
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(1), "b": Hostile(function, tmp_path / "ran")}, buffer, _use_new_zipfile_serialization=new)
    buffer.seek(0)
    with raises(pickle.UnpicklingError, "Weights only load failed."):
        torch.load(buffer)
    assert not (tmp_path / "ran").exists()


def test_a_hostile_plain_pickle_does_not_run(torch, tmp_path):
    for protocol in range(5):
        with pytest.raises((pickle.UnpicklingError, RuntimeError, EOFError)):
            torch.load(io.BytesIO(pickle.dumps(Hostile(os.mkdir, tmp_path / "ran"), protocol)), weights_only=True)
    assert not (tmp_path / "ran").exists()


def test_the_allow_list(torch):
    buffer = io.BytesIO()
    torch.save(Listed(3), buffer)

    def load():
        buffer.seek(0)
        return torch.load(buffer)

    name = f"{Listed.__module__}.Listed"
    with pytest.raises(pickle.UnpicklingError, match=f"GLOBAL {name} was not an allowed global by default"):
        load()
    with torch.serialization.safe_globals([Listed]):
        assert load().x == 3 and Listed in torch.serialization.get_safe_globals()
    torch.serialization.add_safe_globals([Listed])
    assert load().x == 3
    torch.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        load()
    buffer.seek(0)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(buffer) == [name]


def test_broken_files(torch):
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        torch.load(io.BytesIO(b"PK\x03\x04 and then nothing"))
    with pytest.raises(FileNotFoundError):
        torch.load("/nowhere/x.pt")
    with raises(RuntimeError, "Parent directory /nowhere does not exist."):
        torch.save(1, "/nowhere/x.pt")


# -- torch.utils.checkpoint -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("reentrant", [True, False])
def test_recomputation(torch, reentrant):
    calls = []
    x = torch.tensor([0.3, 0.7], requires_grad=True)

    def function(a):
        calls.append(1)
        return torch.nn.functional.dropout(a.sin().exp(), 0.5)

    torch.manual_seed(0)
    out = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant)
    after = torch.rand(1).item()
    out.sum().backward()
    assert len(calls) == 2
    y = x.detach().clone().requires_grad_()
    torch.manual_seed(0)
    plain = torch.nn.functional.dropout(y.sin().exp(), 0.5)
    assert torch.rand(1).item() == after
    plain.sum().backward()
    assert torch.equal(out, plain) and torch.allclose(x.grad, y.grad)


def test_nested_recomputation_and_higher_derivatives(torch):
    checkpoint = torch.utils.checkpoint.checkpoint
    x = torch.tensor([0.3, 0.7], requires_grad=True)

    def inner(a):
        return a.sin() * a

    def outer(a):
        return checkpoint(inner, checkpoint(inner, a, use_reentrant=False) * 2, use_reentrant=False).exp()

    def derivatives(function):
        (slope,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return slope, torch.autograd.grad(slope.pow(2).sum(), x)[0]

    for got, wanted in zip(derivatives(lambda a: checkpoint(outer, a, use_reentrant=False)),
                           derivatives(lambda a: inner(inner(a) * 2).exp())):
        assert torch.allclose(got, wanted)


@pytest.mark.parametrize("differentiate", [
    lambda t, x, y: t.autograd.grad(y, x), lambda t, x, y: y.backward(inputs=[x]), lambda t, x, y: t.autograd.backward(y, inputs=[x])])
def test_reentrant_recomputation_fills_leaves_only(torch, differentiate):
    x = torch.ones(2, requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True).sum()
    with raises(RuntimeError, "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."):
        differentiate(torch, x, out)


def changing(*functions):
    """A function that is another one at each call."""
    rest = list(functions)
    return lambda a: rest.pop(0)(a)


def test_recomputation_that_differs(torch):
    checkpoint, Error = torch.utils.checkpoint.checkpoint, torch.utils.checkpoint.CheckpointError
    x = torch.tensor([0.3, 0.7], requires_grad=True)
    out = checkpoint(changing(lambda a: a.sin().exp(), lambda a: a.sin()), x, use_reentrant=False)
    with raises(Error, "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                "Number of tensors saved during forward: 2\nNumber of tensors saved during recomputation: 1.\n\nTip: To see a more "
                "detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
                "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint\u2011debug mode globally.\n"):
        out.sum().backward()
    other = changing(lambda a: a * a, lambda a: torch.cat([a, a]) * torch.cat([a, a]))
    with raises(Error, "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\ntensor at position 0:\nsaved metadata: {'shape': torch.Size([2]), 'dtype': torch.float32, 'device': "
                "device(type='cpu')}\nrecomputed metadata: {'shape': torch.Size([4]), "):
        checkpoint(other, x, use_reentrant=False).sum().backward()


def test_a_log_of_recomputation(torch):
    checkpoint = torch.utils.checkpoint.checkpoint
    x = torch.tensor([0.3, 0.7], requires_grad=True)
    text = " An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed `debug=True` to "
    with raises(torch.utils.checkpoint.CheckpointError, text):
        checkpoint(changing(torch.sin, lambda a: torch.sin(a[:1])), x, use_reentrant=False, debug=True).sum().backward()
    with torch.utils.checkpoint.set_checkpoint_debug_enabled(True), raises(torch.utils.checkpoint.CheckpointError, text):
        checkpoint(changing(torch.sin, lambda a: torch.sin(a[:1])), x, use_reentrant=False).sum().backward()


def test_checkpoint_arguments(torch):
    checkpoint = torch.utils.checkpoint.checkpoint
    x = torch.ones(2, requires_grad=True)
    assert warnings_of(lambda: checkpoint(torch.sin, x))[0][1].startswith(
        "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.")
    with raises(ValueError, "Unexpected keyword arguments: b"):
        checkpoint(torch.sin, x, use_reentrant=True, b=3)
    with raises(ValueError, "Passing `context_fn` or `debug` is only supported when use_reentrant=False."):
        checkpoint(torch.sin, x, use_reentrant=True, debug=True)
    with raises(ValueError, "debug=True is incompatible with non-default context_fn"):
        checkpoint(torch.sin, x, use_reentrant=False, debug=True, context_fn=lambda: (1, 2))
    with raises(ValueError, "determinism_check should be one of ['default', 'none'], but got zz"):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check="zz")
    assert warnings_of(lambda: checkpoint(torch.sin, x.detach(), use_reentrant=True)) == [
        ["UserWarning", "None of the inputs have requires_grad=True. Gradients will be None"]]
    layers = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(4)])
    assert torch.allclose(torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False), layers(x))


def test_inputs_that_were_written_into(torch):
    x = torch.ones(2, requires_grad=True) * 1
    out = torch.utils.checkpoint.checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False)
    x.mul_(2)
    with raises(RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation"):
        out.sum().backward()


def test_how_often_a_call_is_computed_again(torch):
    """Once a backward pass; once altogether in a GraphExecGroup, whose passes may not need the same tensor."""
    utils, runs = torch.utils.checkpoint, []

    def fn(x):
        runs.append(0)
        y = x.sin()
        return y.sin(), y.cos(), x.cos()

    def passes(first, second):
        outs = utils.checkpoint(fn, torch.ones(3, requires_grad=True), use_reentrant=False)
        runs.clear()
        outs[first].sum().backward(retain_graph=True)
        outs[second].sum().backward()
        return len(runs)

    assert passes(0, 2) == passes(0, 1) == 2
    with utils.GraphExecGroup() as group:
        assert passes(0, 2) == 1
        with raises(utils.CheckpointError, "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                                           "Performing two backward calls that overlap"):
            passes(0, 1)
        with raises(RuntimeError, f"GraphExecGroup contexts cannot be nested. Already inside group {group}"), group:
            pass


def test_a_backward_inside_a_checkpointed_call_that_runs_to_its_end(torch):
    def slope(fn):
        return lambda x: torch.autograd.grad(fn(x), x, create_graph=True)[0]

    def again(fn):
        return lambda x: torch.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)

    def fn(x):
        return x.sin().exp().sin()

    x = torch.tensor(0.5, requires_grad=True)
    with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        assert torch.allclose(slope(again(slope(again(fn))))(x), slope(slope(fn))(x))


# -- torch.amp --------------------------------------------------------------------------------------------------------

AUTOCAST = {
    "mm": lambda t, a, h: a @ a.t(), "linear": lambda t, a, h: t.nn.functional.linear(h, a), "bmm": lambda t, a, h: a[None].bmm(a[None].mT),
    "double": lambda t, a, h: a.double() @ a.double().t(), "integers": lambda t, a, h: a.long() @ a.long().t(),
    "add": lambda t, a, h: a + h, "exp": lambda t, a, h: h.exp(), "softmax": lambda t, a, h: h.softmax(0), "sum": lambda t, a, h: h.sum(),
    "mse": lambda t, a, h: t.nn.functional.mse_loss(h, h), "nll": lambda t, a, h: t.nn.functional.nll_loss(h, t.tensor([0, 1])),
    "prod": lambda t, a, h: h.prod(), "cdist": lambda t, a, h: t.cdist(h, h), "cat": lambda t, a, h: t.cat([a, h]),
    "stack": lambda t, a, h: t.stack([h, a]), "fft": lambda t, a, h: t.fft.fft(h), "svdvals": lambda t, a, h: t.linalg.svdvals(h),
    "conv": lambda t, a, h: t.nn.functional.conv1d(a[None], t.ones(1, 2, 2)), "einsum": lambda t, a, h: t.einsum("ij,kj->ik", a, h),
}


@pytest.mark.parametrize("which", AUTOCAST)
def test_dtypes_under_autocast(torch, recorded, which):
    a = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = AUTOCAST[which](torch, a, a.bfloat16())
    recorded(str(out.dtype))


def test_autocast_contexts(torch):
    a = torch.ones(2, 2)
    with torch.autocast("cpu"):
        assert (a @ a).dtype is torch.bfloat16
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype is torch.float32
        with torch.autocast("cpu", dtype=torch.float16):
            assert (a @ a).dtype is torch.float16
        assert (a @ a).dtype is torch.bfloat16
    assert (a @ a).dtype is torch.float32
    assert torch.autocast("cpu")(lambda: (a @ a).dtype)() is torch.bfloat16
    assert warnings_of(lambda: torch.autocast("cpu", dtype=torch.float64)) == [
        ["UserWarning", "In CPU autocast, but the target dtype is not supported. Disabling autocast."]]
    with raises(ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`"):
        torch.autocast(3)


def test_training_under_autocast(torch):
    layer = torch.nn.Linear(3, 2)
    with torch.autocast("cpu"):
        out = layer(torch.ones(4, 3))
        loss = torch.nn.functional.mse_loss(out, torch.zeros(4, 2))
    loss.backward()
    assert out.dtype is torch.bfloat16 and loss.dtype is torch.float32 and layer.weight.grad.dtype is torch.float32


@pytest.mark.parametrize("wanted", [None, "float32"])
def test_functions_under_autocast(torch, wanted):
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=wanted and torch.float32)
        def forward(ctx, x):
            seen.append((x.dtype, (x @ x).dtype))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            g = g.float()
            seen.append((g @ g).dtype)
            return g * 2

    x = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        out = Double.apply(x)
    out.sum().backward()
    kind = torch.float32 if wanted else torch.bfloat16
    assert seen == [(kind, kind), kind] and x.grad.dtype is torch.bfloat16


def test_a_scaler_skips_and_adapts(torch, recorded):
    p = torch.ones(2, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([p], 0.1), torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    rows = []
    for i in range(5):
        optimizer.zero_grad()
        scaler.scale((p * (float("inf") if i == 2 else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        rows.append([p.tolist(), scaler.get_scale()])
    recorded([rows, scaler.state_dict()])


def scaled(torch, scaler, p):
    scaler.scale(p.sum()).backward()


SCALERS = {
    "no_gradients": (lambda t, s, o, p: (s.scale(t.ones(())), s.step(o)), AssertionError,
                     "No inf checks were recorded for this optimizer."),
    "no_scale": (lambda t, s, o, p: s.unscale_(o), AssertionError, "Attempted unscale_ but _scale is None."),
    "unscaled_twice": (lambda t, s, o, p: (scaled(t, s, p), s.unscale_(o), s.unscale_(o)), RuntimeError,
                       "unscale_() has already been called on this optimizer since the last update()."),
    "stepped_twice": (lambda t, s, o, p: (scaled(t, s, p), s.step(o), s.step(o)), RuntimeError,
                      "step() has already been called since the last update()."),
    "unscaled_after": (lambda t, s, o, p: (scaled(t, s, p), s.step(o), s.unscale_(o)), RuntimeError,
                       "unscale_() is being called after step()."),
    "closure": (lambda t, s, o, p: s.step(o, closure=lambda: 1), RuntimeError,
                "Closure use is not currently supported if GradScaler is enabled."),
    "outputs": (lambda t, s, o, p: s.scale(3), ValueError, "outputs must be a Tensor or an iterable of Tensors"),
    "empty_state": (lambda t, s, o, p: s.load_state_dict({}), RuntimeError, "The source state dict is empty"),
    "pickled_within": (lambda t, s, o, p: (scaled(t, s, p), s.step(o), pickle.dumps(s)), AssertionError,
                       "A GradScaler instance may only be pickled at the beginning of an iteration"),
}


@pytest.mark.parametrize("which", SCALERS)
def test_what_a_scaler_refuses(torch, which):
    call, kind, text = SCALERS[which]
    p = torch.ones(2, requires_grad=True)
    with raises(kind, text):
        call(torch, torch.amp.GradScaler("cpu", init_scale=4.0), torch.optim.SGD([p], 0.1), p)


# -- torch.jit --------------------------------------------------------------------------------------------------------

def test_scripting(torch):
    class Twice(torch.nn.Module):
        def forward(self, x):
            return x * 2

    assert torch.jit.script(Twice())(torch.ones(1)).item() == 2.0
    assert torch.jit.trace(Twice(), torch.ones(1))(torch.ones(2)).tolist() == [2.0, 2.0]

    def fails(x):
        raise NotImplementedError("at the trace")

    for example in {"example_inputs": (torch.ones(1),)}, {"example_kwarg_inputs": {"x": torch.ones(1)}}:
        with pytest.raises(NotImplementedError, match="at the trace"):
            torch.jit.trace(fails, **example)
    assert torch.jit.isinstance([1, 2], list[int]) and not torch.jit.isinstance(["a"], list[int]) and torch.jit.annotate(int, 3) == 3
    with pytest.raises(RuntimeError, match="has uninitialized parameters weight. Did you forget to run a forward pass"):
        torch.jit.script(torch.nn.LazyLinear(2))
    with raises(RuntimeError, "Argument to @torch.jit.ignore must be a bool or a function but got 3"):
        torch.jit.ignore(3)
    assert issubclass(torch.jit.RecursiveScriptModule, torch.jit.ScriptModule)
    assert not isinstance(Twice(), torch.jit.RecursiveScriptModule)


def test_torchscript_files_are_refused(tmp_path):
    import torchish
    with raises(NotImplementedError, "torch.jit.save: torchish has no TorchScript"):
        torchish.jit.save(torchish.nn.Linear(1, 1), tmp_path / "x.pt")
    with raises(NotImplementedError, "torch.jit.load: torchish has no TorchScript"):
        torchish.jit.load(tmp_path / "x.pt")


def test_a_file_of_python_2(torch):
    parts = [0x1950A86A20F9469CFC6C, 1001, {b"protocol_version": 1001, b"little_endian": True, b"type_sizes": {}}, [3], []]
    file = io.BytesIO(b"".join(pickle.dumps(part, 2) for part in parts))
    assert torch.load(file, weights_only=False, encoding="bytes") == [3]
