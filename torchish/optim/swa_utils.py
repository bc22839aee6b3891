"""Averages of a model's parameters over training, and the schedule that goes with them."""

import copy
import itertools
import math

import torchish as torch
from torchish.nn import Module
from torchish.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from torchish.optim.lr_scheduler import LRScheduler

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay=0.999):
    """An exponential moving average, over lists of parameters."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for ema, current in zip(ema_param_list, current_param_list):
            if ema.is_floating_point() or ema.is_complex():
                ema.lerp_(current, 1 - decay)
            else:
                ema.copy_(ema * decay + current * (1 - decay))
    return ema_update


def get_swa_multi_avg_fn():
    """The mean of all updates, over lists of parameters."""
    @torch.no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        for averaged, current in zip(averaged_param_list, current_param_list):
            if averaged.is_floating_point() or averaged.is_complex():
                averaged.lerp_(current, 1 / (num_averaged + 1))
            else:
                averaged.add_((current - averaged) / (num_averaged + 1))
    return swa_update


def get_ema_avg_fn(decay=0.999):
    """An exponential moving average of one parameter."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """The mean of all updates of one parameter."""
    @torch.no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's parameters at each `update_parameters`."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        return itertools.chain(module.parameters(), module.buffers()) if self.use_buffers else module.parameters()

    def update_parameters(self, model):
        """Take the model's current parameters into the average."""
        pairs = [(mine.detach(), theirs.detach().to(mine.device))
                 for mine, theirs in zip(self._averaged(self.module), self._averaged(model))]
        if self.n_averaged == 0:
            for mine, theirs in pairs:
                mine.copy_(theirs)
        elif self.multi_avg_fn is not None and pairs:
            self.multi_avg_fn(*map(list, zip(*pairs)), self.n_averaged.to(pairs[0][0].device))
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mine, theirs in pairs:
                mine.copy_(average(mine, theirs, self.n_averaged.to(mine.device)))
        if not self.use_buffers:
            # buffers are not averaged but follow the model
            for mine, theirs in zip(self.module.buffers(), model.buffers()):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader, model, device=None):
    """Recompute the running statistics of all batch norms by one pass over the data."""
    norms = [m for m in model.modules() if isinstance(m, (BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm))]
    if not norms:
        return
    was_training, momenta = model.training, [m.momentum for m in norms]
    model.train()
    for m in norms:
        m.reset_running_stats()
        m.momentum = None  # a cumulative mean
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal the learning rate to a constant within `anneal_epochs`."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ValueError("swa_lr must have the same length as optimizer.param_groups: swa_lr has "
                             f"{len(rates)}, optimizer.param_groups has {len(groups)}")
        for rate, group in zip(rates, groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch):
        """How much of the way to swa_lr is done."""
        x = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * x)) / 2 if self._anneal_strategy == "cos" else x

    def get_lr(self):
        """The rates of this epoch, from those of the last one."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
