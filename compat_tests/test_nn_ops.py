"""torch's own names of the layers' functions, recurrent networks as functions, and what nn.functional composes."""

import math

import pytest


def _near(torch, a, b):
    assert a.shape == b.shape
    assert torch.allclose(a, b, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_networks_are_functions(torch, mode, bidirectional, bias):
    torch.manual_seed(0)
    module = getattr(torch.nn, mode)(3, 4, 2, bias=bias, bidirectional=bidirectional)
    fn = getattr(torch, {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[mode])
    x, h = torch.randn(5, 2, 3), torch.randn(4 if bidirectional else 2, 2, 4)
    state = (h, torch.randn(h.shape)) if mode == "LSTM" else h
    out, last = module(x, state)
    weights = [w for layer in module.all_weights for w in layer]
    got = fn(x, state, weights, bias, 2, 0.0, False, bidirectional, False)
    for a, b in zip(got, (out, *last) if mode == "LSTM" else (out, last)):
        _near(torch, a, b)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3])
    out, last = module(packed, state)
    got = fn(packed.data, packed.batch_sizes, state, weights, bias, 2, 0.0, False, bidirectional)
    _near(torch, got[0], out.data)
    _near(torch, got[1], last[0] if mode == "LSTM" else last)


def test_wrong_number_of_parameters(torch):
    with pytest.raises(RuntimeError):
        torch.gru(torch.ones(2, 1, 3), torch.ones(1, 1, 4), [torch.ones(12, 3)], False, 1, 0.0, False, False, False)


def test_cells(torch):
    x, h, w, u = torch.ones(2, 3), torch.ones(2, 4), torch.full((16, 3), 0.1), torch.full((16, 4), 0.2)
    hidden, cell = torch.lstm_cell(x, (h, h), w, u)
    gate = 1 / (1 + math.exp(-1.1))
    assert cell[0, 0].item() == pytest.approx(gate + gate * math.tanh(1.1), abs=1e-5)
    assert hidden[0, 0].item() == pytest.approx(gate * math.tanh(cell[0, 0].item()), abs=1e-5)
    assert torch.rnn_relu_cell(x, h, -w[:4], u[:4])[0, 0].item() == pytest.approx(0.5, abs=1e-5)


def test_bags(torch):
    w = torch.arange(12.0).reshape(6, 2).requires_grad_()
    i, starts = torch.tensor([1, 2, 3, 4, 2, 5, 1]), torch.tensor([0, 3, 3])
    F = torch.nn.functional
    assert F.embedding_bag(i, w, starts, mode="sum").tolist() == [[12, 15], [0, 0], [24, 28]]
    assert F.embedding_bag(i, w, starts, mode="mean", padding_idx=2)[0].tolist() == [4, 5]
    assert F.embedding_bag(i, w, starts, mode="sum", include_last_offset=True).tolist() == [[12, 15], [0, 0]]
    assert F.embedding_bag(i[:6].reshape(3, 2), w, mode="max").tolist() == [[4, 5], [8, 9], [10, 11]]
    out, bag, size, places = torch.embedding_bag(w, i, starts, False, 2)
    assert bag.tolist() == [0, 0, 0, 2, 2, 2, 2] and size.tolist() == [3, 0, 4] and places[2].tolist() == [5, 5]
    out.sum().backward()
    assert w.grad.sum(1).tolist() == [0, 0, 0, 2, 0, 2]


@pytest.mark.parametrize("starts, said", [([1], "offsets[0] has to be 0"), ([0, 9], "offsets[-1] can not be greater than")])
def test_bags_of_wrong_offsets(torch, starts, said):
    with pytest.raises(RuntimeError) as error:
        torch.nn.functional.embedding_bag(torch.tensor([0, 1]), torch.ones(3, 2), torch.tensor(starts))
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("reduce, values", [("sum", [1, 9, 0]), ("mean", [1, 3, math.nan]), ("max", [1, 4, -math.inf]),
                                            ("min", [1, 2, math.inf]), ("prod", [1, 24, 1])])
