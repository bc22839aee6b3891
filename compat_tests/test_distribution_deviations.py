"""What docs/deviations.md says of distributions: torchish's side."""

import pytest

import torchish as torch
from torchish import distributions as D


def test_generalized_pareto_of_doubles():
    wide = torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64)
    assert D.GeneralizedPareto(wide[:1], wide[1:2], wide[2:]).log_prob(wide[1:2]).dtype is torch.float64


@pytest.mark.parametrize("n", [2, 4, 5])
def test_vectors_that_are_no_triangle(n):
    with pytest.raises(ValueError):
        D.utils.vec_to_tril_matrix(torch.zeros(n))
