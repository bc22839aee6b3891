"""Methods of Tensor that PyTorch keeps: old spellings, kinds of tensors that torchish has not, protocol names."""

import warnings

from torchish.api import bind, overloads
from torchish.ops import dtypes
from torchish.tensor import Tensor


def _refused(path, advice):
    def refuse(*args, **kw):
        raise NotImplementedError(f"torch.{path}: {advice}")
    refuse.__name__ = refuse.__qualname__ = path.split(".")[-1]
    return refuse


_QUANTIZED = "torchish has no quantized tensors; compute with a floating-point dtype"
REFUSED = {name: _refused("Tensor." + name, advice) for name, advice in {
    "qscheme": _QUANTIZED, "int_repr": _QUANTIZED, "to_padded_tensor": "torchish has no nested tensors; pad with torch.nn.utils.rnn",
    "index": "torchish has no first-class dimensions; write tensor[positions]"}.items()}


TORCH = {name: _refused(name, _QUANTIZED) for name in (
    "int_repr", "quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic", "empty_quantized",
    "quantized_batch_norm", "quantized_max_pool1d", "quantized_max_pool2d", "quantized_max_pool3d", "quantized_gru", "quantized_lstm")}


def dequantize(self):
    """The float32 tensor that a tensor without quantization stands for: itself."""
    return self.to(dtypes.float32)


TORCH["dequantize"] = dequantize


def reinforce(self, reward):
    """Removed by PyTorch long ago."""
    raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead.\nSee https://pytorch.org/docs/main/distributions.html\n\n"
                       "Instead of:\n\nprobs = policy_network(state)\naction = probs.multinomial()\nnext_state, reward = env.step(action)\n"
                       "action.reinforce(reward)\naction.backward()\n\nUse:\n\nprobs = policy_network(state)\n"
                       "# NOTE: categorical is equivalent to what used to be called multinomial\nm = torch.distributions.Categorical(probs)\n"
                       "action = m.sample()\nnext_state, reward = env.step(action)\nloss = -m.log_prob(action) * reward\nloss.backward()\n")


def resize(self, *sizes):
    """Old spelling of reshape, which keeps the number of elements."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    n = 1
    for s in sizes:
        n *= s
    if n != self.numel():
        raise RuntimeError(f"requested resize to {'x'.join(map(str, sizes))} ({n} elements in total), but the given tensor has a size of "
                           f"{'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only change the shape of a "
                           "given tensor, while preserving the number of elements. ")
    return self.reshape(sizes)


def resize_as(self, tensor):
    """Old spelling of reshape_as."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return self.reshape(tensor.shape)


def module_load(self, other, assign=False):
    """What a module's load_state_dict puts in the place of this parameter."""
    return other.detach() if assign else self.copy_(other).detach()


def record_stream(self, stream):
    """Accepted: XLA keeps a tensor's memory while a program uses it."""


def __reversed__(self):
    return self if not self.ndim else bind.torch["flip"](self, (0,))


def __delitem__(self, index):
    raise TypeError("Tensor does not support deleting items")


def __setstate__(self, state):
    """States of PyTorch's old pickles."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self.set_(*state)
        return
    if len(state) == 5:
        self.data = state[0]
        state = state[3], state[4], state[2]
    self.requires_grad, _, self._backward_hooks = state


@classmethod
def __torch_function__(cls, func, types, args=(), kwargs=None):
    """Runs the function: nothing is intercepted."""
    return func(*args, **(kwargs or {}))


def volatile(self):
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def grad_dtype(self):
    """The dtype of `.grad`: the tensor's own."""
    return self.dtype


METHODS = REFUSED | {f.__name__: f for f in (
    dequantize, reinforce, resize, resize_as, module_load, record_stream, __reversed__, __delitem__, __setstate__)}
METHODS |= {"is_nonzero": overloads.is_nonzero, "is_same_size": overloads.is_same_size, "const_data_ptr": Tensor.data_ptr,
            "hardshrink": bind.functional["hardshrink"], "__torch_function__": __torch_function__, "__torch_dispatch__": __torch_function__,
            "name": property(lambda self: None), "volatile": property(volatile), "grad_dtype": property(grad_dtype)}
