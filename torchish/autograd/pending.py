"""What the backward pass that runs in this thread is about to do."""

import heapq

from torchish.autograd.graph import AccumulateGrad, BackwardNode
from torchish.autograd.modes import state

OUTSIDE = "{} should only be called during the backward pass"
THREADED = ("get_current_graph_task_execution_order expects the current backward to be executed with multithreading disabled, e.g. by "
            "running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n")
LEAF = ("A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not supported.")


def will_execute(node):
    """Whether the pass brings a gradient to the node. RuntimeError outside a pass, and for a leaf inside `autograd.grad`."""
    if not isinstance(node, BackwardNode):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    task = state.task
    if task is None:
        raise RuntimeError(OUTSIDE.format("_get_should_execute_nodes"))
    if isinstance(node, AccumulateGrad) and task.capture is not None and not task.accumulate and (node, 0) in task.capture:
        raise RuntimeError(LEAF)
    return task.will_run(node)


def execution_order():
    """The nodes of the pass in the order in which they run. RuntimeError outside a pass, and where it may use threads."""
    task = state.task
    if task is None:
        raise RuntimeError(OUTSIDE.format("_current_graph_task_execution_order"))
    if state.multithreading:
        raise RuntimeError(THREADED)
    left = dict.fromkeys(task.waiting, 0)
    for node in left:
        for e in node.edges:
            if e is not None:
                left[e[0]] += 1
    ready, order = [], []

    def push(node):
        heapq.heappush(ready, (-node._sequence_nr(), id(node), node))
    for node in [n for n, count in left.items() if not count]:
        push(node)
    while ready:
        node = heapq.heappop(ready)[2]
        if task.useful is None or node in task.useful:
            order.append(node)
        for e in node.edges:
            if e is not None:
                left[e[0]] -= 1
                if not left[e[0]]:
                    push(e[0])
    return order
