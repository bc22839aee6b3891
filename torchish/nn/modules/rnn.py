"""Recurrent networks."""

import math
import warnings

import torchish as torch
import torchish.nn.functional as F
from torchish.nn import init
from torchish.nn._functional.recurrent import STEPS, check_cell, stack
from torchish.nn.modules.module import Module
from torchish.nn.parameter import Parameter
from torchish.nn.utils.rnn import PackedSequence

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """What RNN, LSTM and GRU have in common."""

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                          f"greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=3)
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = mode, input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, float(dropout), bidirectional, proj_size
        out_size = proj_size or hidden_size
        rows = GATES[mode] * hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else out_size * (2 if bidirectional else 1)
            for suffix in self._suffixes(layer):
                sizes = {"weight_ih": (rows, width), "weight_hh": (rows, out_size)}
                if bias:
                    sizes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                for name, size in sizes.items():
                    setattr(self, name + suffix, Parameter(torch.empty(size, device=device, dtype=dtype)))
                self._all_weights.append([name + suffix for name in sizes])
        self.reset_parameters()

    def _suffixes(self, layer):
        return [f"_l{layer}", f"_l{layer}_reverse"] if self.bidirectional else [f"_l{layer}"]

    @property
    def all_weights(self):
        """The parameters, layer by layer and direction by direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name, None) for name in self._flat_weights_names]

    # the lists that PyTorch keeps beside the parameters, and looks for in a loaded module
    def __getstate__(self):
        return {**self.__dict__, **{name: getattr(self, name) for name in ("_flat_weights_names", "_flat_weights")}}

    def __setstate__(self, state):
        super().__setstate__({name: value for name, value in state.items() if not name.startswith("_flat_weights")})

    def flatten_parameters(self):
        """Nothing to do: there is no fused kernel that wants one block of memory."""

    def reset_parameters(self):
        """Uniform numbers within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                            ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    # --- checks -------------------------------------------------------------------------------------------------------
    def check_input(self, input, batch_sizes):
        """Refuse an input of wrong dtype or size."""
        if input.dtype != self.weight_ih_l0.dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({self.weight_ih_l0.dtype}). Convert "
                             "input: input.to(weight.dtype), or convert model: model.to(input.dtype)")
        wanted = 2 if batch_sizes is not None else 3
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _state_size(self, part, batch):
        width = self.proj_size if part == 0 and self.proj_size else self.hidden_size
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Refuse a state of wrong size."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    # --- forward ------------------------------------------------------------------------------------------------------
    _parts = 1  # tensors of the state

    def _given_state(self, hx, batched, packed):
        """The given state as a tuple with a batch dimension."""
        state = hx if self._parts == 2 else (hx,)
        wanted = 3 if batched or packed else 2
        if any(s.dim() != wanted for s in state):
            kind = "batched 3-D" if batched else "unbatched 2-D"
            if self._parts == 2:
                raise RuntimeError(f"For {kind} input, hx and cx should also be {wanted}-D but got ({hx[0].dim()}-D, "
                                   f"{hx[1].dim()}-D) tensors")
            raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {hx.dim()}-D tensor")
        return state if wanted == 3 else tuple(s.unsqueeze(1) for s in state)

    def forward(self, input, hx=None):
        """(output of every step, last state)."""
        packed = isinstance(input, PackedSequence)
        if packed:
            data, batch_sizes, order, back = input
            sizes, batched = batch_sizes.tolist(), True
            batch = sizes[0]
        else:
            if input.dim() not in (2, 3):
                raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
            batched, batch_sizes, order, back = input.dim() == 3, None, None, None
            x = input if batched else input.unsqueeze(0 if self.batch_first else 1)
            x = x.transpose(0, 1) if self.batch_first else x
            if x.size(0) == 0:
                raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
            batch = x.size(1)
            data = x
        state = None if hx is None else self._given_state(hx, batched, packed)
        self.check_input(data, batch_sizes)
        if state is None:
            state = tuple(torch.zeros(self._state_size(k, batch), dtype=data.dtype, device=data.device) for k in range(self._parts))
        else:
            for k, s in enumerate(state):
                said = f"Expected hidden[{k}] size {{}}, got {{}}" if self._parts == 2 else "Expected hidden size {}, got {}"
                self.check_hidden_size(s, self._state_size(k, batch), said)
            if order is not None:
                state = tuple(s.index_select(1, order) for s in state)
        if not packed:
            sizes = [batch] * data.size(0)
            data = data.reshape(data.size(0) * batch, data.size(-1))
        data, state = stack(self.mode.lower(), data, sizes, state, self.all_weights, self.bias, self.bidirectional,
                            self.dropout if self.training else 0.0)
        if back is not None:
            state = tuple(s.index_select(1, back) for s in state)
        if packed:
            out = PackedSequence(data, batch_sizes, order, back)
        else:
            out = data.view(len(sizes), batch, data.size(-1))
            out = out.transpose(0, 1) if self.batch_first else out
            if not batched:
                out = out.squeeze(0 if self.batch_first else 1)
                state = tuple(s.squeeze(1) for s in state)
        return out, state if self._parts == 2 else state[0]


class RNN(RNNBase):
    """The Elman network: tanh (or relu) of the projections' sum."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        args = list(args)
        nonlinearity = args.pop(3) if len(args) > 3 else kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; the state is (hidden, cell)."""

    _parts = 2

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """The gated recurrent unit."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """One step of a recurrent network."""

    _mode, _parts = None, 1

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias

        def empty(*size):
            return Parameter(torch.empty(size, device=device, dtype=dtype))
        rows = num_chunks * hidden_size
        self.weight_ih, self.weight_hh = empty(rows, input_size), empty(rows, hidden_size)
        self.register_parameter("bias_ih", empty(rows) if bias else None)
        self.register_parameter("bias_hh", empty(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Uniform numbers within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text + (f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else "")

    def forward(self, input, hx=None):
        """The new state."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            zero = torch.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
            state = (zero,) * self._parts
        else:
            state = hx if self._parts == 2 else (hx,)
            for k, s in enumerate(state):
                if s.dim() not in (1, 2):
                    what = f"hx[{k}]" if self._parts == 2 else "hidden"
                    raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {s.dim()}D instead")
            state = state if batched else tuple(s.unsqueeze(0) for s in state)
        check_cell(self._mode.lower(), x, state, self.weight_ih, self.weight_hh)
        new = STEPS[self._mode.lower()](F.linear(x, self.weight_ih, self.bias_ih), F.linear(state[0], self.weight_hh, self.bias_hh), state)
        new = new if batched else tuple(s.squeeze(0) for s in new)
        return new if self._parts == 2 else new[0]


class RNNCell(RNNCellBase):
    """One step of RNN."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    @property
    def _mode(self):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return "RNN_" + self.nonlinearity.upper()


class LSTMCell(RNNCellBase):
    """One step of LSTM; the state is (hidden, cell)."""

    _mode, _parts = "LSTM", 2

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)


class GRUCell(RNNCellBase):
    """One step of GRU."""

    _mode = "GRU"

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)
