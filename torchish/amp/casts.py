"""What autocast does to operations: a layer at the door through which they all go, and the lists that it goes by."""

import functools

from torchish.autograd import dispatch
from torchish.autograd.modes import state
from torchish.ops import TABLE, dtypes
from torchish.tensor import Tensor

CAST = TABLE["to_copy"]

# rows whose operands are cast to the fast dtype; whose result is; whose operands are cast to float32 (on the CPU); to the widest dtype
# among them. A function tells from the operands and the attributes.
FAST = dict.fromkeys(
    "mm bmm addmm addbmm baddbmm linear linear_mm linear_addmm linear_view linear_squeeze matmul matmul_mv matmul_dot vecmat "
    "chain_matmul linalg_vecdot linalg_multi_dot conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc "
    "scaled_dot_product_attention prelu affine_grid".split()) | {
    # where PyTorch multiplies elements instead of matrices, it stays in the dtype given
    "inner": lambda args, attrs: min(a.ndim for a in args) > 0 and max(a.ndim for a in args) > 1,
    "tensordot": lambda args, attrs: any(a.ndim > (attrs[0] if isinstance(attrs[0], int) else len(attrs[0][0])) for a in args),
    "einsum": lambda args, attrs: _contracts(attrs[0]),
    "linalg_matrix_power": lambda args, attrs: abs(attrs[0]) > 1,
    "recurrent": lambda args, attrs: attrs[0] != "gru"}
FAST_RESULT = frozenset({"cov", "corrcoef", "linalg_pinv"})
FULL = dict.fromkeys(
    "avg_pool3d adaptive_avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits grid_sample polar prod quantile "
    "nanquantile stft cdist trace cholesky cholesky_inverse cholesky_ex cholesky_solve inverse lu_solve ormqr orgqr pinverse "
    "max_unpool1d max_unpool2d max_unpool3d mse_loss nll_loss nll_loss2d hinge_embedding_loss poisson_nll_loss smooth_l1_loss "
    "l1_loss huber_loss soft_margin_loss multi_margin_loss kl_div fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft "
    "fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve "
    "linalg_cholesky linalg_cholesky_ex linalg_svd linalg_svdvals linalg_eig linalg_eigvals linalg_eigh linalg_eigvalsh linalg_qr "
    "linalg_inv linalg_inv_ex linalg_householder_product linalg_tensorinv linalg_tensorsolve geqrf lu_with_info svd "
    "triangular_solve adaptive_max_pool3d".split()) | {
    "pad": lambda args, attrs: attrs[1] == "replicate" or attrs[1] == "reflect" and len(attrs[0]) < 6,
    "max_pool3d": lambda args, attrs: not attrs[-1],
    "recurrent": lambda args, attrs: attrs[0] == "gru"}
WIDEST = frozenset({"stack", "cat", "index_copy"})


def _contracts(equation):
    """Whether an einsum sums over what two of its operands have in common."""
    given, arrow, kept = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    return any(sum(c in term for term in terms) > 1 and c not in kept for c in {*given} - {*",."})


def cast(value, dtype, kind):
    """A floating-point tensor (no double) of that kind of device in `dtype`; anything else as it is."""
    if not isinstance(value, Tensor) or value.dtype is dtype or value.dtype is dtypes.float64 or not value.is_floating_point():
        return value
    return value.to(dtype) if value.device.type == kind else value


def _widest(args):
    found = {a.dtype for a in args if isinstance(a, Tensor)}
    if dtypes.float32 in found:
        return dtypes.float32
    if {dtypes.bfloat16, dtypes.float16} <= found:
        raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return None


class Layer:
    """The door of operations while autocast is on: it casts operands, and lets forward mode, or what is usual, go on."""

    def __init__(self, fast):
        self.fast = fast        # the fast dtypes of the kinds of device for which it is on

    def _wanted(self, name, args, attrs, kind):
        for rows, dtype in ((FAST, self.fast[kind]), (FULL if kind == "cpu" else (), dtypes.float32)):
            if name in rows and (rows[name] is None or rows[name](args, attrs)):
                return dtype
        return _widest(args) if name in WIDEST else None

    def _through(self, call, *args):
        state.door = state.level or state.below
        try:
            return call(*args)
        finally:
            state.door = self

    def apply(self, op, args, attrs):
        """`dispatch.apply` on operands of the dtype that autocast wants."""
        return self._through(self._apply, op, args, attrs)

    def _apply(self, op, args, attrs):
        for kind in self.fast:
            wanted = self._wanted(op.name, args, attrs, kind)
            if wanted is not None:
                args = [cast(a, wanted, kind) for a in args]
        out = dispatch.apply(op, args, attrs)
        if op.name in FAST_RESULT:
            for kind, dtype in self.fast.items():
                out = cast(out, dtype, kind)
        return out

    def in_float32(self, fn, args, kwargs):
        """A function of several operations, in the list of the CPU."""
        if "cpu" in self.fast:
            args = [cast(a, dtypes.float32, "cpu") for a in args]
            kwargs = {name: cast(a, dtypes.float32, "cpu") for name, a in kwargs.items()}
        return self._through(functools.partial(fn, **kwargs), *args)

    def inplace(self, row, t, args, attrs, overlap_ok):
        """Writes in place keep the dtype of what they write into."""
        return self._through(dispatch.inplace, row, t, args, attrs, overlap_ok)
