"""What autocast does to operations: a layer at the door through which they all go, and the lists that it goes by."""

from torchish.autograd import dispatch
from torchish.autograd.modes import state
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor

CAST = TABLE["to_copy"]

# rows whose operands are cast to the fast dtype, to float32 (on the CPU), or to the widest dtype among them
FAST = frozenset(
    "mm bmm addmm addbmm baddbmm linear linear_mm linear_addmm linear_view matmul einsum tensordot chain_matmul "
    "linalg_multi_dot conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc "
    "scaled_dot_product_attention recurrent prelu".split())
FULL = frozenset(
    "avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits grid_sample polar prod quantile nanquantile stft cdist trace "
    "view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve ormqr orgqr pinverse max_unpool1d max_unpool2d "
    "max_unpool3d reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d mse_loss nll_loss "
    "nll_loss2d hinge_embedding_loss poisson_nll_loss smooth_l1_loss l1_loss huber_loss soft_margin_loss multi_margin_loss "
    "ctc_loss kl_div multilabel_margin_loss fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 "
    "fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky "
    "linalg_cholesky_ex linalg_svd linalg_svdvals linalg_eig linalg_eigvals linalg_eigh linalg_eigvalsh linalg_lstsq linalg_inv "
    "linalg_inv_ex linalg_householder_product linalg_tensorinv linalg_tensorsolve geqrf lu_with_info svd triangular_solve "
    "fractional_max_pool2d fractional_max_pool3d adaptive_max_pool3d".split())
WIDEST = frozenset({"stack", "cat", "index_copy"})


def cast(value, dtype, kind=None):
    """A floating-point tensor (no double) of that kind of device in `dtype`; anything else as it is."""
    if not isinstance(value, Tensor) or value.dtype is dtype or value.dtype is dtypes.float64 or not value.is_floating_point():
        return value
    return value if kind is not None and value.device.type != kind else value.to(dtype)


def _widest(args):
    found = {a.dtype for a in args if isinstance(a, Tensor)}
    if dtypes.float32 in found:
        return dtypes.float32
    if {dtypes.bfloat16, dtypes.float16} <= found:
        raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return None


class Layer:
    """In `state.dual` while autocast is on: casts operands, then lets what was there before (forward mode, or nothing) go on."""

    def __init__(self, kind, dtype, outer):
        self.kind, self.dtype, self.outer = kind, dtype, outer

    def _wanted(self, name, args):
        if name in FAST:
            return self.dtype
        if name in FULL and self.kind == "cpu":
            return dtypes.float32
        return _widest(args) if name in WIDEST else None

    def _through(self, call, *args):
        state.dual = self.outer
        try:
            return call(*args)
        finally:
            state.dual = self

    def apply(self, op, args, attrs):
        """`dispatch.apply` on operands of the dtype that autocast wants."""
        return self._through(self._apply, op, args, attrs)

    def _apply(self, op, args, attrs):
        wanted = self._wanted(op.name, args)
        if wanted is not None:
            args = [cast(a, wanted, self.kind) for a in args]
        return dispatch.apply(op, args, attrs)

    def inplace(self, row, t, args, attrs, overlap_ok):
        """Writes in place keep the dtype of what they write into."""
        return self._through(dispatch.inplace, row, t, args, attrs, overlap_ok)

    # what forward mode asks its level for
    def tangent(self, t):
        return None if self.outer is None else self.outer.tangent(t)

    def share(self, *args):
        return None if self.outer is None else self._through(self.outer.share, *args)

    def function(self, *args):
        return None if self.outer is None else self._through(self.outer.function, *args)
