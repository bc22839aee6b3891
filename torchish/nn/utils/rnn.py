"""Sequences of different lengths."""

import itertools
from collections import namedtuple

import torchish as torch


def _caster(name):
    def cast(self):
        return self.to(dtype=getattr(torch, name))
    cast.__name__ = name
    cast.__doc__ = f"Cast the data, as Tensor.{name} does."
    return cast


PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"],
                             defaults=(None, None, None))


class PackedSequence(PackedSequence_):
    """The steps of several sequences, step by step, without padding; made by `pack_padded_sequence`."""

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                             "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                             "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """Move or cast the data."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def cpu(self):
        """Move to the CPU."""
        return self.to("cpu")

    def cuda(self, *args, **kwargs):
        """Move to a GPU."""
        return type(self)(self.data.cuda(*args, **kwargs), self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    double, float, half, long, int, short, char = map(_caster, ("double", "float", "half", "long", "int", "short", "int8"))

    def byte(self):
        """Cast the data to uint8."""
        return self.to(dtype=torch.uint8)

    def pin_memory(self):
        """Nothing to pin here."""
        return self

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """No."""
        return False


def invert_permutation(permutation):
    """The permutation that undoes another one."""
    if permutation is None:
        return None
    return torch.empty_like(permutation).scatter_(0, permutation, torch.arange(permutation.numel()))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Leave out the padding of (length, batch, …), or batch first."""
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but got "
                           f"{lengths.dim()}D {lengths.device.type} {lengths.dtype.legacy} tensor")
    sizes = lengths.tolist()
    x = input.transpose(0, 1) if batch_first else input
    if not sizes or min(sizes) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if len(sizes) != x.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={x.size(1)})")
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
                           "do not need ONNX exportability.")
    if sizes[0] > x.size(0):
        raise RuntimeError(f"Expected sequence length to be larger than {sizes[0]}, but got {x.size(0)}")
    counts = [sum(n > t for n in sizes) for t in range(sizes[0])]
    rows = torch.tensor([t * len(sizes) + b for t, n in enumerate(counts) for b in range(n)])
    data = x.reshape(-1, *x.shape[2:]).index_select(0, rows)
    return PackedSequence(data, torch.tensor(counts), sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Put the padding back: (padded sequences, lengths)."""
    counts = sequence.batch_sizes.tolist()
    steps = len(counts)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {steps}")
        steps = total_length
    data = sequence.data
    starts = [*itertools.accumulate(counts, initial=0)]
    # the row of each step and sequence; what is padding takes the row after the last
    rows = [starts[t] + b if t < len(counts) and b < counts[t] else starts[-1] for t in range(steps) for b in range(counts[0])]
    data = torch.cat([data, torch.full((1, *data.shape[1:]), padding_value, dtype=data.dtype)])
    padded = data.index_select(0, torch.tensor(rows)).view(steps, counts[0], *data.shape[1:])
    lengths = torch.tensor([sum(n > b for n in counts) for b in range(counts[0])])
    padded = padded.transpose(0, 1) if batch_first else padded
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences of different lengths, padded to the longest."""
    if isinstance(sequences, torch.Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    for s in sequences:
        for d, (a, b) in enumerate(zip(sequences[0].shape[1:], s.shape[1:]), 1):
            if a != b:
                raise RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {d}")
    longest = max(s.size(0) for s in sequences)
    padded = []
    for s in sequences:
        fill = torch.full((longest - s.size(0), *s.shape[1:]), padding_value, dtype=s.dtype)
        padded.append(torch.cat([s, fill] if padding_side == "right" else [fill, s]) if fill.size(0) else s)
    return torch.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences without their padding."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(x, torch.as_tensor(lengths).tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack sequences of different lengths."""
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences in a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def bind(optional, fn):
    """`fn` of a value that may be None."""
    return None if optional is None else fn(optional)
