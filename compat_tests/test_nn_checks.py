"""What the layers and their functions refuse, in PyTorch's words, and what they warn of."""

import pickle
import warnings

import pytest
from checks import raises

RESIZED = {
    "dimensions of the size": ({"size": (4, 4, 4)}, ValueError, "Input and output must have the same number of spatial dimensions"),
    "dimensions of the scale": ({"scale_factor": (2, 2, 2)}, ValueError, "scale_factor of shape \\(2, 2, 2\\)"),
    "neither": ({}, ValueError, "either size or scale_factor should be defined"),
    "both": ({"size": 4, "scale_factor": 2}, ValueError, "only one of size or scale_factor should be defined"),
    "recomputed": ({"size": 4, "recompute_scale_factor": True}, ValueError, "not meaningful with an explicit size"),
    "negative": ({"size": (-1, 2), "mode": "bilinear"}, RuntimeError, "got input \\(H: 2, W: 2\\) output \\(H: -1, W: 2\\)"),
    "mode": ({"size": 4, "mode": "foo"}, NotImplementedError, "\\(got 4D\\) for the modes: .*\\| lanczos \\| area .*\\(got foo\\)"),
    "mode of 3-D": ({"size": 4, "mode": "linear"}, NotImplementedError, "Got 4D input, but linear mode needs 3D input"),
    "aligned": ({"size": 4, "align_corners": True}, ValueError, "align_corners option can only be set"),
    "area": ({"size": -1, "mode": "area"}, RuntimeError, "adaptive_avg_pool2d: elements of output_size .* \\{-1, -1\\}"),
    "float size": ({"size": 4.5}, TypeError, None),
}


@pytest.mark.parametrize("case", RESIZED)
def test_interpolate_refuses(torch, case):
    options, kind, text = RESIZED[case]
    with pytest.raises(kind, match=text):
        torch.nn.functional.interpolate(torch.zeros(1, 1, 2, 2), **options)


def test_interpolate_has_few_integers(torch):
    resized = torch.nn.functional.interpolate
    for options, name in ({}, "upsample_nearest2d_channels_last"), ({"mode": "bicubic"}, "compute_indices_weights_cubic"):
        with pytest.raises(NotImplementedError, match=f"\"{name}\" not implemented for 'Long'"):
            resized(torch.zeros(1, 1, 2, 2, dtype=torch.long), 4, **options)
    assert resized(torch.zeros(1, 1, 2, 2, dtype=torch.uint8), 4).shape == (1, 1, 4, 4)
    assert resized(torch.zeros(1, 1, 2, 2), 0, mode="area").shape == (1, 1, 0, 0)


GRIDS = {
    "dimensions": ((1, 1, 2, 2), (1, 1, 2), "expected 4D input and grid with same number of dimensions"),
    "batch": ((1, 1, 2, 2), (2, 1, 1, 2), "same batch size"),
    "last": ((1, 1, 2, 2), (1, 1, 1, 3), "expected grid to have size 2 in last dimension"),
    "empty": ((1, 1, 0, 2), (1, 1, 1, 2), "with dimension 2 being empty"),
}


@pytest.mark.parametrize("case", GRIDS)
def test_grid_sample_refuses(torch, case):
    input, grid, text = GRIDS[case]
    with pytest.raises(RuntimeError, match=text):
        torch.nn.functional.grid_sample(torch.zeros(input), torch.zeros(grid), align_corners=False)


def test_grids_of_other_dtypes(torch):
    sample = torch.nn.functional.grid_sample
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        sample(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 1, 2).double(), align_corners=False)
    with pytest.raises(NotImplementedError, match="\"grid_sampler_2d_cpu_kernel_impl\" not implemented for 'Long'"):
        sample(torch.zeros(1, 1, 2, 2).long(), torch.zeros(1, 1, 1, 2), align_corners=False)
    assert sample(torch.zeros(0, 1, 2, 2), torch.zeros(0, 3, 3, 2), align_corners=False).shape == (0, 1, 3, 3)


