"""The modules of torch.nn."""

from torchish.nn.modules.module import Module
from torchish.nn.modules.activation import (CELU, ELU, GELU, GLU, SELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU,
                                            LogSigmoid, LogSoftmax, Mish, MultiheadAttention, PReLU, ReLU, ReLU6, RReLU, Sigmoid,
                                            SiLU, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink,
                                            Threshold)
from torchish.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
from torchish.nn.modules.batchnorm import (BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d,
                                           LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyInstanceNorm1d,
                                           LazyInstanceNorm2d, LazyInstanceNorm3d, SyncBatchNorm)
from torchish.nn.modules.container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from torchish.nn.modules.conv import (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, LazyConv1d, LazyConv2d,
                                      LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d)
from torchish.nn.modules.distance import CosineSimilarity, PairwiseDistance
from torchish.nn.modules.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from torchish.nn.modules.flatten import Flatten, Unflatten
from torchish.nn.modules.linear import Bilinear, Identity, LazyLinear, Linear
from torchish.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from torchish.nn.modules.loss import (BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CrossEntropyLoss, CTCLoss, GaussianNLLLoss,
                                      HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss, LinearCrossEntropyLoss, MarginRankingLoss, MSELoss,
                                      MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, NLLLoss2d,
                                      PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss,
                                      TripletMarginWithDistanceLoss)
from torchish.nn.modules.normalization import CrossMapLRN2d, GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm
from torchish.nn.modules.padding import (CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d,
                                         ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d, ReplicationPad2d,
                                         ReplicationPad3d, ZeroPad1d, ZeroPad2d, ZeroPad3d)
from torchish.nn.modules.pooling import (AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d,
                                         AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d,
                                         FractionalMaxPool2d, FractionalMaxPool3d, LPPool1d, LPPool2d, LPPool3d, MaxPool1d,
                                         MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d)
from torchish.nn.modules.resampling import (ChannelShuffle, Fold, PixelShuffle, PixelUnshuffle, Unfold, Upsample,
                                            UpsamplingBilinear2d, UpsamplingNearest2d)
from torchish.nn.modules.rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
from torchish.nn.modules.sparse import Embedding, EmbeddingBag
from torchish.nn.modules.transformer import (Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
                                             TransformerEncoderLayer)

__all__ = [name for name in dir() if name[0].isupper()]
