"""Floor 1: recording, cold and hot execution, number promotion."""

import jax.numpy as jnp
import numpy as np

from torchish.program import flush, from_numpy, record, stats, to_numpy


class Row:
    def __init__(self, fn):
        self.fn = fn

    def call(self, args, attrs):
        return self.fn(*args)


MUL, SIN = Row(lambda a, b: a * b), Row(jnp.sin)


def chain(x, factor):
    for _ in range(5):
        x = record(SIN, (record(MUL, (x, factor)),))
    return to_numpy(x)


def expected(a, factor):
    for _ in range(5):
        a = np.sin(a * factor)
    return a


def test_a_changing_number_compiles_once_more_and_then_never_again():
    flush()  # what earlier tests recorded
    a = np.arange(5.0)
    x = from_numpy(a)
    for i in range(3):
        np.testing.assert_allclose(chain(x, 1.0 + i), expected(a, 1.0 + i))
    before = stats()["compiles"]
    for i in range(3, 8):
        np.testing.assert_allclose(chain(x, 1.0 + i), expected(a, 1.0 + i))
    assert stats()["compiles"] == before


def test_nothing_runs_before_a_read():
    before = stats()["programs"]
    y = record(SIN, (from_numpy(np.ones(3)),))
    assert stats()["programs"] == before and y.array is None
    to_numpy(y)
    assert stats()["programs"] == before + 1
