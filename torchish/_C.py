"""The few names that Python code reaches for in torch._C."""

import contextlib

_DisableFuncTorch = _DisableTorchDispatch = DisableTorchFunction = DisableTorchFunctionSubclass = contextlib.nullcontext


class _LinAlgError(RuntimeError):
    """A matrix for which the computation has no result; torch.linalg.LinAlgError."""
