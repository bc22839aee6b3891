"""torch.distributed: as of a PyTorch built without it. To use several devices, shard JAX arrays (`jax.sharding`)."""

import enum

_NONE = "Default process group has not been initialized, please make sure to call init_process_group."


ReduceOp = enum.IntEnum("ReduceOp", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM", start=0)


class ProcessGroup:
    """The type of a group of processes, for annotations and `isinstance`; there is never one."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torchish runs in one process; use jax.distributed and jax.sharding for several")


class group:
    """The default process group: there is none."""

    WORLD = None


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


def _without_group(name):
    def call(*args, **kwargs):
        raise ValueError(_NONE)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Raises: torchish runs in one process, so there is never a process group."
    return call


_COLLECTIVES = """all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single broadcast
    broadcast_object_list gather gather_object get_backend irecv isend monitored_barrier new_group
    recv reduce reduce_scatter reduce_scatter_tensor scatter scatter_object_list send""".split()
for _name in _COLLECTIVES:
    globals()[_name] = _without_group(_name)


def destroy_process_group(group=None):
    raise AssertionError("Process group cannot be None")
