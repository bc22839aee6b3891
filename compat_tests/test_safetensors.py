"""The library safetensors with torchish in PyTorch's place, and the memory that it reads."""

import subprocess
import sys

import pytest

pytest.importorskip("safetensors", reason="safetensors is optional")

SAVE = """
import torchish
torchish.install()
import torch
from safetensors.torch import load, save, save_file, save_model
tensors = {"float": torch.arange(6.0).reshape(2, 3), "half": torch.ones(2).bfloat16() * 3, "empty": torch.zeros(0, 2), "number": torch.tensor(7),
           "bool": torch.tensor([True, False]), "eight": torch.ones(2).to(torch.float8_e4m3fn), "complex": torch.ones(2) * 2j}
save_file(tensors, "torchish.safetensors", metadata={"by": "torchish"})
for name, read in load(save(tensors)).items():
    assert read.dtype is tensors[name].dtype and torch.equal(read, tensors[name]), name
layer = torch.nn.Linear(2, 3)
save_model(torch.nn.Sequential(layer, layer), "model.safetensors")
for shared in ({"a": tensors["float"], "b": tensors["float"][1:]}, {"a": layer.weight, "b": layer.weight.detach()}):
    try:
        save(shared)
    except RuntimeError as error:
        assert "Some tensors share memory" in str(error)
    else:
        raise AssertionError("shared memory was not noticed")
"""
LOAD = """
import torchish
torchish.install()
import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model
read = load_file("torch.safetensors")
assert read["a"].tolist() == [[0, 1], [2, 3]] and read["b"].dtype is torch.bfloat16
read["a"].mul_(2)
with safe_open("torch.safetensors", framework="pt") as f:
    assert f.get_slice("a")[:, 1:].tolist() == [[1], [3]] and f.get_tensor("b").tolist() == [1, 1]
layer = torch.nn.Linear(2, 3)
net = torch.nn.Sequential(layer, layer)
load_model(net, "model.safetensors")
assert layer.weight.tolist() == [[0, 1], [2, 3], [4, 5]]
"""


def run(source, folder):
    done = subprocess.run([sys.executable, "-c", source], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_files_that_pytorch_reads(oracle, tmp_path):
    from safetensors.torch import load_file
    run(SAVE, tmp_path)
    read = load_file(tmp_path / "torchish.safetensors")
    assert read["float"].tolist() == [[0, 1, 2], [3, 4, 5]] and read["half"].tolist() == [3, 3] and read["empty"].shape == (0, 2)
    assert read["number"].item() == 7 and read["bool"].tolist() == [True, False] and read["complex"].tolist() == [2j, 2j]
    assert read["half"].dtype is oracle.bfloat16 and read["eight"].float().tolist() == [1, 1]
    assert sorted(load_file(tmp_path / "model.safetensors")) == ["0.bias", "0.weight"]


def test_files_that_pytorch_wrote(oracle, tmp_path):
    from safetensors.torch import save_file, save_model
    save_file({"a": oracle.arange(4.0).reshape(2, 2), "b": oracle.ones(2, dtype=oracle.bfloat16)}, tmp_path / "torch.safetensors")
    layer = oracle.nn.Linear(2, 3)
    layer.weight.data = oracle.arange(6.0).reshape(3, 2)
    save_model(oracle.nn.Sequential(layer, layer), str(tmp_path / "model.safetensors"))
    run(LOAD, tmp_path)
