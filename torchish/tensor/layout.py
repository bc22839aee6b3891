"""Layouts and memory formats: names that PyTorch code passes around."""


class _Name:
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


class layout(_Name):
    """torch.layout; torchish computes with `torch.strided` only."""


class memory_format(_Name):
    """torch.memory_format; accepted where PyTorch takes one."""


strided, sparse_coo, sparse_csr = layout("strided"), layout("sparse_coo"), layout("sparse_csr")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
