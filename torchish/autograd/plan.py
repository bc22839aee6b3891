"""A backward pass as ONE recorded operation.

The structure of the graph (which VJPs, how connected, what is asked for) is looked up; at first sight the pass is planned on
avals, in the engine's order, as a composite of VJP rows. Whoever looks in from outside (hooks, custom Functions, writes through
views, forward mode, anomaly mode, tracers) is served by the engine's live pass instead, node by node.
"""

from operator import attrgetter

from torchish.autograd import where
from torchish.autograd.graph import (
    FREED,
    AccumulateGrad,
    OpNode,
    SavedResult,
    Watch,
    edge_of,
    node_class,
    overwritten,
    second_time,
)
from torchish.autograd.modes import state
from torchish.ops import TABLE, dtypes
from torchish.ops.derive import pull_of
from torchish.program import append, composite, signature_of
from torchish.tensor import Tensor

SUM, CAST = TABLE["accumulate"], TABLE["to_copy"]
LIMIT = 4096
SEQUENCE = attrgetter("sequence")
ALL, ROOT = object(), object()
_plans = {}


class Plan:
    """sig: the composite, or None when gradients only pass through. executed: positions of the nodes that run.
    results: (node position, output number, k, wrt, name): the k-th result of `sig` (of the roots' cotangents when wrt is
    ROOT), and its node's operands and name when it is to be differentiated again."""

    __slots__ = ("sig", "executed", "results")

    def __init__(self, sig, executed, results):
        self.sig, self.executed, self.results = sig, executed, results


def run(roots, grads, targets, keep, create):
    """The pass with results {(node, output number): gradient}, or None when it must run live.

    roots: edges; grads: their cotangents (Tensors); targets: the edges asked for, None for all leaves.
    """
    if state.anomaly or state.saved_hooks or state.inference or state.level is not None or state.below is not None:
        return None
    key, nodes, index = [create], [], {}
    for (n, nr), g in zip(roots, grads):
        if n not in index:
            index[n] = len(nodes)
            nodes.append(n)
        key += (index[n], nr, g._aval, create and g.requires_grad)
    for n in nodes:     # grows on the way
        if not n.plain:
            return None
        if n.__class__ is AccumulateGrad:
            if n.variable._hooks or n.variable._post_hooks:
                return None
            key.append(n.outs[0])
            continue
        key.append(n.pull)
        for e in n.edges:
            if e is None:
                key.append(None)
                continue
            m, nr = e
            i = index.get(m)
            if i is None:
                i = index[m] = len(nodes)
                nodes.append(m)
            key.append(i)
            key.append(nr)
        if create and n.pull.constants and n.saved is not FREED:
            for j in n.pull.constants:
                key.append(needs_grad(n.saved[j]))
    key.append(ALL if targets is None else tuple([(index.get(n), nr) for n, nr in targets]))
    key = tuple(key)
    plan = _plans.get(key)
    if plan is None:
        plan = make(nodes, index, roots, grads, targets, create)
        if len(_plans) >= LIMIT:
            _plans.clear()
        _plans[key] = plan
    return replay(plan, nodes, grads, keep, create)


def leading_to(nodes, targets):
    """The nodes (latest first) from which a target can be reached."""
    useful = set()
    for n in reversed(nodes):
        if n in targets or any(e is not None and e[0] in useful for e in n.edges):
            useful.add(n)
    return useful


def needs_grad(s):
    """Whether a gradient can flow into a saved tensor that needed none when it was saved."""
    return s.__class__ is tuple and s[0].requires_grad


def replay(plan, nodes, grads, keep, create):
    """Check and gather what the nodes saved, record the composite, hand the results out."""
    avals = plan.sig.operands if plan.sig is not None else None
    operands = [g._value for g in grads]
    sources = list(grads)
    for i in plan.executed:
        n = nodes[i]
        kept = n.saved
        if kept is FREED:
            raise RuntimeError(second_time(n))
        for s in kept:
            if s.__class__ is tuple:
                t, counter, version = s
                if counter.version != version:
                    raise RuntimeError(overwritten(n, t, counter, version, edge_of(t)))
                if t._aval is not avals[len(operands)]:
                    return None
                v = t._view
                operands.append(t._storage.value if v is None else v.read(t._storage))
            elif s.__class__ is SavedResult:
                if s.counter.version != s.version:
                    s.open(n)
                operands.append(s.tensor._value)
                if create:
                    s = (s.open(n), s.counter, s.version)
            elif isinstance(s, Watch):
                s.open(n)
                continue
            else:
                operands.append(s)
            sources.append(s)
    place = where.here()
    outs = append(plan.sig, operands) if plan.sig is not None else ()
    made, results = {}, {}
    for i, nr, k, wrt, name in plan.results:
        if wrt is ROOT:
            results[(nodes[i], nr)] = grads[k]
            continue
        t = results[(nodes[i], nr)] = Tensor._of(outs[k])
        if wrt:
            node = made.get(wrt)
            if node is None:
                node = made[wrt] = node_of(plan, wrt, name, sources, place)
            t._fn, t._nr = node, k
    if not keep:
        for i in plan.executed:
            nodes[i].release()
            nodes[i].freed = place
    return results


