"""SparseAdam."""

from torchish.optim.optimizer import Optimizer, check_betas, check_lr


class SparseAdam(Optimizer):
    """Adam for sparse gradients. Tensors are dense here, so that its step can only refuse them, as PyTorch's does."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr, strictly=True)
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        at = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"]) if p.is_complex()]
        if at:
            raise ValueError(f"Complex params at indices {at}: SparseAdam does not support complex parameters")

    def step(self, closure=None):
        """One update of the parameters; `closure` computes the loss anew."""
        loss = closure() if closure is not None else None
        if any(p.grad is not None for group in self.param_groups for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