def test_segments(torch, reduce, values):
    x = torch.tensor([1.0, 2, 3, 4], dtype=torch.float64, requires_grad=True)
    y = torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 3, 0]))
    _near(torch, y.detach(), torch.tensor(values, dtype=torch.float64))
    _near(torch, torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 1, 4, 4])).detach(), y.detach())
    y[1].backward()
    expected = {"sum": [0, 1, 1, 1], "mean": [0, 1 / 3, 1 / 3, 1 / 3], "max": [0, 0, 0, 1], "min": [0, 1, 0, 0], "prod": [0, 12, 8, 6]}
    _near(torch, x.grad, torch.tensor(expected[reduce], dtype=torch.float64))


def test_segments_that_do_not_fill(torch):
    with pytest.raises(RuntimeError, match="Expected all rows of lengths along axis to sum to"):
        torch.segment_reduce(torch.ones(4), "sum", lengths=torch.tensor([1, 2]))


def test_antialiasing_averages(torch):
    x = torch.arange(24.0).reshape(1, 1, 4, 6)
    y = torch.nn.functional.interpolate(x, (2, 3), mode="bilinear", antialias=True)
    _near(torch, y[0, 0], torch.tensor([[5.0, 6.785714, 8.571428], [14.428571, 16.214285, 18.0]]))
    with pytest.raises(ValueError, match="Anti-alias option is restricted"):
        torch.nn.functional.interpolate(x, (2, 3), mode="nearest", antialias=True)


@pytest.mark.parametrize("amounts, result", [((-1, 3), [1, 2, 3, 4, 5, 1, 2, 3]), ((3, -2), [1, 2, 3, 0, 1, 2, 3]), ((1, 0), [5, 0, 1, 2, 3, 4, 5])])
def test_circular_padding(torch, amounts, result):
    assert torch.nn.functional.pad(torch.arange(6.0).reshape(1, 1, 6), amounts, "circular").tolist() == [[result]]


def test_linear_cross_entropy(torch):
    F = torch.nn.functional
    x, w, t = torch.randn(5, 3), torch.randn(4, 3), torch.tensor([0, 1, 2, 3, 0])
    _near(torch, F.linear_cross_entropy(x, w, t, reduction="none"), F.cross_entropy(x @ w.T, t, reduction="none"))
    with pytest.raises(RuntimeError, match="expected linear_weight with dimensionality at least 2, got 1"):
        F.linear_cross_entropy(x, w[0], t)


def test_products_of_groups(torch):
    a, b, ends = torch.randn(6, 8), torch.randn(2, 8, 16), torch.tensor([2, 6], dtype=torch.int32)
    y = torch.nn.functional.grouped_mm(a, b, offs=ends)
    _near(torch, y, torch.cat([a[:2] @ b[0], a[2:] @ b[1]]))
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        torch.nn.functional.grouped_mm(a, b)


def test_operators(torch):
    x = torch.tensor([[-math.inf, -math.inf], [0.0, 0.0]], requires_grad=True)
    y = torch.ops.aten._safe_softmax.default(x, 1)
    assert y.tolist() == [[0, 0], [0.5, 0.5]]
    y[:, 0].sum().backward()
    assert x.grad.tolist() == [[0, 0], [0.25, -0.25]]
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nothing'"):
        torch.ops.aten.nothing


def test_batch_norm_of_statistics(torch):
    x, mean, var = torch.randn(4, 3, 2), torch.zeros(3), torch.ones(3)
    m, v = torch.batch_norm_update_stats(x, mean, var, 0.1)
    _near(torch, m, x.mean((0, 2)))
    _near(torch, v, x.var((0, 2), unbiased=False))
    _near(torch, mean, 0.1 * m)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::batch_norm_stats' with arguments from the 'CPU' backend"):
        torch.batch_norm_stats(x, 1e-5)


def test_overriding_classes(torch):
    class Taken:
        @classmethod
        def __torch_function__(cls, fn, types, args=(), kwargs=None):
            return fn.__name__, types
    F = torch.nn.functional
    assert not F.has_torch_function((torch.ones(1),)) and F.has_torch_function((torch.ones(1), Taken()))
    assert F.handle_torch_function(F.relu, (Taken(),), Taken()) == ("relu", (Taken,))


