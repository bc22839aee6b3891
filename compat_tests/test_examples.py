"""The examples run, shortened, and print their error."""

from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
SHORT = {"burgers": ["--steps", "6", "--points", "50"]}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(run_script, path):
    done = run_script(path, *SHORT.get(path.stem, ["--steps", "30"]))
    assert done.returncode == 0, done.stderr
    assert "error" in done.stdout.splitlines()[-1]
