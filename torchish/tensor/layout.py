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


class qscheme(_Name):
    """torch.qscheme; torchish has no quantized tensors."""


NAMES = {kind: tuple(map(kind, names.split())) for kind, names in (
    (layout, "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn"),
    (memory_format, "contiguous_format preserve_format channels_last channels_last_3d"),
    (qscheme, "per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric per_channel_affine_float_qparams"))}
NAMES = {made.name: made for kind in NAMES.values() for made in kind}
NAMES["legacy_contiguous_format"] = NAMES["contiguous_format"]
globals().update(NAMES)
