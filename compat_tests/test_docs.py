"""The documentation's snippets run, and print what stands under them."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```output\n(.*?)^```\n)?", re.M | re.S)
PAGES = sorted(p.name for p in DOCS.glob("*.md") if "```python" in p.read_text())
MARK = "=== next snippet ==="


@pytest.mark.parametrize("page", PAGES)
def test_snippets(run_script, tmp_path, page):
    """The snippets of a page are one program."""
    snippets = BLOCK.findall((DOCS / page).read_text())
    script = tmp_path / "snippets.py"
    script.write_text("".join(f"{code}print({MARK!r})\n" for code, _ in snippets))
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(MARK + "\n")[:-1]
    for (code, expected), got in zip(snippets, printed, strict=True):
        assert got == expected, f"in {page}:\n{code}"
