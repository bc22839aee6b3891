"""L-BFGS, optionally with a line search for the strong Wolfe conditions."""

from collections import namedtuple

import numpy as np

import torchish as torch
from torchish.autograd.dispatch import apply
from torchish.ops import TABLE
from torchish.optim.optimizer import Optimizer, check_lr, plain_lr

# a point of the line search: step length, loss, gradient, and the gradient's component along the direction
Point = namedtuple("Point", "t f g slope")

# The search's arithmetic is done in the precision of the parameters, as PyTorch does it with 0-dim tensors; numpy's scalars
# round alike and do not run a program for every comparison.
_NUMBERS = {torch.float64: np.float64, torch.float16: np.float16}


def _scalar(value):
    """A 0-dim tensor as NumPy's scalar of its precision; a number stays."""
    return _NUMBERS.get(value.dtype, np.float32)(value.item()) if isinstance(value, torch.Tensor) else value


def _tensor(value, *like):
    """What `_scalar` made of a tensor as one again, of the dtype of the tensors among `like`; a number stays."""
    dtypes = [x.dtype for x in like if isinstance(x, torch.Tensor)]
    return torch.tensor(value.item(), dtype=dtypes[0]) if isinstance(value, np.generic) and dtypes else value


def _over(x, y):
    """x / y; like PyTorch a Python number is divided by multiplying with the reciprocal."""
    return 1 / y * x if isinstance(y, np.floating) else x / y


def _cubic_minimum(a, b, low=None, high=None):
    """Where the cubic through two points with their slopes is least, within bounds."""
    if low is None:
        low, high = (a.t, b.t) if a.t <= b.t else (b.t, a.t)
    d1 = a.slope + b.slope - _over(3 * (a.f - b.f), a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = np.sqrt(square)
    left, right = (a, b) if a.t <= b.t else (b, a)
    t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2))
    return min(max(t, low), high)


def _bracket(evaluate, start, t, c1, c2, most):
    """Points around a minimum; one point if it satisfies the conditions. Also the number of extra evaluations."""
    previous, new = start, evaluate(t)
    for count in range(most):
        if new.f > start.f + c1 * new.t * start.slope or (count > 1 and new.f >= previous.f):
            return [previous, new], count
        if abs(new.slope) <= -c2 * start.slope:
            return [new], count
        if new.slope >= 0:
            return [previous, new], count
        t = _cubic_minimum(previous, new, new.t + 0.01 * (new.t - previous.t), new.t * 10)
        previous, new = new, evaluate(t)
    return [start, new], most


def _inside(t, ends, stuck):
    """Move a trial step that is too close to an end of the bracket; also whether the next one has to move."""
    low, high = min(p.t for p in ends), max(p.t for p in ends)
    margin = 0.1 * (high - low)
    if not min(high - t, t - low) < margin:
        return t, False
    if stuck or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True


