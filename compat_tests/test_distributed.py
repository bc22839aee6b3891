"""torch.distributed without a process group."""

import importlib

import pytest


@pytest.mark.parametrize("module", ["distributed", "distributed.nn", "distributed.nn.functional"])
def test_collectives_without_a_group(torch, module):
    module = importlib.import_module(f"{torch.__name__}.{module}")
    x = torch.ones(2)
    for call in (lambda: module.all_reduce(x), lambda: module.broadcast(x, 0), lambda: module.gather(x)):
        with pytest.raises(ValueError, match="^Default process group has not been initialized"):
            call()
    assert torch.equal(x, torch.ones(2))


def test_names_read_before_any_group(torch):
    dist = torch.distributed
    assert isinstance(dist.ProcessGroup, type) and dist.group.WORLD is None and not dist.is_initialized()
    assert [int(op) for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MIN, dist.ReduceOp.MAX)] == [0, 1, 3, 4]
    with pytest.raises(ValueError, match="^Default process group has not been initialized"):
        dist.get_rank()
