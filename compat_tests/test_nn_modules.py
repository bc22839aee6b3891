"""Lazy modules, pruning, parametrizations, attention and what else belongs to torch.nn."""

import importlib
import warnings
import weakref

import pytest


@pytest.fixture
def nn(torch):
    torch.manual_seed(0)
    return torch.nn


def sub(torch, path):
    return importlib.import_module(f"{torch.__name__}.{path}")


LAZY = [("LazyLinear", (3,), "Linear", (2, 5)), ("LazyConv2d", (4, 3), "Conv2d", (2, 3, 8, 8)),
        ("LazyConvTranspose1d", (4, 3), "ConvTranspose1d", (2, 3, 8)), ("LazyBatchNorm1d", (), "BatchNorm1d", (4, 3)),
        ("LazyInstanceNorm2d", (), "InstanceNorm2d", (2, 3, 8, 8))]


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(("lazy", "args", "plain", "shape"), LAZY)
def test_lazy_modules_become_plain_ones(torch, nn, lazy, args, plain, shape):
    m = getattr(nn, lazy)(*args)
    assert m.has_uninitialized_params() and repr(m.weight) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        m.weight.shape
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        m.weight + 1
    m(torch.randn(shape))
    assert type(m) is getattr(nn, plain) and not hasattr(m, "_initialize_hook") and not m._forward_pre_hooks


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_linear_draws_what_linear_draws(torch, nn):
    x = torch.ones(2, 5)
    torch.manual_seed(3)
    lazy = nn.LazyLinear(4)
    lazy(x)
    torch.manual_seed(3)
    assert torch.equal(lazy.weight, nn.Linear(5, 4).weight)


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_modules_and_state_dicts(torch, nn):
    plain, lazy = nn.Linear(5, 4), nn.LazyLinear(4)
    assert list(lazy.state_dict()) == ["weight", "bias"]
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        plain.load_state_dict(lazy.state_dict())
    lazy.load_state_dict(nn.LazyLinear(4).state_dict())
    assert lazy.has_uninitialized_params()
    lazy.load_state_dict(plain.state_dict())
    assert not lazy.has_uninitialized_params() and torch.equal(lazy.weight, plain.weight)
    assert torch.equal(lazy(torch.ones(1, 5)), plain(torch.ones(1, 5))) and lazy.in_features == 5


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_modules_convert_before_they_have_a_shape(torch, nn):
    m = nn.LazyLinear(4).double()
    assert m(torch.ones(1, 2, dtype=torch.double)).dtype == torch.double


def test_adaptive_log_softmax(torch, nn):
    m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10, 15], div_value=2.0)
    x, target = torch.randn(6, 16), torch.tensor([0, 4, 5, 11, 15, 19])
    out, loss = m(x, target)
    full = m.log_prob(x)
    assert torch.allclose(out, full.gather(1, target.unsqueeze(1)).squeeze(1), atol=1e-5) and torch.allclose(loss, -out.mean())
    assert torch.allclose(full.exp().sum(1), torch.ones(6)) and torch.equal(m.predict(x), full.argmax(1))
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\], but values in range \[0, 20\] were found."):
        m(x, target + torch.tensor([0, 0, 0, 0, 0, 1]))
    with pytest.raises(ValueError, match="cutoffs should be a sequence of unique, positive integers"):
        nn.AdaptiveLogSoftmaxWithLoss(16, 20, [10, 5])


def test_linear_cross_entropy_loss(torch, nn):
    m = nn.LinearCrossEntropyLoss(5, 10, out_features=(3,), bias=True, reduction="sum")
    x, target = torch.randn(2, 5), torch.tensor([[1, 2, 3], [4, 5, 6]])
    logits = m.linear(x).reshape(2, 10, 3)
    assert torch.allclose(m(x, target), nn.functional.cross_entropy(logits, target, reduction="sum"))
    with pytest.raises(ValueError, match="invalid acc_policy: 'x'"):
        nn.LinearCrossEntropyOptions(acc_policy="x")


def test_prune_masks_and_makes_permanent(torch, nn):
    prune = sub(torch, "nn.utils.prune")
    m = nn.Linear(4, 3)
    before = m.weight.detach().clone()
    prune.l1_unstructured(m, "weight", amount=5)
    prune.ln_structured(m, "weight", amount=1, n=2, dim=0)
    assert sorted(m.state_dict()) == ["bias", "weight_mask", "weight_orig"] and prune.is_pruned(m)
    assert isinstance(next(iter(m._forward_pre_hooks.values())), prune.PruningContainer)
    assert torch.equal(m.weight, before * m.weight_mask) and (m.weight_mask.sum(1) == 0).any()
    prune.remove(m, "weight")
    assert sorted(m.state_dict()) == ["bias", "weight"] and not prune.is_pruned(m)
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        prune.remove(m, "weight")


def test_prune_globally(torch, nn):
    prune = sub(torch, "nn.utils.prune")
    a, b = nn.Linear(4, 3), nn.Linear(3, 2)
    with torch.no_grad():
        b.weight.mul_(100)
    prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=6)
    assert a.weight_mask.sum() == 6 and b.weight_mask.all()
    with pytest.raises(ValueError, match="amount=1.5 should either be a float in the range"):
        prune.random_unstructured(a, "bias", amount=1.5)


