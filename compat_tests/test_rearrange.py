"""torch.func.rearrange: patterns that reorder, join and split dimensions, and patterns that are none."""

import pytest
from checks import raises

FITTING = {
    "a b c -> c a b": {}, "a b c -> (a b) c": {}, "a b (c d) -> a b c d": {"c": 2}, "a ... -> ... a": {}, "... c -> c (...)": {},
    "a b c -> a b c 1": {}, "a b c -> a () b c": {}, "a b c->a c b": {}, " a b  c -> b a c ": {}, "a b c -> a b c": {"a": 2},
    "a1 b_c c -> c b_c a1": {}, "(x a) b c -> a (x c b)": {"x": 1}, "... -> (...)": {},
}
REFUSED = {
    "a b c -> a b": "Identifiers only on one side of rearrange expression (should be on both): {'c'}",
    "a b -> a b": "Number of dimensions in pattern (2) must be equal to the number of dimensions in the tensor (3)",
    "a b c d ... -> a b c d ...": "Number of dimensions in pattern (4) must be less than or equal to the number of dimensions in the tensor (3)",
    "a a c -> a c": "Indexing expression contains duplicate dimension 'a'",
    "a b c": "Pattern must contain a single '->' separator",
    "(...) -> ...": "Ellipsis is parenthesis in the left side is not allowed: (...) -> ...",
    "a b c -> a b 2 c": "rearrange only supports unnamed axes of size 1",
    "a b c -> a (b": "Imbalanced parentheses in expression: ' a (b'",
    "a ((b c)) d -> a b c d": "Axis composition is one-level (brackets inside brackets not allowed)",
    "a _ c -> a c": "Invalid axis identifier: _\naxis name should should not start or end with underscore",
    "a b c -> ... a b c": "Ellipsis found in right side, but not left side of a pattern a b c -> ... a b c",
    "... -> ... ...": "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor",
    "a b. c -> a": "Expression may contain dots only inside ellipsis (...)",
}


@pytest.mark.parametrize("pattern", FITTING)
def test_patterns(torch, recorded, pattern):
    x = torch.arange(24).reshape(2, 3, 4)
    y = torch.func.rearrange(x, pattern, **FITTING[pattern])
    recorded([list(y.shape), y.flatten().tolist()])


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_that_are_none(torch, pattern):
    with raises(ValueError, REFUSED[pattern]):
        torch.func.rearrange(torch.zeros(2, 3, 4), pattern)


def test_sizes_that_do_not_fit(torch):
    x = torch.zeros(2, 3, 4)
    for pattern, sizes, text in (("a b (c d) -> a b c d", {}, "cannot infer the sizes of two dimensions at once d2 and d3"),
                                 ("a b (c d) -> a b c d", {"c": 3}, "inferred dimension does not evenly fit into larger dimension: 4 vs (3, '?')"),
                                 ("a b c -> a b c", {"a": 5}, "Dimension sizes to do not match (2 != 5) when matching dimension pack (d0,)")):
        with raises(Exception, text):
            torch.func.rearrange(x, pattern, **sizes)
    with raises(ValueError, "Identifiers not found in rearrange expression: {'e'}"):
        torch.func.rearrange(x, "a b c -> a b c", e=3)


def test_lists_gradients_and_maps(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    assert torch.func.rearrange([x, x], "n a b -> (n b) a").shape == (6, 2)
    torch.func.rearrange(x, "a b -> (b a)").dot(torch.arange(6.0)).backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert torch.vmap(lambda r: torch.func.rearrange(r, "a b -> b a"))(torch.zeros(2, 3, 4)).shape == (2, 4, 3)