def test_linear_into_a_tensor(torch):
    out = torch.zeros(1, 3)
    assert torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2), out=out) is out and out.tolist() == [[2, 2, 2]]


@pytest.mark.parametrize("mode,antialias", [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True),
                                            ("lanczos", True)])
def test_bytes_are_resampled_and_rounded(torch, mode, antialias):
    F = torch.nn.functional
    torch.manual_seed(0)
    x = torch.randint(0, 256, (1, 3, 12, 9), dtype=torch.uint8)
    for size in (5, 4), (20, 30):
        fine = F.interpolate(x.float(), size, mode=mode, antialias=antialias).clamp(0, 255)
        got = F.interpolate(x, size, mode=mode, antialias=antialias)
        assert got.dtype is torch.uint8 and (got.float() - fine).abs().mean() < 1


def test_bytes_are_rounded_after_each_dimension(torch):
    """Exact values of PyTorch's fixed-point arithmetic."""
    x = torch.arange(16, dtype=torch.uint8).reshape(1, 1, 4, 4) * 15
    resized = torch.nn.functional.interpolate(x, size=(3, 3), mode="bilinear")
    assert resized.tolist() == [[[[12, 33, 53], [92, 113, 133], [172, 193, 213]]]]
    resized = torch.nn.functional.interpolate(x, size=(3, 3), mode="bilinear", antialias=True)
    assert resized.tolist() == [[[[22, 41, 59], [94, 113, 131], [166, 185, 203]]]]


@pytest.mark.parametrize("offsets", [[], [0], [0, 0]])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_no_index(torch, mode, offsets):
    weight = torch.ones(3, 2, requires_grad=True)
    none = torch.tensor([], dtype=torch.long)
    out = torch.nn.functional.embedding_bag(none, weight, torch.tensor(offsets, dtype=torch.long), mode=mode)
    assert out.tolist() == [[0.0, 0.0]] * len(offsets) and out.requires_grad
    out.sum().backward()
    assert weight.grad.tolist() == [[0.0, 0.0]] * 3


def test_a_convolution_of_no_channels_has_none(torch):
    x, w, b = torch.ones(1, 0, 5, 4, requires_grad=True), torch.ones(2, 0, 3, 3, requires_grad=True), torch.ones(2, requires_grad=True)
    out = torch.nn.functional.conv2d(x, w, b, stride=2)
    assert out.shape == (1, 0, 2, 1)
    out.sum().backward()
    assert b.grad.tolist() == [0.0, 0.0] and w.grad.shape == w.shape and x.grad.shape == x.shape


def test_a_threshold_may_be_written_over_itself(torch):
    x = torch.tensor([[-1.0, 0.25, 2.0]]).expand(4, 3)
    torch.nn.functional.threshold_(x, 0.5, 0.5)
    assert x.tolist() == [[0.5, 0.5, 2.0]] * 4


def test_a_random_slope_of_one_number(torch):
    x = torch.tensor(3.0, requires_grad=True)
    torch.nn.functional.rrelu(x, training=True).backward()
    assert x.grad == 1


def test_masked_softmax(torch):
    x, mask = torch.arange(6.0).reshape(2, 3), torch.tensor([[True, False, False], [False, False, False]])
    _near(torch, torch._masked_softmax(x, mask, 1, 2), torch.where(mask, -math.inf, x).softmax(1))
    scores = torch.arange(18.0).reshape(1, 2, 3, 3)
    _near(torch, torch._masked_softmax(scores, mask[:1], 3, 1), torch.where(mask[0], -math.inf, scores).softmax(3))
    with pytest.raises(RuntimeError, match="For mask_type == 2 mask shape should match input shape"):
        torch._masked_softmax(scores, mask, 3, 2)
    with pytest.raises(RuntimeError, match="Mask should be a boolean tensor"):
        torch._masked_softmax(x, mask.long(), 1, 0)


def test_slow_conv3d(torch):
    x, w = torch.arange(27.0).reshape(1, 1, 3, 3, 3), torch.ones(2, 1, 2, 2, 2)
    _near(torch, torch._C._nn.slow_conv3d(x, w, 2, None, 1, 1), torch.nn.functional.conv3d(x, w, padding=1))
