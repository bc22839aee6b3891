"""What a backward saves: which in-place writes it notices, and whether it can run twice."""

import pytest

UNARY = "abs neg exp log sin cos tan tanh sigmoid sqrt rsqrt relu square reciprocal exp2 expm1 log1p sinh cosh atan erf floor sum mean " \
        "prod cumsum softmax logsumexp".split()
BINARY = "add sub mul div pow atan2 maximum fmod".split()


def of(torch, name, *xs):
    if name in ("cumsum", "softmax", "logsumexp"):
        return getattr(torch, name)(*xs, 0)
    return getattr(torch, name)(*xs)


def outcome(step):
    try:
        step()
    except RuntimeError as error:
        return "modified" if "modified by an inplace operation" in str(error) else \
            "freed" if "a second time" in str(error) else str(error)
    return "fine"


def written(torch, name, inputs, which):
    """The outcome of a backward after a write to an input (by number) or to the result."""
    xs = [torch.tensor([0.5, 1.5, 2.5], requires_grad=True) * 1 for _ in range(inputs)]
    y = of(torch, name, *xs)
    with torch.no_grad():
        (y if which == "result" else xs[which]).add_(1)
    return outcome((y * 1).sum().backward)


def again(torch, name, inputs):
    xs = [torch.tensor([0.5, 1.5, 2.5], requires_grad=True) for _ in range(inputs)]
    y = of(torch, name, *xs)
    ones = torch.ones_like(y)
    y.backward(ones)
    return outcome(lambda: y.backward(ones))


@pytest.mark.parametrize("name", UNARY)
def test_unary(torch, recorded, name):
    recorded([written(torch, name, 1, 0), written(torch, name, 1, "result"), again(torch, name, 1)])


@pytest.mark.parametrize("name", BINARY)
def test_binary(torch, recorded, name):
    recorded([written(torch, name, 2, 0), written(torch, name, 2, 1), written(torch, name, 2, "result"), again(torch, name, 2)])