def test_grids_warn_of_their_default(torch):
    F = torch.nn.functional
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior has changed"):
        F.affine_grid(torch.zeros(1, 2, 3), [1, 1, 2, 2])
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior has changed"):
        F.grid_sample(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 1, 2))
    with pytest.warns(UserWarning, match="affine_grid behavior has changed for unit-size grids"):
        F.affine_grid(torch.zeros(1, 2, 3), [1, 1, 1, 2], align_corners=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.grid_sample(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), align_corners=False)


def test_affine_grid_refuses(torch):
    grid = torch.nn.functional.affine_grid
    with pytest.raises(ValueError, match="for size \\[1, 1, 2, 2\\]. Got torch.Size\\(\\[1, 3, 4\\]\\)"):
        grid(torch.zeros(1, 3, 4), [1, 1, 2, 2], align_corners=False)
    with pytest.raises(ValueError, match="Expected non-zero, positive output size. Got \\[1, 1, 0, 2\\]"):
        grid(torch.zeros(1, 2, 3), [1, 1, 0, 2], align_corners=False)
    with pytest.raises(RuntimeError, match="Expected size for first two dimensions of batch2 tensor"):
        grid(torch.zeros(2, 2, 3), [1, 1, 2, 2], align_corners=False)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", ["avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool"])
def test_pooling_nothing(torch, name, n):
    pool = getattr(torch.nn.functional, f"{name}{n}d")
    assert pool(torch.zeros(0, 2, *(2,) * n), 2).shape[:2] == (0, 2)
    with pytest.raises(RuntimeError, match="non-zero size for non-batch|optional 0 dim batch size for input|have positive length"):
        pool(torch.zeros(2, 2, *(0,) * n), 2)


def test_embedding_bag_refuses(torch):
    bag, w = torch.nn.functional.embedding_bag, torch.zeros(10, 2)
    wrong = torch.tensor([[11, 8]])
    with pytest.raises(RuntimeError, match="Index 0 of input takes value 11 which is not in the valid range \\[0, 10\\)"):
        bag(wrong, w)
    for options in {"mode": "max"}, {"padding_idx": 0}:
        with pytest.raises(RuntimeError, match="embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 11"):
            bag(wrong, w, **options)
    with pytest.raises(RuntimeError, match="'weight' to have the same type as tensor for argument #1 'per_sample_weights'"):
        bag(wrong - 8, w, mode="sum", per_sample_weights=torch.ones(1, 2).double())
    with pytest.raises(RuntimeError, match="input has to be a 1D or 2D Tensor, but got Tensor of dimension 3"):
        torch.embedding_bag(w, torch.zeros(1, 1, 1).long(), torch.zeros(1).long())


def test_embeddings_shorten_what_requires_grad(torch):
    layer = torch.nn.EmbeddingBag(3, 2, max_norm=1.0)
    with torch.no_grad():
        layer.weight.fill_(2.0)
    layer(torch.tensor([[0, 1]])).sum().backward()
    assert [round(x, 4) for x in layer.weight.norm(dim=1).tolist()] == [1.0, 1.0, 2.8284]
    with torch.autograd.forward_ad.dual_level():
        w = torch.autograd.forward_ad.make_dual(torch.full((3, 2), 2.0), torch.ones(3, 2))
        out = torch.nn.functional.embedding(torch.tensor([0]), w, max_norm=1.0)
        assert torch.autograd.forward_ad.unpack_dual(out).tangent.tolist() == [[1.0, 1.0]]


def test_sequences_refused(torch):
    rnn = torch.nn.utils.rnn
    for call, text in ((lambda: rnn.pack_padded_sequence(torch.zeros(0, 0), []), "Cannot pack empty tensors."),
                       (lambda: rnn.pack_padded_sequence(torch.zeros(3, 2), torch.tensor([[3, 1]])), "should be a 1D CPU int64 tensor"),
                       (lambda: rnn.pad_sequence([]), "received an empty list of sequences"),
                       (lambda: rnn.pad_sequence([torch.zeros(2, 3), torch.zeros(1, 4)]), "at non-singleton dimension 1"),
                       (lambda: rnn.pad_sequence([torch.zeros(1)], padding_side="up"), "padding_side to be one of left or right")):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_masks_of_attention(torch):
    attention, q = torch.nn.MultiheadAttention(4, 4), torch.zeros(4, 4)
    with pytest.raises(AssertionError, match="Expected `attn_mask` shape to be \\(4, 4, 4\\) but got torch.Size\\(\\[5, 4, 4\\]\\)"):
        attention(q, q, q, attn_mask=torch.zeros(5, 4, 4).bool())
    q = torch.zeros(4, 4, 4)
    with pytest.raises(AssertionError, match="Expected key_padded_mask.shape\\[1\\] to be 4, but got 5"):
        attention(q, q, q, key_padding_mask=torch.zeros(4, 5).bool())


