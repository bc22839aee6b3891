"""Floor 1: recording, cold and hot execution, number promotion."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from torchish.program import execute, flush, from_numpy, record, stats, to_numpy


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


@pytest.mark.parametrize("patience,compiled", [(0.0, 1), (float("inf"), 0)])
def test_what_keeps_coming_back_is_compiled_whole(monkeypatch, patience, compiled):
    """The whole program is compiled once its slower runs took a share of the expected compile time."""
    monkeypatch.setattr(execute, "PATIENCE", patience)
    monkeypatch.setattr(execute, "exists", lambda name: False)      # nothing left by an earlier process
    flush()
    a = np.arange(7.0) + compiled       # shapes are shared with no other test
    x = from_numpy(np.tile(a, (3, 1 + compiled)))
    for _ in range(2):                  # first the operations' own executables
        chain(x, 0.5)
    before = stats()
    for _ in range(6):
        np.testing.assert_allclose(chain(x, 0.5), expected(np.tile(a, (3, 1 + compiled)), 0.5))
    after = stats()
    assert after["hot_compiles"] - before["hot_compiles"] == compiled
    assert (after["hot"] - before["hot"], after["cold"] - before["cold"]) == ((6, 0) if compiled else (0, 6))


def test_nothing_runs_before_a_read():
    before = stats()["programs"]
    y = record(SIN, (from_numpy(np.ones(3)),))
    assert stats()["programs"] == before and y.array is None
    to_numpy(y)
    assert stats()["programs"] == before + 1


def test_a_failed_program_is_never_read():
    def fails(a):
        calls.append(1)
        if len(calls) > 1:
            raise FloatingPointError("at run time")
        return a + 1

    calls = []
    flush()
    y = record(Row(fails), (from_numpy(np.ones(3)),))
    with pytest.raises(FloatingPointError):
        to_numpy(y)
    z = record(SIN, (from_numpy(np.ones(3)),))
    with pytest.raises(RuntimeError, match="never computed"):
        to_numpy(y)
    with pytest.raises(RuntimeError, match="never computed"):
        record(SIN, (y,))
    np.testing.assert_allclose(to_numpy(z), np.sin(np.ones(3)))


@pytest.mark.parametrize("call", [
    "torch.linalg.solve(a, a)", "torch.linalg.qr(a)[1]", "torch.linalg.eigvalsh(a + a.mT)", "torch.linalg.svdvals(a)",
    "torch.linalg.eigvals(a).real", "torch.fft.fft(a).real", "a.sort().values + torch.randn(3)"])
def test_a_kept_executable_runs_in_a_new_process(tmp_path, monkeypatch, call):
    """Libraries that JAX loads while lowering (LAPACK) must be there for an executable that comes from the disk."""
    monkeypatch.setenv("TORCHISH_CACHE", str(tmp_path))
    script = ("import torchish as torch\nfrom torchish.program import stats\ntorch.manual_seed(0)\na = torch.randn(3, 3)\n"
              f"for _ in range(3): x = ({call}).abs().sum().item()\nprint(x, stats()['compiles'])")
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True) for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
    (value, compiled), (again, kept) = (run.stdout.split() for run in runs)
    assert value == again and int(compiled) > 0 == int(kept)
