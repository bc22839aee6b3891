"""torch._vmap_internals: vmap under its first name."""

from torchish.func.vmap import mapped_over


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """`torch.func.vmap` before torch.func: a Function's forward runs on what is mapped. With `allow_none_pass_through` a result may be
    None."""
    if not allow_none_pass_through:
        return mapped_over(func, in_dims, out_dims, "legacy")

    def mapped(*args):
        missing = []

        def present(*xs):
            out = func(*xs)
            missing[:] = [isinstance(out, tuple), *[x is None for x in (out if isinstance(out, tuple) else (out,))]]
            return tuple(x for x in (out if isinstance(out, tuple) else (out,)) if x is not None)

        found = iter(mapped_over(present, in_dims, out_dims, "legacy")(*args))
        results = tuple(None if gone else next(found) for gone in missing[1:])
        return results if missing[0] else results[0]
    return mapped
