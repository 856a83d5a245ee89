"""Links from layers to their pages in the documentation of PyTorch and Paddle."""

from __future__ import annotations

_IN_BOTH = """
AdaptiveLogSoftmaxWithLoss AlphaDropout BCELoss BCEWithLogitsLoss Bilinear CELU CTCLoss ChannelShuffle
CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss Dropout ELU Embedding FeatureAlphaDropout Flatten Fold
GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss
Identity KLDivLoss L1Loss LSTM LSTMCell LayerNorm LeakyReLU Linear LocalResponseNorm LogSigmoid LogSoftmax
MSELoss MarginRankingLoss Mish MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PReLU
PairwiseDistance ParameterDict ParameterList PixelShuffle PixelUnshuffle PoissonNLLLoss RNN RNNCellBase RReLU
ReLU ReLU6 SELU Sequential SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softplus Softshrink Softsign
SyncBatchNorm Tanh Tanhshrink Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
TransformerEncoderLayer TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold Upsample
"""
_IN_TORCH = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
AvgPool1d AvgPool2d AvgPool3d BatchNorm1d BatchNorm2d BatchNorm3d CircularPad1d CircularPad2d CircularPad3d
ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
CrossMapLRN2d DataParallel Dropout1d Dropout2d Dropout3d EmbeddingBag FractionalMaxPool2d FractionalMaxPool3d
HuberLoss InstanceNorm1d InstanceNorm2d InstanceNorm3d LPPool1d LPPool2d LPPool3d LazyBatchNorm1d
LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d
LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LinearCrossEntropyLoss
MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d ModuleDict ModuleList MultiheadAttention
NLLLoss2d RMSNorm RNNBase RNNCell ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
ReplicationPad2d ReplicationPad3d Softmax2d Softmin Threshold UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d
ZeroPad2d ZeroPad3d
"""
_IN_PADDLE = """
AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool1D AdaptiveMaxPool2D AdaptiveMaxPool3D
AvgPool1D AvgPool2D AvgPool3D BatchNorm BatchNorm1D BatchNorm2D BatchNorm3D BiRNN CircularPad1D CircularPad2D
CircularPad3D ConstantPad1D ConstantPad2D ConstantPad3D Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
Conv3DTranspose Dropout2D Dropout3D FractionalMaxPool2D FractionalMaxPool3D HSigmoidLoss InstanceNorm1D
InstanceNorm2D InstanceNorm3D LPPool1D LPPool2D LayerDict LayerList MaxPool1D MaxPool2D MaxPool3D MaxUnPool1D
MaxUnPool2D MaxUnPool3D Maxout MultiHeadAttention Pad1D Pad2D Pad3D RNNTLoss ReflectionPad1D ReflectionPad2D
ReflectionPad3D ReplicationPad1D ReplicationPad2D ReplicationPad3D Silu SimpleRNN SimpleRNNCell Softmax2D
SpectralNorm Swish ThresholdedReLU UpsamplingBilinear2D UpsamplingNearest2D ZeroPad1D ZeroPad2D ZeroPad3D
"""
"""Classes of ``torch.nn`` (2.14) and ``paddle.nn`` (3.3) that have a page."""
_TORCH_PAGE = "https://docs.pytorch.org/docs/stable/generated/torch.nn.{name}.html"
_PADDLE_PAGE = "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/nn/{name}_en.html"
_PAGES = (
    ("PyTorch", _TORCH_PAGE, frozenset((_IN_BOTH + _IN_TORCH).split())),
    ("Paddle", _PADDLE_PAGE, frozenset((_IN_BOTH + _IN_PADDLE).split())),
)


def pages_of(class_name: str, classes: frozenset[str]) -> list[tuple[str, str]]:
    """(framework, address) of the pages about a layer's class; empty for a class of the program's own.

    ``classes`` are those of the whole network: a class that only one framework has tells which one it is.
    """
    telling = [
        framework
        for framework, _, names in _PAGES
        if any(name in names and sum(name in other for _, _, other in _PAGES) == 1 for name in classes)
    ]
    return [
        (framework, page.format(name=class_name))
        for framework, page, names in _PAGES
        if class_name in names and (len(telling) != 1 or framework in telling)
    ]
