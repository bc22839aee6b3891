"""DataParallel over the one device that torchish computes on."""

from torchish.nn.modules.module import Module


class DataParallel(Module):
    """The module itself, as PyTorch runs it where there is at most one GPU."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError("torchish computes on one device; shard the batch with jax.sharding to use several")
        self.module, self.device_ids, self.output_device, self.dim = module, [], output_device, dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`module(*inputs)`."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
