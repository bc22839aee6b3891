"""The tests run on torchish, or with `--backend torch` on PyTorch itself.

A test that asks for the fixture `torch` states a fact about PyTorch and must hold on both. A test that does not is
about torchish alone, and is left out on PyTorch. Expectations too long to write down are in `recorded/`, one file a
module, made by `--backend torch --record` and checked on both.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks import agree, plain
from hypothesis import settings

RECORDED = Path(__file__).parent / "recorded"
ROOT = str(Path(__file__).parents[1])
# A process started by a test finds the torchish that is under test, installed or not.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
settings.register_profile("compat", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("compat")


def pytest_addoption(parser):
    parser.addoption("--backend", choices=["torchish", "torch"], default="torchish", help="the library under test")
    parser.addoption("--record", action="store_true", help="with --backend torch: write the recorded expectations")
    parser.addoption("--op-samples", type=int, help="run op_db with so many samples an operator and check (0: all); not run without")


def pytest_configure(config):
    if config.getoption("--record") and (config.getoption("--backend") != "torch" or hasattr(config, "workerinput")):
        raise pytest.UsageError("--record needs --backend torch and a single process (-n 0)")


def pytest_ignore_collect(collection_path, config):
    """op_db imports PyTorch's own test code, which takes seconds: only when asked for."""
    return True if collection_path.name == "test_opdb.py" and config.getoption("--op-samples") is None else None


def pytest_collection_modifyitems(config, items):
    if config.getoption("--backend") == "torchish":
        return
    about_torchish = [item for item in items if not {"torch", "run_script"} & set(item.fixturenames)]
    if about_torchish:
        config.hook.pytest_deselected(items=about_torchish)
        items[:] = [item for item in items if item not in about_torchish]


@pytest.fixture(scope="session")
def backend(pytestconfig):
    """The name of the library under test."""
    return pytestconfig.getoption("--backend")


@pytest.fixture(scope="session")
def torch(backend):
    """The library under test."""
    return importlib.import_module(backend)


@pytest.fixture(scope="session")
def oracle():
    """PyTorch itself, for tests that compare at once; skipped where it is not installed."""
    return pytest.importorskip("torch")


class Recorded:
    """The recorded expectations of one test module."""

    def __init__(self, path, recording):
        self.path, self.recording = path, recording
        self.values = json.loads(path.read_text()) if path.exists() else {}

    def check(self, key, value, **tolerance):
        value = json.loads(json.dumps(plain(value)))
        if self.recording:
            self.values[key] = value
        else:
            agree(value, self.values[key], **tolerance)

    def close(self):
        if self.recording and self.values:
            RECORDED.mkdir(exist_ok=True)
            rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(self.values.items()))
            self.path.write_text("{\n" + rows + "\n}\n")


@pytest.fixture(scope="module")
def _recorded_file(request, pytestconfig):
    file = Recorded(RECORDED / f"{request.path.stem}.json", pytestconfig.getoption("--record"))
    yield file
    file.close()


@pytest.fixture
def recorded(request, _recorded_file):
    """`recorded(value)`: the value must be what PyTorch gave when the expectations were recorded."""

    def check(value, **tolerance):
        _recorded_file.check(request.node.name, value, **tolerance)

    return check


@pytest.fixture
def run_script(backend, tmp_path):
    """`run_script("script.py", "--arg")` or `run_script("-c", source)`: run it in a process, on the library under test."""
    command = [sys.executable] + (["-m", "torchish"] if backend == "torchish" else [])

    def run(*arguments):
        return subprocess.run([*command, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run