@pytest.mark.parametrize("use_trivialization", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_parametrization(torch, nn, kind, shape, use_trivialization):
    m = nn.utils.parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=kind, use_trivialization=use_trivialization)
    w = m.weight
    product = w @ w.T if w.size(0) <= w.size(1) else w.T @ w
    assert torch.allclose(product, torch.eye(min(shape)), atol=1e-5)
    w.sum().backward()
    assert m.parametrizations.weight.original.grad is not None
    wanted = nn.init.orthogonal_(torch.empty(w.shape))
    if use_trivialization or kind == "householder":
        m.weight = wanted
        assert torch.allclose(m.weight, wanted, atol=1e-5)
    else:
        with pytest.raises(NotImplementedError, match="It is not possible to assign to the matrix exponential"):
            m.weight = wanted


def test_fusion(torch, nn):
    conv, bn, x = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), torch.randn(2, 3, 6, 6)
    bn(conv(x))
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_conv_bn_eval(conv, bn)
    conv.eval(), bn.eval()
    assert torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    bn.running_mean.uniform_()
    x = torch.randn(5, 3)
    assert torch.allclose(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)


def test_skip_init_draws_nothing(torch, nn):
    torch.manual_seed(5)
    first = torch.rand(1)
    torch.manual_seed(5)
    assert nn.utils.skip_init(nn.Linear, 3, 2).weight.shape == (2, 3)
    assert torch.equal(torch.rand(1), first)


def test_factory_kwargs(torch, nn):
    assert nn.factory_kwargs({"factory_kwargs": {"device": "cpu"}, "dtype": torch.double}) == {"device": "cpu", "dtype": torch.double}
    with pytest.raises(TypeError, match="unexpected kwargs"):
        nn.factory_kwargs({"foo": 1})


def test_choosing_kernels_of_attention(torch, nn):
    attention = sub(torch, "nn.attention")
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        assert not torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.math_sdp_enabled()
        q = torch.ones(1, 1, 2, 2)
        assert nn.functional.scaled_dot_product_attention(q, q, q).sum() == 4
    assert torch.backends.cuda.flash_sdp_enabled()


def test_causal_bias(torch, nn):
    bias = sub(torch, "nn.attention.bias")
    q, k = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    attend = nn.functional.scaled_dot_product_attention
    assert torch.allclose(attend(q, k, k, attn_mask=bias.causal_lower_right(3, 5)), attend(q, k, k, attn_mask=mask), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_flex_attention(torch, nn):
    flex = sub(torch, "nn.attention.flex_attention")
    q, k, v = (torch.randn(2, 2, n, 4) for n in (3, 5, 5))
    scores = q @ k.transpose(-2, -1) / 2 + (torch.arange(3)[:, None] - torch.arange(5)) * 0.1
    out = flex.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1)
    assert torch.allclose(out, scores.softmax(-1) @ v, atol=1e-5)
    mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 3, 5)
    expected = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(3, 5, dtype=torch.bool).tril())
    assert torch.allclose(flex.flex_attention(q, k, v, block_mask=mask), expected, atol=1e-5)


def test_packed_sequences_there_and_back(torch, nn):
    rnn = sub(torch, "nn.utils.rnn")
    x = torch.randn(3, 5, 2)
    packed = rnn.pack_padded_sequence(x, [2, 5, 4], batch_first=True, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 2, 1] and packed.short().data.dtype == torch.int16
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=7.0, total_length=6)
    assert lengths.tolist() == [2, 5, 4] and torch.equal(back[1, :5], x[1]) and (back[0, 2:] == 7).all()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_packed_batch_gives_what_its_sequences_give(torch, nn, kind):
    rnn = sub(torch, "nn.utils.rnn")
    m = getattr(nn, kind)(2, 3, bidirectional=True)
    sequences = [torch.randn(n, 2) for n in (2, 5, 4)]
    out, _ = m(rnn.pack_sequence(sequences, enforce_sorted=False))
    for together, x in zip(rnn.unpack_sequence(out), sequences):
        assert torch.allclose(together, m(x)[0], atol=1e-6)


def test_old_backward_hooks_say_what_they_miss(torch, nn):
    class Two(nn.Module):
        def forward(self, a):
            return a.clone(), a.clone()
    m = Two()
    m.register_backward_hook(lambda *args: None)
    with pytest.warns(FutureWarning, match="Using a non-full backward hook when outputs are generated by different autograd Nodes"):
        m(torch.ones(2, requires_grad=True))


def test_full_backward_hooks_leave_inputs_without_grad_alone(torch, nn):
    class Sees(nn.Module):
        def forward(self, a, b):
            assert a.requires_grad and not b.requires_grad
            return a.sum() + b.sum()
    m = Sees()
    seen = []
    m.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append(grad_in))
    m(torch.ones(2, requires_grad=True), torch.ones(2)).backward()
    assert torch.equal(seen[0][0], torch.ones(2)) and torch.equal(seen[0][1], torch.zeros(2))


def test_load_hooks_do_not_keep_their_module(torch, nn):
    m = nn.Linear(2, 2)
    m.register_load_state_dict_pre_hook(lambda *args: None)
    gone = weakref.ref(m)
    del m
    assert gone() is None


def test_container_is_deprecated(torch, nn):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        m = nn.Container(a=nn.ReLU())
    assert seen[0].category is FutureWarning and isinstance(m.a, nn.ReLU)


def test_cells_refuse_what_does_not_fit(torch, nn):
    with pytest.raises(RuntimeError, match="Input batch size 2 doesn't match hidden0 batch size 1"):
        nn.GRUCell(3, 4)(torch.randn(2, 3), torch.randn(1, 4))