def test_parameters_without_a_shape(torch):
    p = torch.nn.UninitializedParameter()
    for call in (lambda: torch.zeros_like(p), lambda: torch.empty_like(p), lambda: p.new_zeros(3), lambda: p + p, lambda: torch.cat([p]),
                 lambda: p.numel(), lambda: len(p), lambda: p[0], lambda: torch.optim.Adagrad([p])):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in .*This error happens when"):
            call()
    assert (p.dtype, p.is_leaf, p.is_floating_point()) == (torch.float32, True, True)
    optimizer = torch.optim.SGD([p], lr=0.1)
    p.materialize((2,))
    assert type(optimizer.param_groups[0]["params"][0]) is torch.nn.Parameter and torch.zeros_like(p).shape == (2,)


@pytest.mark.filterwarnings("ignore")
def test_scripting_waits_for_shapes(torch):
    with pytest.raises(RuntimeError, match="has uninitialized parameters weight. Did you forget to run a forward pass?"):
        torch.jit.script(torch.nn.Sequential(torch.nn.LazyLinear(3)))

    class Waiting(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        pass
    module = Waiting()
    module.register_buffer("b", torch.nn.UninitializedBuffer())
    with pytest.raises(RuntimeError, match="has uninitialized buffers b"):
        torch.jit.script(module)


def test_sizes_of_modules(torch):
    utils = torch.nn.modules.utils
    assert utils._pair(3) == (3, 3) and utils._triple([1, 2]) == (1, 2) and utils._ntuple(2)(5) == (5, 5)
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert utils._list_with_default([1, None], [3, 4, 5]) == [1, 5]
    with pytest.raises(ValueError, match="Input dimension should be at least 3"):
        utils._list_with_default([1, 2], [3])
    state = {"module.a": 1, "b": 2, "module.c": 3}
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"a": 1, "b": 2, "c": 3}


def test_assigning_a_part_of_itself(torch):
    x = torch.arange(6).reshape(2, 3).clone()
    x[1] = x[1][0]
    assert x.tolist() == [[0, 1, 2], [3, 3, 3]]
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        x[1][1:] = x[1][:-1]
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        x.add_(x[0])


def _models(torch):
    nn = torch.nn
    return {"lstm": nn.LSTM(2, 3, 2, bidirectional=True), "gru": nn.GRU(2, 3), "cell": nn.LSTMCell(2, 3),
            "encoder": nn.TransformerEncoderLayer(2, 1, 4, activation="gelu")}