def node_of(plan, wrt, name, sources, place):
    """The node of the pass itself, when it is to be differentiated: from the results that depend on `wrt`."""
    pull = pull_of(plan.sig, wrt)
    edges = tuple([edge_of(s[0] if s.__class__ is tuple else s) for s in map(sources.__getitem__, wrt)])
    kept = []
    for i in pull.passed:
        s = sources[i]
        kept.append((s, s._storage, s._storage.version) if isinstance(s, Tensor) and s._counter is None else
                    (s, s._counter, s._counter.version) if isinstance(s, Tensor) else s)
    node = node_class(name, OpNode)(pull, edges, plan.sig.outs, kept)
    node.place = place
    return node


# --- planning ------------------------------------------------------------------------------------------------------------


class Planner:
    """Symbolic values are (operand code, aval or number class, operands through which it is differentiable)."""

    def __init__(self, create):
        self.create, self.rows, self.slots, self.operands = create, [], 0, []

    def operand(self, aval, needs):
        k = len(self.operands)
        self.operands.append(aval)
        return ~k, aval, frozenset((k,)) if needs else frozenset()

    def emit(self, op, args, attrs=()):
        """Plan one row; returns its results."""
        sig = signature_of(op, [type(None) if a is None else a[1] for a in args], attrs)
        through = frozenset().union(*[a[2] for i, a in enumerate(args) if a is not None and i not in op.nondiff])
        outs = [(self.slots + k, a, through, op.node) for k, a in enumerate(sig.outs)]
        self.slots += len(outs)
        self.rows.append((sig, tuple([None if a is None else a[0] for a in args]), tuple([o[0] for o in outs])))
        return outs

    def fit(self, x, aval):
        """A gradient in the dtype of the output that it belongs to."""
        return self.emit(CAST, [x], (dtypes.FROM_NP[aval.dtype],))[0] if x[1].dtype != aval.dtype else x


def make(nodes, index, roots, grads, targets, create):
    """Plan the pass over `nodes` in the engine's order, latest first."""
    nodes = sorted(nodes, key=SEQUENCE, reverse=True)
    planner = Planner(create)
    useful = None if targets is None else leading_to(nodes, {n for n, _ in targets})
    wanted = None if targets is None else set(targets)
    buffers = {}

    def receive(n, nr, x):
        buffer = buffers.setdefault(n, [None] * len(n.outs))
        x = planner.fit(x, n.outs[nr])
        buffer[nr] = x if buffer[nr] is None else planner.emit(SUM, [buffer[nr], x])[0]

    root_codes = {}
    for k, ((n, nr), g) in enumerate(zip(roots, grads)):
        x = planner.operand(g._aval, create and g.requires_grad)
        root_codes[x[0]] = k
        receive(n, nr, x)
    found, executed = {}, []
    for n in nodes:
        if useful is not None and n not in useful:
            continue
        cts = buffers.pop(n, None) or [None] * len(n.outs)
        if n.__class__ is AccumulateGrad:
            if cts[0] is not None and (wanted is None or (n, 0) in wanted):
                found[(n, 0)] = cts[0]
            continue
        if wanted is not None:
            found.update({(n, nr): ct for nr, ct in enumerate(cts) if ct is not None and (n, nr) in wanted})
        needed = tuple([k for k, e in enumerate(n.edges) if e is not None and (useful is None or e[0] in useful)])
        if not needed and wanted is not None:
            continue
        executed.append(index[n])
        pull = n.pull
        kept = saved_operands(planner, n)
        cts = [cts[i] for i in pull.float_outs]
        if all(ct is None for ct in cts):
            continue
        for part, picks, places in pull.parts(needed, create):
            outs = planner.emit(part, [*[kept[i] for i in picks], *cts])
            for k, x in zip(places, outs):
                receive(*n.edges[k], x)
    return finished(planner, found, index, root_codes, executed)


def saved_operands(planner, n):
    """Operands for what a node saved, with the avals that its VJP was made for."""
    pull = n.pull
    if n.saved is FREED:
        raise RuntimeError(second_time(n))
    avals = [pull.sig.operands[i] for i in pull.passed] + list(pull.sig.outs[:pull.results])
    differentiable = [i in pull.wrt for i in pull.passed] + [True] * pull.results
    for j in pull.constants:
        differentiable[j] = needs_grad(n.saved[j])
    differentiable += [False] * len(pull.residuals)
    return [planner.operand(a, planner.create and d) for a, d in zip([*avals, *pull.residuals], differentiable)]


def finished(planner, found, index, root_codes, executed):
    results, outs = [], []
    for (n, nr), (code, aval, through, *name) in found.items():
        if code in root_codes:
            results.append((index[n], nr, root_codes[code], ROOT, None))
            continue
        wrt = tuple(sorted(~c if c < 0 else c for c in through)) if planner.create else ()
        results.append((index[n], nr, len(outs), wrt, *name))
        outs.append((code, aval))
    sig = None
    if outs:
        sig = composite("backward", "Backward0", planner.rows, [c for c, _ in outs], tuple(planner.operands), tuple(a for _, a in outs))
    return Plan(sig, executed, results)
