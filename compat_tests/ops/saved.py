"""What the nodes of either library save: which writes a backward refuses, and what `grad_fn._saved_*` shows."""

import itertools

import numpy as np
import torch

import torchish

NORMALISED = "torchish normalises dimensions, bounds and defaults before it records"
RECOMPUTED = "torchish computes it again in the backward"
ONE_NODE = "one node stands for the several of PyTorch's"

# (node, attribute) -> why it is not compared
DIFFERENT = {(node, name): NORMALISED for node, names in {
    "Slice": "dim end", "Select": "dim index", "Transpose": "dim0 dim1", "Permute": "dims", "Unsqueeze": "dim", "Diagonal": "dim1 dim2",
    "Split": "dim split_size", "SplitWithSizes": "dim split_sizes", "Squeeze": "dim", "Var": "correction", "Std": "correction",
    "VarMean": "correction", "StdMean": "correction", "LinalgCross": "dim", "SegmentReduce": "axis lengths offsets",
    "AsStrided": "storage_offset", "Convolution": "padding", "LinalgVectorNorm": "dim ord", "Normal": "mean_sym_sizes std_sym_sizes",
    "NllLoss2D": "self target", "IndexPut": "indices", "Index": "indices", "MaskedSelect": "self mask", "PreluKernel": "weight",
    "Mm": "self_sym_strides mat2_sym_strides", "IndexAdd": "source_dim", "IndexCopy": "source_dim", "UpsampleBilinear2DAa": "scales_h scales_w",
    "FftR2C": "dim self",
}.items() for name in names.split()}
DIFFERENT |= {(node, name): RECOMPUTED for node, names in {
    "NllLoss": "total_weight", "NllLoss2D": "total_weight", "NativeBatchNorm": "result1 result2", "NativeLayerNorm": "result1 result2",
    "NativeGroupNorm": "result1 result2 C HxW N group", "AdaptiveMaxPool2D": "result1", "AdaptiveMaxPool3D": "result1",
    "MaxPool2DWithIndices": "result1", "MaxPool3DWithIndices": "result1", "LogSigmoid": "buffer", "LinalgDet": "LU pivots",
    "LinalgSlogdet": "LU pivots", "LinalgSolveEx": "LU pivots", "LinalgLu": "P", "LinalgEig": "eigenvectors", "LinalgEigh": "eigenvectors",
    "LinalgSvd": "U S Vh S_sym_argsize_minus_1 full_matrices", "LuUnpack": "LU_data_sym_argsize_minus_1 LU_data_sym_argsize_minus_2",
}.items() for name in names.split()}

# operators whose last node is PyTorch's by name only
COMPOSED = set("""
    __rmatmul__ cartesian_prod column_stack combinations corrcoef cov diag diagflat dstack fft.fftshift fft.ifftshift fliplr flipud hstack inner
    kron linalg.multi_dot logdet masked.var matmul max_pool2d_with_indices_backward msort nanmean nanquantile native_batch_norm
    native_group_norm native_layer_norm nn.functional.adaptive_avg_pool1d nn.functional.adaptive_max_pool1d nn.functional.alpha_dropout
    nn.functional.avg_pool1d nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.cosine_similarity
    linalg.cond linalg.vander special.ndtr unsafe_chunk unsafe_split nn.functional.conv_transpose1d nn.functional.conv_transpose2d
    nn.functional.conv_transpose3d nn.functional.instance_norm nn.functional.rms_norm nn.functional.dropout3d nn.functional.feature_alpha_dropout|with_train nn.functional.gaussian_nll_loss nn.functional.kl_div
    nn.functional.linear nn.functional.max_pool1d nn.functional.scaled_dot_product_attention nn.functional.softsign outer pca_lowrank quantile
    repeat_interleave svd_lowrank take_along_dim tensordot tile trapezoid trapz vstack
""".split())