@pytest.mark.parametrize("name", ["lstm", "gru", "cell", "encoder"])
def test_whole_modules_go_both_ways(tmp_path, oracle, name):
    import torchish
    for here, there in (torchish, oracle), (oracle, torchish):
        model = _models(here)[name].eval()
        here.save(model, tmp_path / "model.pt")
        same = there.load(tmp_path / "model.pt", weights_only=False)
        x = [[0.5, -1.0], [1.0, 2.0]]
        a, b = model(here.tensor(x)), same(there.tensor(x))
        a, b = (a[0], b[0]) if isinstance(a, tuple) else (a, b)
        assert there.allclose(b, there.tensor(a.tolist()), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_lazy_modules_and_functions_go_both_ways(tmp_path, oracle):
    import torchish
    for here, there in (torchish, oracle), (oracle, torchish):
        saved = [here.nn.LazyLinear(2), here.tanh, here.nn.functional.gelu, here.nn.functional.mse_loss, here.Tensor.exp]
        here.save(saved, tmp_path / "many.pt")
        module, *functions = there.load(tmp_path / "many.pt", weights_only=False)
        assert module(there.ones(1, 3)).shape == (1, 2) and type(module) is there.nn.Linear
        for function, name in zip(functions, ("tanh", "gelu", "mse_loss", "exp"), strict=True):
            assert function.__name__ == name


def test_recurrent_layers_find_their_weights(torch):
    layer = pickle.loads(pickle.dumps(torch.nn.LSTM(2, 3)))
    assert layer._flat_weights_names == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    assert layer._flat_weights[0] is layer.weight_ih_l0
    for cell in torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell:
        state = cell(2, 0)(torch.ones(3, 2))
        assert (state[0] if isinstance(state, tuple) else state).shape == (3, 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_pooling_refuses(torch, n):
    F, x = torch.nn.functional, torch.zeros(1, 2, *(4,) * n)
    for name in "avg_pool", "max_pool":
        pool = getattr(F, f"{name}{n}d")
        for options, text in (({"stride": 0}, "stride (should not be zero|must be greater than zero)"),
                              ({"padding": 2}, "should be at most half of"), ({"padding": -1}, "must be non-negative")):
            with pytest.raises(RuntimeError, match=text):
                pool(x, 2, **options)
        with pytest.raises(RuntimeError, match="kernel_size"):
            pool(x, (2,) * (n + 1))
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            pool(x.bool(), 2)
    for name in "adaptive_avg_pool", "adaptive_max_pool":
        pool = getattr(F, f"{name}{n}d")
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            pool(x.long(), 2)
        with pytest.raises(RuntimeError, match="Expected .* tensor|Expected 2 to 3 dimensions"):
            pool(torch.zeros(1, 1, *x.shape), 2)
        assert pool(x, 0).shape == (1, 2, *(0,) * n)
    with pytest.raises(RuntimeError, match="elements in indices should be type int64"):
        getattr(F, f"max_unpool{n}d")(x, torch.zeros(x.shape, dtype=torch.int32), 2)


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pooling_refuses(torch, n):
    pool, x = getattr(torch.nn.functional, f"fractional_max_pool{n}d"), torch.zeros(2, 2, *(8,) * n)
    for kernel, out, samples, text in (((2,), 3, None, "kernel_size must either be a single Int"), (2, (), None, "output_size must either"),
                                       (2, (3,) * (n - 1) + (9,), None, "pool width 2 too large relative to input width 8"),
                                       (2, 3, torch.rand(0, 2, n), "Expect _random_samples.size\\(0\\) no less"),
                                       (2, 3, torch.rand(2, 2, 9), f"Expect _random_samples.size\\(2\\) equals to {n}; got 9")):
        with pytest.raises(RuntimeError, match=text):
            pool(x, kernel, out, _random_samples=samples)
    nothing = x[:0].clone().requires_grad_()
    y = pool(nothing, 2, 3)
    y.sum().backward()
    assert y.shape == (0, 2, *(3,) * n) and nothing.grad.shape == nothing.shape


def test_windows_of_padding_alone(torch):
    assert torch.nn.functional.max_pool1d(torch.ones(1, 1), 2, None, 1, 2).tolist() == [[-float("inf")]]


def test_places_of_maxima_are_saved(torch):
    x = torch.zeros(1, 1, 4, 4, requires_grad=True)
    for pool in torch.nn.functional.max_pool2d, torch.nn.functional.adaptive_max_pool2d:
        y, places = pool(x, 2, return_indices=True)
        places.fill_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_averages_of_halves_are_summed_in_floats(torch):
    x = torch.rand(1, 1, 32, 32, generator=torch.Generator().manual_seed(0)).half()
    mean = torch.nn.functional.avg_pool2d(x, 32)
    assert mean.dtype == torch.half and abs(mean.item() - x.float().mean().item()) < 1e-3


def test_fold_refuses(torch):
    fold, unfold, x = torch.nn.functional.fold, torch.nn.functional.unfold, torch.zeros(1, 6, 9)
    for options, text in (({}, "number of sliding blocks 3 \\* 3 = 9, but got input.size\\(2\\)=8"),
                          ({"stride": 0}, "stride should be greater than zero, but got stride_height: 0 stride_width: 0"),
                          ({"padding": -1}, "padding should be non-negative, but got pad_height: -1 pad_width: -1")):
        with pytest.raises(RuntimeError, match=text):
            fold(x[:, :, :8], (4, 5), (2, 3), **options)
    with pytest.raises(RuntimeError, match="calculated shape of the array of sliding blocks as \\(-4, -3\\), which is too small"):
        fold(torch.zeros(1, 12, 12), (4, 5), (2, 2), dilation=8)
    with pytest.raises(RuntimeError, match="possibly 0 batch size and other non-zero dimensions for input, but got: \\[1, 0, 4, 4\\]"):
        unfold(torch.zeros(1, 0, 4, 4), (2, 3))


def test_module_to_takes_three_forms(torch):
    net, cpu = torch.nn.Linear(1, 1), torch.device("cpu")
    for args in (cpu, True), (None, True), ([],), (cpu, torch.tensor(3)):
        with pytest.raises(TypeError, match="to\\(\\) received an invalid combination of arguments - got"):
            net.to(*args)
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes, but got desired dtype=torch.int64"):
        net.to(torch.long)
    with pytest.raises(RuntimeError, match=".to\\(\\) does not accept copy argument"):
        net.to("cpu", torch.float32, False, True)
    assert net.to(torch.zeros(1, dtype=torch.double), True).weight.dtype == torch.double
    assert torch._C._nn._parse_to("cpu", torch.float32) == (cpu, torch.float32, False, None)


def test_old_spectral_norms_load(torch):
    layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 5))
    layer(torch.randn(2, 3))
    state = layer.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    old = dict(state)
    v = old.pop("weight_v")
    old["weight"] = layer.weight.detach().clone()
    layer.weight_v.zero_()
    layer.load_state_dict(old)
    assert torch.allclose(torch.mv(layer.weight_orig, layer.weight_v), torch.mv(layer.weight_orig, v), atol=1e-4)
    assert type(pickle.loads(pickle.dumps(layer))) is torch.nn.Linear


