"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, whose rare ones are in clusters with smaller projections."""

from collections import namedtuple

import torchish as torch
import torchish.nn.functional as F
from torchish.nn.modules.container import ModuleList, Sequential
from torchish.nn.modules.linear import Linear
from torchish.nn.modules.module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The classes below cutoffs[0] and one entry for each cluster are in the head; each cluster has a tail of its own."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
                or any(int(c) != c for c in cutoffs)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
                             "is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **where), Linear(width, size, bias=False, **where)))

    def reset_parameters(self):
        """Draw all projections anew."""
        for layer in (self.head, *(layer for pair in self.tail for layer in pair)):
            layer.reset_parameters()

    def forward(self, input_, target_):
        """(the log probability of each target, their mean loss)."""
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}")
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        self._check_range(target)
        output = self._log_probabilities_of(input, target)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check_range(self, target):
        low, high = target.min().item(), target.max().item()
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. ")

    def _log_probabilities_of(self, input, target):
        """Every cluster is computed for all rows: the shapes do not depend on the targets, so one program serves all batches."""
        head = F.log_softmax(self.head(input), dim=1)
        place = target.clamp(max=self.shortlist_size - 1)
        for i, low in enumerate(self.cutoffs[:-1]):
            place = torch.where((target >= low) & (target < self.cutoffs[i + 1]), self.shortlist_size + i, place)
        output = head.gather(1, place.unsqueeze(1)).squeeze(1)
        for i, low in enumerate(self.cutoffs[:-1]):
            high = self.cutoffs[i + 1]
            inside = (target >= low) & (target < high)
            within = F.log_softmax(self.tail[i](input), dim=1).gather(1, (target - low).clamp(0, high - low - 1).unsqueeze(1)).squeeze(1)
            output = output + torch.where(inside, within, 0.0)
        return output

    def _get_full_log_prob(self, input, head_output):
        """The log probabilities of all classes."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, 1)

    def log_prob(self, input):
        """The log probabilities of all classes: (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """The most probable class of each row."""
        return self.log_prob(input).argmax(1)