# operator -> why a write that one library refuses passes in the other
WRITES = dict.fromkeys("""_batch_norm_with_update _native_batch_norm_legit native_batch_norm native_group_norm native_layer_norm
    _softmax_backward_data _unsafe_masked_index _unsafe_masked_index_put_accumulate native_dropout_backward
    torch.ops.aten._safe_softmax.default""".split(), "a private function, made of others") | dict.fromkeys("""
    combinations nanquantile quantile nn.functional.cosine_similarity nn.functional.ctc_loss nn.functional.embedding_bag
    nn.functional.instance_norm nn.functional.interpolate|area nn.functional.linear_cross_entropy|chunked
    nn.functional.linear_cross_entropy|chunked_none nn.functional.multi_head_attention_forward nn.functional.multilabel_margin_loss
    nn.functional.rms_norm cov tensordot masked.std masked.var nn.functional.rrelu nn.functional.scaled_dot_product_attention norm|nuc diagonal_copy linalg.lu
    _segment_reduce|lengths _segment_reduce|offsets""".split(), ONE_NODE) | {
    "unfold": "PyTorch lets windows that overlap be written", "nextafter": "PyTorch has no derivative"}


def _gradients(lib, f, args, written):
    """"fine", "refused" or None (nothing to write): a backward after a write to tensor number `written` of a call."""
    lib.manual_seed(0)
    out = f(args[0], *args[1], **args[2])
    given = [t for x in (args[0], list(args[1]), args[2], out) for t in tensors(x, lib.Tensor)]
    if written >= len(given):
        return None
    place = given[written].detach()
    place.copy_(place.clone())
    outs = [t for t in tensors(out, lib.Tensor) if t.requires_grad]
    try:
        lib.autograd.grad(outs, [t for t in given if t.requires_grad and t.is_leaf], [lib.ones_like(t) for t in outs], allow_unused=True)
    except RuntimeError as e:
        if "modified by an inplace operation" not in str(e):
            raise
        return "refused"
    return "fine"


def tensors(tree, kind):
    if isinstance(tree, kind):
        return [tree]
    values = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [t for x in values for t in tensors(x, kind)]


def writes(theirs, mine, skip):
    """The same writes are refused. `theirs()`, `mine()`: (function, fresh arguments) of either library."""
    for written in itertools.count():
        try:
            want = _gradients(torch, *theirs(), written)
        except Exception as e:      # PyTorch refuses the write itself, or the backward
            if written > 8:
                return
            if not written:
                raise skip from e
            continue
        if want is None or written > 8:
            return
        got = _gradients(torchish, *mine(), written)
        assert got == want, f"a write to tensor {written}: {got}, not {want}"


def facts(name, outs, mine, random):
    """The attributes `_saved_*` of the results' nodes are the same, where the nodes are; returns how many were compared."""
    count = 0
    for a, b in zip(outs, mine):
        node = a.grad_fn
        if node is None or name in COMPOSED or name.endswith("_copy") or node.name() != b.grad_fn.name():
            continue
        kind = node.name().split("Backward")[0]
        for attribute in dir(node):
            short = attribute.removeprefix("_saved_")
            if short != attribute and (kind, short) not in DIFFERENT:
                want, got = _value(node, attribute), _value(b.grad_fn, attribute)
                assert _same(want, got, random), f"{node.name()}.{attribute}: {got}, not {want}"
                count += 1
    return count


def _value(node, attribute):
    try:
        return getattr(node, attribute)
    except RuntimeError as e:
        return type(e)


def _same(want, got, random):
    if isinstance(want, torch.Tensor):
        if not isinstance(got, torchish.Tensor) or got.shape != tuple(want.shape) or str(got.dtype) != str(want.dtype):
            return False
        want, got = (t.detach().numpy() for t in (want.resolve_conj().resolve_neg(), got))
        return random or np.allclose(got, want, rtol=1e-6, atol=1e-7, equal_nan=True)
    if isinstance(want, (tuple, list)):
        return isinstance(got, tuple) and len(got) == len(want) and all(_same(w, g, random) for w, g in zip(want, got))
    return str(got).replace("torchish", "torch") == str(want) or isinstance(want, float) and np.isclose(got, want, equal_nan=True)
