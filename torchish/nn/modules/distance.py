"""Distances."""

import torchish.nn.functional as F
from torchish.nn.modules._held import Held


class PairwiseDistance(Held):
    """The p-norm of x1 - x2."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__(norm=p, eps=eps, keepdim=keepdim)

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Held):
    """The cosine of the angle between x1 and x2."""

    def __init__(self, dim=1, eps=1e-8):
        super().__init__(dim=dim, eps=eps)

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
