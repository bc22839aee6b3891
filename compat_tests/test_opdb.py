"""Every operator of PyTorch's op_db against PyTorch itself.

`--op-samples N` takes N samples an operator and check (0: all of them); without it nothing runs. An entry of the table of
what is known to differ, `ops/expected_failures.py`, that no longer fails is a failure.
"""

import pytest
from ops.expected_failures import EXPECTED, LEFT_OUT

try:
    from ops import opdb
except ImportError as missing:
    pytest.skip(f"op_db needs PyTorch and expecttest: {missing}", allow_module_level=True)


def case(name, check):
    reason = EXPECTED.get((name, check))
    marks = [pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)] if reason else []
    return pytest.param(name, check, marks=marks, id=f"{name}-{check}".replace(" ", "_"))


@pytest.mark.parametrize("name, check", [case(name, check) for name in opdb.OPS if name not in LEFT_OUT
                                         for check in (*opdb.CHECKS, "error") if opdb.applies(name, check)])
def test_op(name, check, pytestconfig):
    most = pytestconfig.getoption("--op-samples") or None
    compared = opdb.run_errors(name) if check == "error" else opdb.run(name, check, most)
    if not compared:
        pytest.skip("PyTorch has nothing to compare with")
