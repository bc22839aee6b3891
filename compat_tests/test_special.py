"""Special functions, windows, short-time transforms, histograms: values from closed forms, texts of errors."""

import math

import numpy as np
import pytest
from checks import agree

# at 1, 2.5 and 30, from tables to 15 digits
BESSEL = {
    "bessel_j0": [0.765197686557967, -0.0483837764681979, -0.0863679835810403],
    "bessel_j1": [0.440050585744934, 0.497094102464274, -0.118751062616623],
    "bessel_y0": [0.0882569642156769, 0.498070359615232, -0.117295731686664],
    "bessel_y1": [-0.781212821300289, 0.145918137966786, 0.0844255706617471],
    "modified_bessel_k0": [0.421024438240708, 0.0623475532003662, 2.13247749646306e-14],
    "modified_bessel_k1": [0.601907230197235, 0.0738908163477471, 2.16773200189155e-14],
    "scaled_modified_bessel_k0": [1.14446307980689, 0.759548690328099, 0.227886665616254],
    "airy_ai": [0.135292416312881, 0.0157259233804705, 3.20821759155048e-49],
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
def test_bessel(torch, name):
    x = torch.tensor([1.0, 2.5, 30.0], dtype=torch.float64)
    agree(getattr(torch.special, name)(x), BESSEL[name], rtol=1e-8, atol=1e-60)


def test_bessel_at_the_ends(torch):
    x = torch.tensor([0.0, -1.0])
    agree(torch.special.bessel_y0(x), [-math.inf, math.nan])
    agree(torch.special.modified_bessel_k1(x), [math.inf, math.nan])
    assert not torch.special.bessel_j0(x.requires_grad_()).requires_grad
    with pytest.raises(NotImplementedError, match="\"bessel_j0_cpu\" not implemented for 'Half'"):
        torch.special.bessel_j0(x.detach().half())


def test_airy_oscillates(torch):
    agree(torch.special.airy_ai(torch.tensor([-10.5, -9.5, -4.0], dtype=torch.float64)),
          [-0.311926035051051, 0.319103247719128, -0.0702655329492896], rtol=1e-5)


@pytest.mark.parametrize(("name", "values"), [
    ("chebyshev_polynomial_t", [0, 1, 0.5, -0.5, -1]), ("chebyshev_polynomial_u", [0, 1, 1, 0, -1]),
    ("shifted_chebyshev_polynomial_w", [0, 1, 1, -1, -1]), ("hermite_polynomial_h", [0, 1, 1, -1, -5]),
    ("hermite_polynomial_he", [0, 1, 0.5, -0.75, -1.375]), ("legendre_polynomial_p", [0, 1, 0.5, -0.125, -0.4375]),
    ("laguerre_polynomial_l", [0, 1, 0.5, 0.125, -0.14583333333]),
])  # fmt: skip
def test_polynomials(torch, name, values):
    fn = getattr(torch.special, name)
    agree(fn(0.5, torch.tensor([-1.0, 0, 1, 2, 3])), [float(v) for v in values])
    agree(fn(torch.tensor([0.5]), 3), [float(values[-1])])


def test_polygamma_takes_the_order_first(torch):
    x = torch.tensor([0.5, 2.0, -0.5], dtype=torch.float64, requires_grad=True)
    for n in range(4):
        (slope,) = torch.autograd.grad(torch.polygamma(n, x).sum(), x)
        agree(slope, torch.polygamma(n + 1, x), rtol=1e-8)
    agree(torch.polygamma(1, x)[0].item(), math.pi**2 / 2)
    agree(x.polygamma(1), torch.polygamma(1, x))
    agree(x.detach().clone().polygamma_(2), torch.polygamma(2, x))


def test_logaddexp_of_infinities(torch):
    a = torch.tensor([-math.inf, -math.inf, 1.0], requires_grad=True)
    b = torch.tensor([-math.inf, 2.0, -math.inf])
    y = torch.logaddexp(a, b)
    agree(y, [-math.inf, 2.0, 1.0])
    agree(torch.autograd.grad(y.sum(), a)[0], [math.nan, 0.0, 1.0])


def test_windows(torch):
    w = torch.signal.windows
    agree(w.hann(5), [0.0, 0.5, 1.0, 0.5, 0.0])
    agree(w.bartlett(4, sym=False), [0.0, 0.5, 1.0, 0.5])
    agree(w.exponential(4, sym=False), [math.exp(-abs(k - 2)) for k in range(4)])
    agree(w.gaussian(3, std=0.5), [math.exp(-2), 1.0, math.exp(-2)])
    agree(w.general_cosine(3, a=[0.5, 0.5]), [0.0, 1.0, 0.0])
    assert w.kaiser(0).shape == (0,)
    assert w.nuttall(1, dtype=torch.float64).dtype == torch.float64
    with pytest.raises(ValueError, match="general_cosine requires non-negative window length, got M=-1"):
        w.hann(-1)
    with pytest.raises(ValueError, match="Center must be None for symmetric windows"):
        w.exponential(3, center=1.0)


def test_a_signal_survives_its_transform(torch):
    x = torch.arange(40.0).sin().reshape(2, 20).requires_grad_()
    window = torch.hann_window(8)
    y = torch.stft(x, 8, hop_length=2, window=window, return_complex=True)
    assert y.shape == (2, 5, 11)
    back = torch.istft(y, 8, hop_length=2, window=window)
    agree(back, x, atol=1e-5)
    agree(torch.autograd.grad(back.sum(), x)[0], torch.ones_like(x), atol=1e-5)
    with pytest.raises(RuntimeError, match="stft requires the return_complex parameter be given for real inputs"):
        x.stft(8)
    with pytest.raises(RuntimeError, match="expected hop_length > 0, but got hop_length=0"):
        torch.stft(x, 8, 0, return_complex=True)


def test_histograms(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 2.0, 9.0])
    hist, edges = torch.histogram(x, 4)
    agree(hist, [3.0, 1.0, 0.0, 1.0])
    agree(edges, [1.0, 3.0, 5.0, 7.0, 9.0])
    agree(torch.histogram(x, torch.tensor([0.0, 2.0, 4.0, 9.0]), weight=x).hist, [1.0, 7.0, 9.0])
    points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    agree(torch.histogramdd(points, [2, 2]).hist, np.histogramdd(points.numpy(), [2, 2])[0].tolist())
    with pytest.raises(RuntimeError, match=r"torch.histogramdd: dimension 0's range \[nan, nan\] is not finite"):
        torch.histogram(torch.tensor([1.0, math.nan]), 4)


