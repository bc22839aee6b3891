"""Reshaping."""

from torchish.nn.modules._held import Held


class Flatten(Held):
    """Join the dimensions from start_dim to end_dim."""

    _shows = "start_dim", "end_dim"

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__(start_dim=start_dim, end_dim=end_dim)

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Held):
    """Split one dimension into several."""

    _shows = "dim", "unflattened_size"

    def __init__(self, dim, unflattened_size):
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim parameter" if not isinstance(dim, str) else
                            "named dimensions do not exist here: give the dimension's number")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}")
        for i, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                raise TypeError("unflattened_size must be tuple of ints, "
                                f"but found element of type {type(n).__name__} at pos {i}")
        super().__init__(dim=dim, unflattened_size=unflattened_size)

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)
