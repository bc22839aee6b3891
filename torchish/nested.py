"""torch.nested: torchish has no nested tensors, and says what to use instead."""


def _refused(name):
    def function(*args, **kw):
        raise NotImplementedError(f"torch.nested.{name}: torchish has no nested tensors; use torch.nn.utils.rnn.pad_sequence and a mask")
    function.__name__ = function.__qualname__ = name
    return function


_ABSENT = "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor".split()
globals().update({name: _refused(name) for name in _ABSENT})
