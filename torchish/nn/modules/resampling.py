"""Upsampling, pixel and channel shuffles, patches."""

import torchish.nn.functional as F
from torchish.nn.modules._held import Held


class Upsample(Held):
    """Resample to a size or by a factor."""

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(f) for f in scale_factor)
        elif scale_factor:
            scale_factor = float(scale_factor)
        else:
            scale_factor = None
        super().__init__(name=type(self).__name__, size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners,
                         recompute_scale_factor=recompute_scale_factor)

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self):
        how = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resample (N, C, H, W) by the nearest pixels."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resample (N, C, H, W) bilinearly, corners aligned."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Held):
    """Channels to pixels: (N, C r r, H, W) to (N, C, H r, W r)."""

    _shows = "upscale_factor",

    def __init__(self, upscale_factor):
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Held):
    """Pixels to channels."""

    _shows = "downscale_factor",

    def __init__(self, downscale_factor):
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Held):
    """Interleave the channels of groups."""

    _shows = "groups",

    def __init__(self, groups):
        super().__init__(groups=groups)

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


class Unfold(Held):
    """Patches as columns."""

    _shows = "kernel_size", "dilation", "padding", "stride"

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Held):
    """The sum of patches given as columns."""

    _shows = "output_size", "kernel_size", "dilation", "padding", "stride"

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
