"""The names of what PyTorch's nodes show as `_saved_*`, for 380 kinds of nodes: found by looking, in PyTorch 2.13."""

# the names a node shows: its nodes, with ~ for Backward
_NAMES = """
A LU left pivots result: LinalgSolveEx~0
A LU pivots result: LinalgDet~0
A LU pivots sign: LinalgSlogdet~0
A self solution transpose unitriangular upper: TriangularSolve~0
C HxW N eps group input result1 result2 weight: NativeGroupNorm~0
L P U pivot: LinalgLu~0
L upper: LinalgCholeskyEx~0
LU adjoint left pivots result: LinalgLuSolve~0
LU pivot pivots: LinalgLuFactorEx~0
LU_data_sym_argsize_minus_1 LU_data_sym_argsize_minus_2: LuUnpack~0
Q R mode: LinalgQr~0
S S_sym_argsize_minus_1 U Vh full_matrices: LinalgSvd~0
accumulate index source: Put~0
accumulate indices: IndexPut~0 IndexPutImpl~0
align_corners grid input interpolation_mode padding_mode: GridSampler2D~0 GridSampler3D~0
align_corners output_size scales self_sym_sizes: UpsampleLinear1D~0
align_corners output_size scales_d scales_h scales_w self_sym_sizes: UpsampleTrilinear3D~0
align_corners output_size scales_h scales_w self_sym_sizes: UpsampleBicubic2D~0 UpsampleBilinear2DAa~0 UpsampleBilinear2D~0
alpha: Add~0 Rsub~0 Sub~0
alpha batch1 batch1_sym_argsize_0 batch1_sym_argsize_1 batch2 batch2_sym_argsize_2 beta: Addbmm~0
alpha batch1 batch2 beta: Baddbmm~0
alpha beta mat vec: Addmv~0
alpha beta mat1 mat1_sym_sizes mat1_sym_strides mat2 mat2_sym_sizes mat2_sym_strides: Addmm~0
alpha beta vec1 vec2: Addr~0
alpha dim index source source_dim: IndexAdd~0
alpha input_scale result scale: Elu~1
alpha input_scale scale self: Elu~0
alpha result: Celu~1
alpha self: Celu~0
approximate self: Gelu~0
attn_mask dropout_p is_causal key logsumexp output query scale value: ScaledDotProductFlashAttentionForCpu~0
axis data initial lengths offsets reduce result: SegmentReduce~0
b self solution: LinalgLstsq~0
beta reduction self target: SmoothL1Loss~0
beta self threshold: Softplus~0
bias input normalized_shape result1 result2 weight: NativeLayerNorm~0
bias_sym_sizes_opt dilation groups input output_padding padding stride transposed weight: Convolution~0
blank input_lengths log_probs result0 result1 target_lengths targets zero_infinity: CtcLoss~0
buffer self: LogSigmoid~0
ceil_mode count_include_pad divisor_override kernel_size padding self stride: AvgPool2D~0 AvgPool3D~0
ceil_mode dilation kernel_size padding result1 self stride: MaxPool2DWithIndices~0 MaxPool3DWithIndices~0
condition: Where~0
correction dim keepdim result self: Std~0
correction dim keepdim result0 self: StdMean~0
correction dim keepdim self: Var~0 VarMean~0
delta reduction self target: HuberLoss~0
diagonal: Tril~0 Triu~0
dilation kernel_size padding self_sym_argsize_minus_1 self_sym_argsize_minus_2 stride: Im2Col~0
dilation kernel_size padding stride: Col2Im~0
dim: Cat~0 Cumsum~0 Stack~0 Unbind~0 Unbind~0_copy Unsqueeze~0 Unsqueeze~0_copy Unsqueeze~1
dim end self_sym_sizes start step: Slice~0
dim end start step: SliceScatter~0
dim forward normalization: FftC2C~0
dim include_self index reduce result self source: IndexReduce~0
dim include_self index reduce result self src: ScatterReduce~0
dim index: IndexFill~0 IndexFill~1 ScatterAdd~0 Scatter~0 Scatter~1 SelectScatter~0
dim index self sparse_grad: Gather~0
dim index self_sym_sizes: IndexSelect~0 Select~0
dim index source source_dim: IndexCopy~0
dim indices keepdim self_sym_sizes: Kthvalue~0 Max~0 Median~1 Min~0 Mode~0 Nanmedian~1
dim indices self: Cummax~0 Cummin~0
dim indices self_sym_sizes: Sort~0 Sort~1 Topk~0
dim keepdim max min self: Aminmax~0
dim keepdim ord result self: LinalgVectorNorm~0
dim keepdim p result self: Norm~1
dim keepdim result self: Amax~0 Amin~0 Logsumexp~0 Prod~1
dim keepdim self: Nansum~0
dim keepdim self_sym_numel self_sym_sizes: Mean~1
dim keepdim self_sym_sizes: Sum~1
dim length self_sym_sizes start: NarrowCopy~0
dim maxnorm p self: Renorm~0
dim normalization: FftC2R~0
dim normalization onesided self: FftR2C~0
dim other self: LinalgCross~0
dim result: LogSoftmax~0 SafeSoftmax~0 Softmax~0
dim result self: Cumprod~0 Logcumsumexp~0
dim self: Glu~0
dim self_sym_sizes: Squeeze~1 Squeeze~1_copy Squeeze~2 Squeeze~4 Squeeze~5
dim self_sym_sizes split_size: Split~0 UnsafeSplit~0
dim self_sym_sizes split_sizes: SplitWithSizes~0 SplitWithSizes~0_copy
dim0 dim1: Transpose~0 Transpose~0_copy Transpose~1
dim1 dim2 offset: DiagEmbed~0 DiagonalScatter~0
dim1 dim2 offset self_sym_sizes: Diagonal~0 Diagonal~0_copy
dimension self_sym_sizes size step: Unfold~0 Unfold~0_copy
dims: Flip~0 Permute~0 Permute~0_copy
dims k: Rot90~0
dims shifts: Roll~0
downscale_factor: PixelUnshuffle~0
eigenvalues eigenvectors: LinalgEig~0 LinalgEigh~0
end self weight: Lerp~1
eps input result1 result2 result3 running_mean running_var weight: BatchNormWithUpdate~0
eps input result1 result2 running_mean running_var training weight: NativeBatchNorm~0 NativeBatchNormLegit~0
eps input result1 result2 training weight: NativeBatchNormLegit~1
eps self: Logit~0
expand1 expand2 expand3 i1 i2 i3 sumdim: Trilinear~0
exponent: Frexp~0
exponent result self: Pow~1 Pow~2
exponent self: Pow~0
groups: ChannelShuffle~0
ignore_index reduction self target total_weight weight: NllLoss2D~0 NllLoss~0
imag real: Complex~0
index self: Take~0
indices: MaxUnpool2D~0 MaxUnpool3D~0
indices mask: UnsafeMaskedIndexPutAccumulate~0
indices mask self_sym_sizes: UnsafeMaskedIndex~0
indices mode offsets padding_idx per_sample_weights result1 result2 result3 scale_grad_by_freq sparse weight weight_sym_argsize_0:
    EmbeddingBag~0
indices padding_idx scale_grad_by_freq sparse weight_sym_argsize_0: Embedding~0
indices self_sym_sizes: Index~0
input result tau: LinalgHouseholderProduct~0
input2 input3 left result self transpose: Ormqr~0
input2 result self upper: CholeskySolve~0
inverse: LinalgInvEx~0
is_target reduction self target: MultilabelMarginLoss~0
kernel_size output_size result1 self: FractionalMaxPool2D~0 FractionalMaxPool3D~0
lambd self: Hardshrink~0 Softshrink~0
left result self unitriangular upper: LinalgSolveTriangular~0
lower noise result training upper: RreluWithNoise~1
lower noise self training upper: RreluWithNoise~0
margin p reduction self target weight: MultiMarginLoss~0
mask: MaskedFill~0 MaskedFill~1
mask self: MaskedSelect~0
mask source_sym_sizes: MaskedScatter~0
mat2 mat2_sym_sizes mat2_sym_strides self self_sym_sizes self_sym_strides: Mm~0
mat2 self: Bmm~0
max min self: Clamp~0 Clamp~1
max self: ClampMax~1
max_val min_val self: Hardtanh~0
mean_sym_sizes: Normal~1
mean_sym_sizes std_sym_sizes: Normal~3
min self: ClampMin~0 ClampMin~1
n self: Polygamma~0 Polygamma~1
negative_slope result: LeakyRelu~1
negative_slope self: LeakyRelu~0
other: Div~1 Mul~1
other p result self: Dist~0
other result: Ldexp~0
other result self: Hypot~0
other rounding_mode self: Div~2
other self: Atan2~0 Div~0 Fmax~0 Fmin~0 Fmod~1 Logaddexp2~0 Logaddexp~0 Maximum~0 Minimum~0 Mul~0 Nextafter~0 Remainder~1 SpecialXlog1Py~0
    Vdot~0 Xlogy~0
output_size scales self_sym_sizes: UpsampleNearest1D~0 UpsampleNearestExact1D~0
output_size scales_d scales_h scales_w self_sym_sizes: UpsampleNearest3D~0
output_size scales_h scales_w self_sym_sizes: UpsampleNearest2D~0 UpsampleNearestExact2D~0
p result self: Pdist~0
p result x1 x2: Cdist~0
p self: Mvlgamma~0
pad: ConstantPadNd~0
padding self: ReflectionPad1D~0 ReflectionPad2D~0 ReflectionPad3D~0 ReplicationPad1D~0 ReplicationPad2D~0 ReplicationPad3D~0
pos_weight reduction self target weight: BinaryCrossEntropyWithLogits~0
reduction self target: MseLoss~0 SoftMarginLoss~0
reduction self target weight: BinaryCrossEntropy~0
repeats self_sym_sizes: Repeat~0
result: Exp2~0 Exp~0 Expm1~0 Polar~0 Reciprocal~0 Relu~0 Rsqrt~0 Sigmoid~0 SpecialNdtri~0 Sqrt~0 Tan~0 Tanh~0
result self: Copysign~0 Copysign~1 LinalgPinv~0 Max~1 Median~0 Min~1 Nanmedian~0 Prod~0 Sgn~0 SpecialErfcx~0 SpecialI0E~0 SpecialI1~0
    SpecialI1E~0 SpecialLogNdtr~0
result self upper: CholeskyInverse~0
result upper: Cholesky~0
result1 self: AdaptiveMaxPool2D~0 AdaptiveMaxPool3D~0
self: Abs~0 Acos~0 Acosh~0 AdaptiveAvgPool2D~0 AdaptiveAvgPool3D~0 Angle~0 Asin~0 Asinh~0 Atan~0 Atanh~0 Cos~0 Cosh~0 Digamma~0 Erf~0
    Erfc~0 Erfinv~0 Hardsigmoid~0 Hardswish~0 I0~0 Lgamma~0 LinalgMatrixExp~0 Log10~0 Log1P~0 Log2~0 Log~0 Mish~0 NanToNum~0 Silu~0 Sin~0
    Sinc~0 Sinh~0 SpecialEntr~0
self tensor: Dot~0
self threshold: Threshold~0 Threshold~1
self vec: Mv~0
self weight: PreluKernel~0
self_sym_numel self_sym_sizes: Mean~0
self_sym_sizes: Expand~0 Expand~0_copy ReshapeAlias~0 Squeeze~0 Squeeze~0_copy Squeeze~3 Sum~0 Trace~0 UnsafeView~0 View~0 View~0_copy
size storage_offset stride: AsStrided~0 AsStrided~0_copy AsStrided~1 AsStridedScatter~0
tensor1 tensor2 value: Addcdiv~0 Addcmul~0
upscale_factor: PixelShuffle~0
weight: Lerp~0
"""


def _read(text):
    table = {}
    for line in text.strip().replace("\n    ", " ").split("\n"):
        names, nodes = line.split(": ")
        table.update(dict.fromkeys(nodes.replace("~", "Backward").split(), frozenset(names.split())))
    return table


NAMES = _read(_NAMES)
