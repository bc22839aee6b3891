"""No import goes upward: the contracts in pyproject.toml."""

import subprocess
import sys
from pathlib import Path


def test_each_floor_imports_only_those_below():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
