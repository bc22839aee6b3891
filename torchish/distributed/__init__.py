"""torch.distributed: as of a PyTorch built without it. To use several devices, shard JAX arrays (`jax.sharding`)."""

_NONE = "Default process group has not been initialized, please make sure to call init_process_group."


def is_available():
    return False


def is_initialized():
    return False


def is_nccl_available():
    return False


def is_gloo_available():
    return False


def is_mpi_available():
    return False


def is_torchelastic_launched():
    return False


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    raise NotImplementedError("torchish runs in one process; use jax.distributed and jax.sharding for several")


def get_rank(group=None):
    raise ValueError(_NONE)


def get_world_size(group=None):
    raise ValueError(_NONE)


def barrier(group=None, async_op=False, device_ids=None):
    raise ValueError(_NONE)


def destroy_process_group(group=None):
    raise AssertionError("Process group cannot be None")
