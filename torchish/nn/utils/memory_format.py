"""The order of dimensions in the weights of convolutions."""

from torchish.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _convert(module, kinds, memory_format):
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay the weights of Conv2d and ConvTranspose2d out in `memory_format`."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay the weights of Conv3d and ConvTranspose3d out in `memory_format`."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
