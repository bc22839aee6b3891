"""`python -m torchish` and `torchish.install()`."""

import subprocess
import sys

import pytest


@pytest.fixture
def python(tmp_path):
    def run(*arguments):
        return subprocess.run([sys.executable, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return run


IMPORTS = """
import sys
import torch, torch.nn.functional as F, torchish
import torch.optim.lr_scheduler
from torch import nn
from torch.autograd import grad
from torch.utils.data import DataLoader
import torchish.nn.functional, torchish.optim

assert torch is torchish and F is torchish.nn.functional and nn is torchish.nn
assert torch.optim is torchish.optim and grad is torchish.autograd.grad
assert sys.modules["torch.nn"] is sys.modules["torchish.nn"]
assert torchish.__name__ == "torchish" and torchish.__spec__.name == "torchish"
"""
METADATA = """
import importlib.metadata, importlib.util
assert importlib.metadata.version("torch") == "2.13.0"
assert importlib.util.find_spec("torch") is not None
import torch
assert torch.__version__.startswith("2.13.0") and isinstance(torch.__version__, str)
"""

FUNCTORCH = """
import functorch, torch, warnings
import torch._functorch.deprecated, torch._functorch.make_functional
from torch._functorch.apis import vmap
from torch._functorch.eager_transforms import _slice_argnums, jacrev
assert vmap is torch.vmap and jacrev is torch.func.jacrev and torch._functorch.deprecated.make_functional
assert _slice_argnums((1, 2, 3), (-1, 0)) == (3, 1) and _slice_argnums((1, 2), 1, as_tuple=False) == 2
from functorch.experimental import chunk_vmap
warnings.simplefilter("ignore")
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
function, params, buffers = functorch.make_functional_with_buffers(model)
assert function(params, buffers, torch.ones(4, 2)).shape == (4, 3) and buffers[-1] == 1 and model[1].num_batches_tracked == 0
function, params, buffers = functorch.combine_state_for_ensemble([torch.nn.Linear(2, 3) for _ in range(4)])
assert functorch.vmap(function, (0, 0, None))(params, buffers, torch.ones(5, 2)).shape == (4, 5, 3)
assert torch.equal(chunk_vmap(torch.sin, chunks=2)(torch.ones(5)), torch.ones(5).sin())
"""


@pytest.mark.parametrize("source", [IMPORTS, METADATA, FUNCTORCH], ids=["imports", "metadata", "functorch"])
def test_torch_means_torchish(python, source):
    done = python("-m", "torchish", "-c", source)
    assert done.returncode == 0, done.stderr
    done = python("-c", "import torchish; torchish.install(); torchish.install()\n" + source)
    assert done.returncode == 0, done.stderr


def test_a_missing_submodule_is_named(python):
    done = python("-m", "torchish", "-c", "import torch.nothing_like_it")
    assert done.returncode == 1
    assert "ModuleNotFoundError: No module named 'torch.nothing_like_it'" in done.stderr
    done = python("-m", "torchish", "-c", "from torch.nothing.like import it")
    assert "ModuleNotFoundError: No module named 'torch.nothing'" in done.stderr


def test_too_late_beside_pytorch(python):
    source = "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); import torchish; torchish.install()"
    done = python("-c", source)
    assert done.returncode == 1 and "PyTorch itself has been imported already" in done.stderr


SCRIPT = """\
import sys
import neighbour
from torch import nn

print(__name__, sys.argv[1:], neighbour.torch.ones(2).sum().item(), sys.modules["__main__"].nn is nn)


class Net(nn.Module):
    pass


assert Net.__module__ == "__main__"
if "fail" in sys.argv:
    raise ValueError("on purpose")
if "exit" in sys.argv:
    sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    (folder / "neighbour.py").write_text("import torch\n")
    return folder / "script.py"


def test_a_script_runs_as_under_python(run_script, script):
    done = run_script(script, "a", "-b", "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "__main__ ['a', '-b', '--help'] 2.0 True"
    assert run_script(script, "exit").returncode == 7


def test_tracebacks_show_the_script_only(run_script, script):
    done = run_script(script, "fail")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and "script.py" in lines[1]
    assert lines[-1] == "ValueError: on purpose" and "torchish" not in done.stderr


def test_modules_and_a_missing_file(python, script):
    done = subprocess.run(
        [sys.executable, "-m", "torchish", "-m", "script", "x"], cwd=script.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("__main__ ['x']")
    done = python("-m", "torchish", "no_such_script.py")
    assert done.returncode == 2 and "can't open file" in done.stderr


def test_compile_changes_nothing(torch):
    def f(x):
        return (x.sin() * 2).sum()

    x = torch.ones(3, requires_grad=True)
    compiled = torch.compile(f, backend="eager") if torch.__name__ == "torch" else torch.compile(f)
    assert compiled(x).item() == f(x).item()
    compiled(x).backward()
    assert torch.equal(x.grad, 2 * x.detach().cos())


def test_cuda_tensor_types_without_cuda(torch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    with pytest.raises(TypeError, match="type torch.cuda.FloatTensor not available"):
        torch.cuda.FloatTensor([1.0])


def test_what_is_not_there_is_not_there(torch):
    if torch.__name__ == "torchish":
        assert not hasattr(torch.cuda, "CUDAGraph") and not hasattr(torch.cuda, "nothing")
        with pytest.raises(NotImplementedError, match="torch.cuda.Stream: torchish has no streams"):
            torch.cuda.Stream