def test_running_statistics_have_no_tangents(torch):
    fw, F = torch.autograd.forward_ad, torch.nn.functional
    with fw.dual_level():
        x, mean = fw.make_dual(torch.zeros(3, 2), torch.ones(3, 2)), fw.make_dual(torch.zeros(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"):
            F.batch_norm(x, mean, torch.ones(2))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolution_refuses(torch, n):
    F, x, w = torch.nn.functional, torch.zeros(1, 2, *(4,) * n), torch.zeros(3, 2, *(2,) * n)
    for name in "conv", "conv_transpose":
        conv = getattr(F, f"{name}{n}d")
        with pytest.raises(RuntimeError, match=f"Expected {n + 1}D \\(unbatched\\) or {n + 2}D \\(batched\\) input to {name}{n}d, but got input"):
            conv(x[None], w)
        with pytest.raises(RuntimeError, match="dilation should be greater than zero, but got (dilation_|\\[)"):
            conv(torch.zeros(1, 3, *(4,) * n) if name != "conv" else x, w, dilation=0)
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            conv((torch.zeros(1, 3, *(4,) * n) if name != "conv" else x).bool(), w.bool())
    with pytest.raises(RuntimeError, match="Given transposed=1, weight of size .* to have 3 channels, but got 2 channels instead"):
        getattr(F, f"conv_transpose{n}d")(x, w)
    with pytest.raises(RuntimeError, match="Only zero batch or zero channel inputs are supported, but got input shape"):
        getattr(F, f"conv_transpose{n}d")(torch.zeros(1, 3, *(0,) * n), w)


def test_padding_refuses(torch):
    pad = torch.nn.functional.pad
    for mode in "reflect", "replicate":
        with pytest.raises(RuntimeError, match="Expected 3D or 4D \\(batch mode\\) tensor with possibly 0 batch size and other non-zero"):
            pad(torch.zeros(2, 0, 4, 4), (1, 1, 1, 1), mode=mode)
        with pytest.raises(RuntimeError, match="input \\(W: 4\\) is too small. Calculated output W: -2"):
            pad(torch.zeros(1, 2, 4), (-3, -3), mode=mode)
        with pytest.raises(NotImplementedError, match="Padding size 2 is not supported for 4D input tensor.\nSupported combinations"):
            pad(torch.zeros(1, 2, 4, 4), (1, 1), mode=mode)
        with pytest.raises(NotImplementedError, match="pad2d\" not implemented for 'Bool'"):
            pad(torch.zeros(1, 2, 4, 4).bool(), (1, 1, 1, 1), mode=mode)
    with pytest.raises(RuntimeError, match="Argument #6: Padding size should be less than"):
        pad(torch.zeros(1, 2, 4, 4), (0, 0, 9, 9), mode="reflect")
    with pytest.raises(RuntimeError, match="Negative padding value is resulting in an empty dimension"):
        pad(torch.zeros(1, 2, 4), (-3, -3), mode="circular")
    with pytest.raises(RuntimeError, match="doesn't take in value argument"):
        pad(torch.zeros(1, 2, 4), (1, 1), mode="reflect", value=1.0)


def test_empty_batches(torch):
    nn = torch.nn
    for layer, size in ((nn.BatchNorm2d(4), (0, 4, 2, 2)), (nn.GroupNorm(2, 4), (0, 4, 2, 2)), (nn.TransformerEncoderLayer(4, 2, 8), (3, 0, 4)),
                        (nn.TransformerEncoderLayer(4, 2, 8), (0, 3, 4)), (nn.ReplicationPad2d(0), (0, 2, 4, 4))):
        x = torch.zeros(size, requires_grad=True)
        y = layer(x)
        y.sum().backward()
        assert y.shape == size == x.grad.shape and all((p.grad == 0).all() for p in layer.parameters())
    norm = nn.BatchNorm1d(2)
    norm(torch.zeros(0, 2))
    assert norm.running_mean.tolist() == [0.0, 0.0] and norm.running_var.tolist() == [1.0, 1.0]


def test_gradients_of_convolutions_as_functions(torch):
    G, F = torch.nn.grad, torch.nn.functional
    assert F.grad is G
    for n in 1, 2, 3:
        x = torch.arange(2.0 * 5**n).reshape(1, 2, *(5,) * n).requires_grad_()
        w = torch.arange(6.0 * 2**n).reshape(3, 2, *(2,) * n).requires_grad_()
        y = getattr(F, f"conv{n}d")(x, w, None, 2, 1)
        g = torch.ones_like(y)
        dx, dw = torch.autograd.grad(y, (x, w), g)
        assert torch.allclose(getattr(G, f"conv{n}d_input")(x.shape, w.detach(), g, 2, 1), dx)
        made = getattr(G, f"conv{n}d_weight")(x.detach(), w.shape, g, 2, 1)
        assert torch.allclose(made, dw) and not made.requires_grad


def test_long_sums_of_complex_numbers_are_exact(torch):
    x = (torch.arange(0, 1.0, 1 / 2**9).repeat(1024)).to(torch.cfloat)
    assert x.sum().item() == 261632.0 and x.mean().item() == 261632.0 / 2**19


def test_classes_refused(torch):
    nll, cross = torch.nn.functional.nll_loss, torch.nn.functional.cross_entropy
    for x, t, kind, text in (((3, 4), (3, 1), RuntimeError, "0D or 1D target tensor expected, multi-target not supported"),
                             ((3, 4, 2), (3, 3), RuntimeError, "Expected target size \\[3, 2\\], got \\[3, 3\\]"),
                             ((3, 4, 2, 2), (3, 2, 3), RuntimeError, "size mismatch \\(got input: \\[3, 4, 2, 2\\] , target: \\[3, 2, 3\\]"),
                             ((4,), (2,), ValueError, "For 1D input, 1D target must have size 1, but got target size: 2")):
        with pytest.raises(kind, match=text):
            nll(torch.zeros(x), torch.zeros(t).long())
    with pytest.raises(RuntimeError, match="weight tensor should be defined either for all 4 classes or no classes"):
        nll(torch.zeros(3, 4), torch.zeros(3).long(), weight=torch.ones(1, 4))
    with pytest.raises(RuntimeError, match="label_smoothing must be between 0.0 and 1.0"):
        cross(torch.zeros(3, 4), torch.zeros(4).long(), label_smoothing=1.2)
    assert nll(torch.zeros(4), torch.zeros(1).long(), reduction="none").shape == ()


def test_halves_are_computed_in_single_precision(torch):
    nn, x = torch.nn, torch.linspace(-4, 4, 96).reshape(4, 24)
    for layer in (nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(), nn.LogSigmoid(), nn.Hardswish(), nn.ELU(), nn.SELU(), nn.GLU(),
                  nn.Sigmoid(), nn.Softmax(-1), nn.LayerNorm(24)):
        for dtype in torch.half, torch.bfloat16:
            h = x.to(dtype)
            y = layer.to(dtype)(h)
            assert y.dtype == dtype and torch.equal(y, layer.float()(h.float()).to(dtype)), (layer, dtype)


def test_negative_norms_of_infinities(torch):
    assert torch.linalg.vector_norm(torch.full((3,), float("inf")), -1.0).item() == float("inf")
    assert torch.linalg.vector_norm(torch.tensor([0.0, 1.0]), -1.0).item() == 0.0


ON_NORMALISATION = {
    "double, float": ("float64", "float32", "float32", "mixed dtype (CPU): all inputs must share same datatype."),
    "float, double": ("float32", "float64", "float64", "mixed dtype (CPU): expect parameter to have scalar type of Float"),
    "half, bfloat16": ("float16", "bfloat16", "bfloat16", "mixed dtype (CPU): expect parameter to have scalar type of Float"),
    "only the bias": ("float64", "float64", "float32", "expected scalar type Double but found Float"),
}
NORMALISATIONS = {
    "layer_norm": lambda F, x, w, b: F.layer_norm(x.transpose(1, 2), (4,), w, b),
    "group_norm": lambda F, x, w, b: F.group_norm(x, 2, w, b),
    "batch_norm": lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True),
    "instance_norm": lambda F, x, w, b: F.instance_norm(x, None, None, w, b),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
@pytest.mark.parametrize("case", ON_NORMALISATION)
def test_normalisations_refuse_mixed_dtypes(torch, name, case):
    *dtypes, text = ON_NORMALISATION[case]
    x, w, b = (torch.ones(size, dtype=getattr(torch, d)) for size, d in zip([(2, 4, 3), 4, 4], dtypes, strict=True))
    with raises(RuntimeError, text):
        NORMALISATIONS[name](torch.nn.functional, x, w, b)


@pytest.mark.parametrize("name", NORMALISATIONS)
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_a_half_input_takes_single_parameters(torch, name, half):
    x = (torch.arange(24.0).reshape(2, 4, 3) / 8).to(getattr(torch, half)).requires_grad_()
    w, b = torch.full((4,), 1.5, requires_grad=True), torch.full((4,), 0.25, requires_grad=True)
    out = NORMALISATIONS[name](torch.nn.functional, x, w, b)
    out.float().pow(2).sum().backward()
    assert [t.dtype for t in (out, x.grad, w.grad)] == [x.dtype, x.dtype, torch.float32]
    wide = NORMALISATIONS[name](torch.nn.functional, x.detach().float(), w, b)
    assert torch.allclose(out.float(), wide, atol=2e-2)


def test_rms_norm_keeps_the_dtype_of_its_input(torch):
    with pytest.warns(UserWarning, match="Mismatch dtype between input and weight: input dtype = c10::Half, weight dtype = float"):
        assert torch.nn.functional.rms_norm(torch.ones(2, 4, dtype=torch.float16), (4,), torch.ones(4)).dtype is torch.float16


@pytest.mark.parametrize("name,slope,text", [("elu_", -2, "elu"), ("celu_", -2, "elu"), ("leaky_relu_", -2.0, "leakyReLu")])
def test_a_negative_slope_in_place_has_no_backward(torch, name, slope, text):
    run = getattr(torch.nn.functional, name)
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    run(x.clone(), 0.5).sum().backward()
    assert x.grad.isfinite().all()
    out = run(x.clone(), slope)
    with raises(RuntimeError, f"In-place {text} backward calculation is triggered with a negative slope"):
        out.sum().backward()
    getattr(torch.nn.functional, name[:-1])(x, slope).sum().backward()


def test_adaptive_pooling_of_nothing(torch):
    F = torch.nn.functional
    assert F.adaptive_avg_pool3d(torch.ones(0, 4, 4, 4), 2).shape == (0, 2, 2, 2)
    assert F.adaptive_max_pool2d(torch.ones(0, 4, 4), 2).shape == (0, 2, 2)
    with pytest.raises(RuntimeError, match="with dimension 1 being empty"):
        F.adaptive_max_pool2d(torch.ones(2, 0, 4, 4), 2)