def test_hash_tensor(torch):
    assert torch.hash_tensor(torch.tensor([5, 3, 5])).item() == 3
    assert torch.hash_tensor(torch.ones(2, 3)).dtype == torch.uint64
    assert torch.hash_tensor(torch.tensor([1.0])).item() == int(np.float64(1).view("uint64"))


def test_gradient(torch):
    y = torch.tensor([1, 2, 4, 7, 0])
    agree(torch.gradient(y)[0], [1.0, 1.5, 2.5, -2.0, -7.0])
    agree(torch.gradient(y, spacing=(torch.tensor([0.0, 1, 2, 4, 8]),))[0], [1.0, 1.5, 11 / 6, 5 / 12, -1.75])
    with pytest.raises(RuntimeError, match="torch.gradient expected each dimension size to be at least"):
        torch.gradient(torch.ones(3, 1))
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times"):
        torch.gradient(torch.ones(3, 3), dim=(0, 0))


def test_sum_to_size(torch):
    x = torch.ones(2, 3, requires_grad=True)
    agree(x.sum_to_size(3), [2.0, 2.0, 2.0])
    agree(x.sum_to_size(2, 1), [[3.0], [3.0]])
    assert x.sum_to_size((2, 3)).grad_fn is None
    with pytest.raises(RuntimeError, match=r"size \{\[2\]\} is not expandable to size \{\[2, 3\]\}\."):
        x.sum_to_size(2)


def test_node_names_follow_the_overload(torch):
    x, t = torch.ones(2, requires_grad=True) * 1, torch.ones(2)
    for result, name in ((torch.xlogy(x, 2.0), "XlogyBackward2"), (torch.xlogy(x, t), "XlogyBackward0"),
                         (torch.copysign(x, 1.0), "CopysignBackward1"), (x.clamp_min(t), "ClampMinBackward1"),
                         (torch.rsub(x, t), "RsubBackward0"), (x.clone().remainder_(t), "RemainderBackward1")):
        assert type(result.grad_fn).__name__ == name
    with pytest.raises(TypeError, match="received an invalid combination of arguments"):
        torch.xlogy(2, 3)
