"""What differs from PyTorch in op_db, and why. (operator, check) -> reason; `docs/deviations.md` says what to use instead."""

LEFT_OUT = {}
EXPECTED = {}
