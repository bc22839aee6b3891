"""flex_attention: attention whose scores are edited by a function of the positions, and its masks."""

import math

import torchish as torch

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


def noop_mask(batch, head, token_q, token_kv):
    """Every query may look at every key."""
    return torch.ones_like(torch.as_tensor(token_q), dtype=torch.bool)


def _joined(mask_mods, join):
    if not all(callable(f) for f in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mod(b, h, q_idx, kv_idx):
        result = mask_mods[0](b, h, q_idx, kv_idx)
        for f in mask_mods[1:]:
            result = join(result, f(b, h, q_idx, kv_idx))
        return result
    return mod


def and_masks(*mask_mods):
    """The mask function that allows what all of them allow."""
    return _joined(mask_mods, torch.logical_and)


def or_masks(*mask_mods):
    """The mask function that allows what any of them allows."""
    return _joined(mask_mods, torch.logical_or)


def _positions(B, H, Q_LEN, KV_LEN):
    """The four indices of every score, each along its own dimension."""
    sizes = B, H, Q_LEN, KV_LEN
    return [torch.arange(n).reshape([-1 if d == k else 1 for d in range(4)]) for k, n in enumerate(sizes)]


def _on_scores(mod, *leading, sizes):
    """A function of single scores and positions, at all of them at once."""
    full = [x.expand(sizes).reshape(-1) for x in (*leading, *_positions(*sizes))]
    return torch.func.vmap(mod)(*full).reshape(sizes)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask (B, H, Q_LEN, KV_LEN) that a mask function describes."""
    sizes = B or 1, H or 1, Q_LEN, KV_LEN
    return _on_scores(mod_fn, sizes=sizes)


class BlockMask:
    """A mask with the function that it was made from; no block is skipped here, XLA computes them all."""

    def __init__(self, mask_mod, mask, seq_lengths, BLOCK_SIZE):
        self.mask_mod, self.mask, self.seq_lengths, self.BLOCK_SIZE = mask_mod, mask, seq_lengths, BLOCK_SIZE

    @property
    def shape(self):
        """(batch, heads, queries, keys)."""
        return (*self.mask.shape[:2], *self.seq_lengths)

    def to_dense(self):
        """Which blocks hold an allowed pair: (batch, heads, query blocks, key blocks) of 0 and 1."""
        (q, kv), (bq, bkv) = self.seq_lengths, self.BLOCK_SIZE
        nq, nkv = math.ceil(q / bq), math.ceil(kv / bkv)
        padded = torch.nn.functional.pad(self.mask.int(), (0, nkv * bkv - kv, 0, nq * bq - q))
        return padded.reshape(*self.mask.shape[:2], nq, bq, nkv, bkv).amax((3, 5))

    def sparsity(self):
        """The percentage of pairs outside the blocks that hold an allowed pair; below zero where blocks stick out."""
        covered = self.to_dense().sum().item() * math.prod(self.BLOCK_SIZE)
        return 100.0 * (1.0 - covered / math.prod(self.shape))


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False):
    """A BlockMask of a mask function."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(mask_mod, create_mask(mask_mod, B, H, Q_LEN, KV_LEN), (Q_LEN, KV_LEN), size)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    """softmax(score_mod(query @ key^T * scale)) @ value on (batch, heads, length, width); a row that sees nothing gives zeros."""
    if not query.dim() == key.dim() == value.dim() == 4:
        raise ValueError(f"Expected query, key, and value to be 4D tensors, but got query.dim(): {query.dim()}, key.dim(): "
                         f"{key.dim()} and value.dim(): {value.dim()}.")
    if return_aux is not None:
        raise NotImplementedError("flex_attention: return_aux is not implemented; use return_lse=True")
    heads = query.size(-3)
    if heads != key.size(-3):
        if not enable_gqa:
            raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
                             f"Hkv={key.size(-3)}. Try setting enable_gqa=True for GQA.")
        key, value = (x.repeat_interleave(heads // key.size(-3), -3) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = _on_scores(score_mod, scores, sizes=tuple(scores.shape))
    if block_mask is not None:
        q, kv = scores.shape[-2:]
        scores = scores.masked_fill(~block_mask.mask[..., :q, :kv], -math.inf)
    lse = scores.logsumexp(-1)
    empty = lse == -math.inf
    weights = (scores - lse.masked_fill(empty, 0.0).unsqueeze(-1)).exp()
    out = (weights @ value).to(query.dtype)
    return (out, lse) if return_lse else out
