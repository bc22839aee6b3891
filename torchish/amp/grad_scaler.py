"""GradScaler: scale the loss so that small gradients survive half precision."""

import enum
import warnings
from collections.abc import Iterable

import torchish as torch
from torchish.ops import dtypes
from torchish.tensor import Tensor, devices

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """How far an optimizer has come since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Progress:
    """An optimizer's stage, and whether its gradients held inf or nan (None: not looked at)."""

    def __init__(self):
        self.stage, self.found_inf = OptState.READY, None


class GradScaler:
    """Multiply losses by a scale, undo it before the step, and skip steps whose gradients are not finite."""

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device, self._enabled = device, enabled
        if device == "cuda" and enabled and not devices.count("cuda"):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._scale = init_scale, None  # the first scale() makes one of the other
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._progress = {}

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    def get_scale(self):
        """The scale; 1 when disabled."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale) if self._scale is None else self._scale

    def _require_scale(self, doing):
        if self._scale is None:
            raise AssertionError(f"Attempted {doing} but _scale is None.  This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")

    def scale(self, outputs):
        """A tensor, or each of an iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = float(self._init_scale)
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _of(self, optimizer):
        return self._progress.setdefault(id(optimizer), _Progress())

    def unscale_(self, optimizer):
        """Divide the optimizer's gradients by the scale, once between updates."""
        if not self._enabled:
            return
        self._require_scale("unscale_")
        progress = self._of(optimizer)
        if progress.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype is dtypes.float16 for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        with torch.no_grad():
            for grad in grads:
                grad.mul_(1.0 / self._scale)
            if grads:
                # one look for all of them
                progress.found_inf = not torch.stack([g.isfinite().all() for g in grads]).all().item()
        progress.stage = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient is inf or nan."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_scale("step")
        progress = self._of(optimizer)
        if progress.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        out = None if progress.found_inf else optimizer.step(*args, **kwargs)
        progress.stage = OptState.STEPPED
        return out

    def update(self, new_scale=None):
        """Shrink the scale after a bad step, let it grow after enough good ones, or set it."""
        if not self._enabled:
            return
        self._require_scale("update")
        if new_scale is not None:
            self._scale = self._checked(new_scale)
        else:
            found = [p.found_inf for p in self._progress.values() if p.found_inf is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(any(found))
        self._progress = {}

    def _adapt(self, bad):
        if bad:
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._scale, self._growth_tracker = self._scale * self._growth_factor, 0

    @staticmethod
    def _checked(new_scale):
        if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
            raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                                 "requires_grad=False.")
        return float(new_scale)

    def get_growth_factor(self):
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale is multiplied by after a bad step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set what the scale is multiplied by after a bad step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        return self._growth_tracker if self._enabled else 0

    def state_dict(self):
        """The scale and the settings; empty when disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict):
        """Take over what state_dict() returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale = float(state_dict["scale"])
        self._growth_tracker = state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self):
        if self._enabled and self._progress:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                                 "scaler.update().")
        return self.__dict__
