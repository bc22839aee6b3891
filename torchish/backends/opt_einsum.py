"""torch.backends.opt_einsum: XLA's einsum finds its own order of contraction."""

enabled, strategy = True, "auto"


def is_available():
    return True
