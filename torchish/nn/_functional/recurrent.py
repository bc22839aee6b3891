"""Recurrent networks as functions: one step, one layer, a stack of layers."""

import torchish as torch
from torchish.api.bind import functional as _rows
from torchish.autograd.dispatch import apply
from torchish.nn._functional.activation import dropout as _dropout
from torchish.ops import TABLE

# --- one step: projections of the input and of the hidden state in, new state (a tuple) out ------------------------------

def _rnn_tanh(x, h, state):
    return (torch.tanh(x + h),)


def _rnn_relu(x, h, state):
    return (torch.relu(x + h),)


def _gru(x, h, state):
    (rx, zx, nx), (rh, zh, nh) = x.chunk(3, 1), h.chunk(3, 1)
    reset, keep = torch.sigmoid(rh + rx), torch.sigmoid(zh + zx)
    new = torch.tanh(nx + reset * nh)
    return ((state[0] - new) * keep + new,)


def _lstm(x, h, state):
    i, f, g, o = (x + h).chunk(4, 1)
    cell = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


STEPS = {"rnn_tanh": _rnn_tanh, "rnn_relu": _rnn_relu, "gru": _gru, "lstm": _lstm}


def _layer(mode, parameters, has_biases, data, sizes, state, reverse):
    """One layer in one direction, over steps whose batches may shrink. `parameters`: two weights, two biases if any, and the weight
    of LSTM's projection if any."""
    w_ih, w_hh, *rest = parameters
    b_ih, b_hh = rest[:2] if has_biases else (None, None)
    w_hr = next(iter(rest[2 * has_biases:]), None)
    h, c = state if len(state) == 2 else (state[0], None)
    out, *last = apply(TABLE["recurrent"], (_rows["linear"](data, w_ih, b_ih), h, c, w_hh, b_hh, w_hr), (mode, tuple(sizes), reverse))
    return out, tuple(last)


def stack(mode, data, sizes, state, parameters, has_biases, bidirectional, dropout=0.0):
    """Layers on top of each other. `data` holds the steps one after another, `sizes` their batches, `parameters` a list for each
    layer and direction; returns the steps' outputs and the last state."""
    last = []
    directions = 2 if bidirectional else 1
    for first in range(0, len(parameters), directions):
        outs = []
        for k in range(first, first + directions):
            out, end = _layer(mode, parameters[k], has_biases, data, sizes, tuple(s[k] for s in state), k > first)
            outs.append(out)
            last.append(end)
        data = torch.cat(outs, -1) if bidirectional else outs[0]
        if dropout and first + directions < len(parameters):
            data = _dropout(data, dropout, True)
    return data, tuple(torch.stack(parts) for parts in zip(*last))


# --- torch's own names ---------------------------------------------------------------------------------------------------

def _by_layer(params, has_biases, state):
    """The flat list of parameters, cut into one for each layer and direction."""
    projects = len(state) == 2 and state[0].size(2) != state[1].size(2)
    n = 2 + 2 * has_biases + projects
    if len(params) != n * state[0].size(0):
        raise RuntimeError("got an incorrect number of RNN parameters")
    return [params[i:i + n] for i in range(0, len(params), n)]


def _network(mode):
    parts = 2 if mode == "lstm" else 1

    def network(*args, **kwargs):
        packed = "batch_sizes" in kwargs or len(args) > 3 and isinstance(args[3], (list, tuple))
        return (on_packed if packed else on_padded)(*args, **kwargs)

    def run(data, sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        state = tuple(hx) if parts == 2 else (hx,)
        if len(state) != parts:
            raise RuntimeError("lstm expects two hidden states")
        data, state = stack(mode, data, sizes, state, _by_layer(params, has_biases, state), has_biases, bidirectional,
                            dropout if train else 0.0)
        return data, *state

    def on_padded(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        x = input.transpose(0, 1) if batch_first else input
        steps, batch = x.shape[:2]
        data, *state = run(x.reshape(steps * batch, -1), [batch] * steps, hx, params, has_biases, num_layers, dropout, train,
                           bidirectional)
        out = data.view(steps, batch, -1)
        return out.transpose(0, 1) if batch_first else out, *state

    def on_packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        return run(data, batch_sizes.tolist(), hx, params, has_biases, num_layers, dropout, train, bidirectional)
    network.__name__ = network.__qualname__ = mode
    network.__doc__ = f"""{mode}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or
    {mode}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) on packed sequences."""
    return network


GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}


def check_cell(mode, input, state, w_ih, w_hh):
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")
    width = w_hh.size(1)
    for name, w in ("weight_ih", w_ih), ("weight_hh", w_hh):
        if w.size(0) != GATES[mode] * width:
            raise RuntimeError(f"{name} first dim must be {GATES[mode]} * hidden_size = {GATES[mode] * width}, but got {w.size(0)}")
    for k, s in enumerate(state):
        if s.size(0) != input.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{k} batch size {s.size(0)}")
        if s.size(1) != width:
            raise RuntimeError(f"hidden{k} has inconsistent hidden_size: got {s.size(1)}, expected {width}")


def _cell(mode):
    parts = 2 if mode == "lstm" else 1

    def cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        state = tuple(hx) if mode == "lstm" else (hx,)
        if len(state) != parts:
            raise RuntimeError("lstm_cell expects two hidden states")
        check_cell(mode, input, state, w_ih, w_hh)
        new = STEPS[mode](_rows["linear"](input, w_ih, b_ih), _rows["linear"](state[0], w_hh, b_hh), state)
        return new if mode == "lstm" else new[0]
    cell.__name__ = cell.__qualname__ = mode + "_cell"
    cell.__doc__ = f"One step of `{mode}`."
    return cell


TORCH = {mode: _network(mode) for mode in STEPS} | {mode + "_cell": _cell(mode) for mode in STEPS}
