"""What differs from PyTorch in op_db, and why. `docs/deviations.md` says what to use instead."""

NO_SPARSE = "torchish has no sparse tensors"
NO_COMPLEX32 = "torchish has no complex32"
MANY_DIMS = "the sample has 65 dimensions, and numpy, which carries it over, 64 at most"
SYMMETRIC = "the sample's tangent is not symmetric: torchish takes its symmetric part, PyTorch its lower triangle or all of it"
WRONG_GRADIENT = "PyTorch's gradient reads the gradient's memory, not its elements"

# operator -> why none of its checks is run
LEFT_OUT = dict.fromkeys(("sparse.sampled_addmm", "sparse.mm|reduce", "to_sparse"), NO_SPARSE) | {
    "chalf": NO_COMPLEX32,
    "torch._scaled_mm": "a private kernel of float8 matrices", "torch._scaled_mm_v2": "a private kernel of float8 matrices",
    "slice": "a private operator that torch does not offer in Python",
}
LEFT_OUT |= dict.fromkeys(("jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args", "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs"), "compiles CUDA source")

# (operator, check) -> why it fails
EXPECTED = {
    ("view_as_complex", "dtypes"): NO_COMPLEX32,
    ("complex", "dtypes"): NO_COMPLEX32,
    ("matrix_exp", "forward"): "elements a millionth of the largest one; torchish's error is the smaller one",
    ("matrix_exp", "method"): "elements a millionth of the largest one; torchish's error is the smaller one",
    ("aminmax", "error"): MANY_DIMS, ("amax", "error"): MANY_DIMS, ("amin", "error"): MANY_DIMS,
    ("gradient", "error"): "torchish has no meta device",
    ("nn.functional.poisson_nll_loss", "error"): "the shapes that do not fit are named in the other order",
    ("as_strided_scatter", "gradient"): WRONG_GRADIENT, ("as_strided_scatter", "second gradient"): WRONG_GRADIENT,
    ("nn.functional.linear_cross_entropy|chunked", "second gradient"): "the second derivative through its chunks is not PyTorch's; cross_entropy of the logits has it",
    ("nn.functional.linear_cross_entropy|chunked_none", "second gradient"): "the second derivative through its chunks is not PyTorch's; cross_entropy of the logits has it",
    ("triangular_solve", "forward mode"): "PyTorch counts the tangent of the triangle that is not read",
    ("logcumsumexp", "forward mode"): "PyTorch's formula is off by 1e-6",
    ("linalg.norm|subgradients_at_zero", "second gradient"): "PyTorch has nan where torchish has the subgradient's zero",
    ("linalg.cholesky", "forward mode"): SYMMETRIC, ("linalg.cholesky_ex", "forward mode"): SYMMETRIC,
    ("linalg.pinv|hermitian", "forward mode"): SYMMETRIC,
}