def strong_wolfe(evaluate, start, t, d_norm, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """A step that satisfies the strong Wolfe conditions: the point and the number of evaluations."""
    ends, count = _bracket(evaluate, start, t, c1, c2, max_ls)
    evaluations = count + 1
    done = len(ends) == 1
    low, high = (0, 1) if ends[0].f <= ends[-1].f else (1, 0)
    stuck = False
    while not done and count < max_ls:
        if abs(ends[1].t - ends[0].t) * d_norm < tolerance_change:
            break
        t, stuck = _inside(_cubic_minimum(*ends), ends, stuck)
        new = evaluate(t)
        evaluations += 1
        count += 1
        if new.f > start.f + c1 * t * start.slope or new.f >= ends[low].f:
            ends[high] = new
            low, high = (0, 1) if ends[0].f <= ends[1].f else (1, 0)
            continue
        if abs(new.slope) <= -c2 * start.slope:
            done = True
        elif new.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = new
    return ends[low], evaluations


# --- the search under the private names that other optimizers import from here ----------------------------------------
def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with their slopes g1 and g2 is least, within bounds."""
    a, b = (Point(_scalar(x), _scalar(f), None, _scalar(g)) for x, f, g in ((x1, f1, g1), (x2, f2, g2)))
    with np.errstate(all="ignore"):
        return _tensor(_cubic_minimum(a, b, *map(_scalar, bounds or ())), x1, f1, g1, x2, f2, g2)


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Loss, gradient, length and number of evaluations of a step along d; `obj_func(x, t, d)` gives loss and gradient."""
    def evaluate(t):
        loss, grad = obj_func(x, _tensor(t, d), d)
        return Point(t, _scalar(loss), grad, _scalar(grad.dot(d)))

    start = Point(0, _scalar(f), g, _scalar(gtd))
    with np.errstate(all="ignore"):
        found, evaluations = strong_wolfe(evaluate, start, _scalar(t), _scalar(d.abs().max()), c1, c2, tolerance_change, max_ls)
    return _tensor(found.f, d), found.g, _tensor(found.t, d), evaluations


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of the gradient; all parameters are one group."""

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):
        check_lr(lr)
        super().__init__(params, {"lr": lr, "max_iter": max_iter,
                                  "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._numel_cache, self._zeros = None, ()

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    # --- parameters as one vector -------------------------------------------------------------------------------------
    def _numel(self):
        if self._numel_cache is None:
            self._numel_cache = sum(2 * p.numel() if p.is_complex() else p.numel() for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self):
        flat = []
        for p in self._params:
            g = torch.zeros(p.numel(), dtype=p.dtype, device=p.device) if p.grad is None else p.grad.reshape(-1)
            flat.append(torch.view_as_real(g).reshape(-1) if g.is_complex() else g)
        return torch.cat(flat, 0)

    def _add_grad(self, step_size, update):
        at = 0
        for p in self._params:
            p = torch.view_as_real(p) if p.is_complex() else p
            n = p.numel()
            p.add_(update[at:at + n].view_as(p), alpha=step_size)
            at += n

    # --- step ---------------------------------------------------------------------------------------------------------
    @torch.no_grad()
    def step(self, closure):
        """Up to `max_iter` iterations; `closure` clears the gradients, computes the loss and returns it."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        with np.errstate(all="ignore"):
            return self._iterate(torch.enable_grad()(closure))

    def _iterate(self, closure):
        group = self.param_groups[0]
        lr, search = plain_lr(group), group["line_search_fn"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        # the state of all belongs to the first parameter, so that load_state_dict finds its dtype
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        grad = self._gather_flat_grad()
        number = _NUMBERS.get(grad.dtype, np.float32)
        worst = grad.abs().max()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        if worst.item() <= tolerance_grad:
            return first_loss
        d, t, prev_loss = state.get("d"), state.get("t"), state.get("prev_loss")
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(state, group, d, t, grad)
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = grad.clone()
            else:
                state["prev_flat_grad"].copy_(grad)
            prev_loss = loss
            slope, size, longest = grad.dot(d), grad.abs().sum(), d.abs().max()
            slope = number(slope.item())
            t = min(1.0, 1.0 / number(size.item())) * lr if state["n_iter"] == 1 else lr
            if slope > -tolerance_change:
                break
            more = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                found, more = strong_wolfe(self._evaluator(closure, d, number), Point(0, loss, grad, slope), t,
                                           number(longest.item()), max_ls=group["max_eval"] - evaluations)
                loss, grad, t = found.f, found.g, found.t
                worst = grad.abs().max()
                self._add_grad(float(t), d)
            else:
                self._add_grad(float(t), d)
                if n != group["max_iter"]:  # the last point is not evaluated: the next step() will
                    new_loss = closure()
                    grad = self._gather_flat_grad()
                    worst = grad.abs().max()
                    loss = float(new_loss)
                    more = 1
            moved = d.mul(float(t)).abs().max()
            evaluations += more
            state["func_evals"] += more
            if n == group["max_iter"] or evaluations >= group["max_eval"] or worst.item() <= tolerance_grad:
                break
            if moved.item() <= tolerance_change or abs(loss - prev_loss) < tolerance_change:
                break
        if isinstance(t, np.generic) or isinstance(group["lr"], torch.Tensor):
            t = torch.tensor(float(t), dtype=grad.dtype)
        state["d"], state["t"], state["prev_loss"] = d, t, prev_loss
        return first_loss

    def _direction(self, state, group, d, t, grad):
        """The next direction, after taking the last step into the history."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1
            return grad.neg()
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = grad.sub(state["prev_flat_grad"]), d.mul(t)
        ys, yy = y.dot(s), y.dot(y)
        new = 1.0 / ys      # before the number is looked at, so that it is part of the same program
        if ys.item() > 1e-10:
            if len(dirs) == group["history_size"]:
                for old in (dirs, steps, ro):
                    old.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(new)
            state["H_diag"] = ys / yy
        # scratch numbers of PyTorch's recursion; here they stay inside one operation
        state.setdefault("al", [None] * group["history_size"])
        if not dirs:
            return grad.neg().mul(state["H_diag"])
        room = min(group["history_size"], max(8, 1 << (len(dirs) - 1).bit_length()))
        if len(self._zeros) != 3 * room:
            self._zeros = [torch.zeros_like(like) for like in (grad, grad, ro[0]) for _ in range(room)]
        # behind them changes of zero, each a tensor of its own: one program then serves many lengths of the history
        history = [t for k, known in enumerate((dirs, steps, ro)) for t in (*known, *self._zeros[k * room + len(known):(k + 1) * room])]
        return apply(TABLE["lbfgs_direction"], (grad, state["H_diag"], *history), (room,))

    def _evaluator(self, closure, d, number):
        """The loss and gradient at a step along d from here; the parameters stay where they are."""
        here = [p.clone() for p in self._params]

        def evaluate(t):
            self._add_grad(float(t), d)
            loss = closure()
            g = self._gather_flat_grad()
            slope = g.dot(d)
            for p, x in zip(self._params, here):
                p.copy_(x)
            return Point(t, float(loss), g, number(slope.item()))
        return evaluate
