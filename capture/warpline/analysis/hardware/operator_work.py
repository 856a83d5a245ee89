"""Floating-point operations and bytes of one operator, computed from the shapes and types of its arguments.

FLOPs count a multiplication and an addition as two. Bytes are the least that memory has to move: each argument read
once, each result written once. Formulas follow from the operators' definitions in PyTorch's reference; TraceLens and
PyTorch's own profiler count alike (`tests/unit/analysis/hardware`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from warpline.analysis.hardware.arguments import Argument, OperatorArguments

_MOST = 1 << 62
"""Larger values come from damaged shapes."""


@dataclass(frozen=True)
class OperatorWork:
    """What one call of an operator computes and moves.

    ``precision`` is the type of the inputs (fp64, fp32, bf16, fp16, fp8, int8 or another). ``is_matrix``: a product
    that tensor cores can compute; ``sizes`` are then its dimensions by name (batch, M, N, K, or channels).
    """

    flops: int
    bytes: int
    precision: str
    _: KW_ONLY
    is_matrix: bool = False
    sizes: tuple[tuple[str, int], ...] = ()


def work_of(name: str, arguments: OperatorArguments, recorded_flops: int = 0) -> OperatorWork | None:
    """The work of an operator (``aten::mm``); None when it is not known, or its arguments were not recorded.

    ``recorded_flops`` is PyTorch's own count, 0 for none: it takes precedence, and gives the output of a convolution
    whose stride was not recorded.
    """
    base = name.rpartition("::")[2]
    if base.startswith("triton_"):
        return _triton(base, arguments)
    count = _MATRIX.get(base) or _attention_of(base)
    if count is None:
        work = _other(base, arguments)
    else:
        work = count(base, arguments, recorded_flops)
    if work is None or not (0 <= work.flops < _MOST and 0 < work.bytes < _MOST):
        return None
    if recorded_flops and work.is_matrix:
        return OperatorWork(recorded_flops, work.bytes, work.precision, is_matrix=True, sizes=work.sizes)
    return work


def _product(a: Argument, b: Argument, *, batch: int, m: int, n: int, k: int, bias: int = 0) -> OperatorWork:
    """The product of [batch, m, k] and [batch, k, n], plus a vector of ``bias`` elements."""
    size = a.size
    moved = batch * (m * k * a.size + k * n * b.size + m * n * size) + bias * size
    sizes = (("batch", batch),) if batch > 1 else ()
    flops = 2 * batch * m * n * k + (batch * m * n if bias else 0)
    return OperatorWork(
        flops, moved, a.precision, is_matrix=True, sizes=(*sizes, ("M", m), ("N", n), ("K", k))
    )


def _mm(_base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    a, b = arguments.tensors(0, 2)
    if a.rank != 2 or b.rank not in (1, 2) or a.shape[1] != b.shape[0]:
        return None
    return _product(a, b, batch=1, m=a.shape[0], n=b.shape[1] if b.rank == 2 else 1, k=a.shape[1])


def _addmm(_base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    bias, a, b = arguments.tensors(0, 3)
    if a.rank != 2 or b.rank not in (1, 2) or a.shape[1] != b.shape[0]:
        return None
    n = b.shape[1] if b.rank == 2 else 1
    return _product(a, b, batch=1, m=a.shape[0], n=n, k=a.shape[1], bias=bias.count)


def _bmm(base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    added = base.startswith("baddbmm")
    a, b = arguments.tensors(int(added), 2)
    if a.rank != 3 or b.rank != 3 or a.shape[2] != b.shape[1] or a.shape[0] != b.shape[0]:
        return None
    batch, m, k = a.shape
    bias = arguments.tensors(0, 1)[0].count if added else 0
    return _product(a, b, batch=batch, m=m, n=b.shape[2], k=k, bias=bias)


def _linear(_base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    x, weight, bias = arguments.tensors(0, 3)
    if x.rank < 1 or weight.rank != 2 or x.shape[-1] != weight.shape[1]:
        return None
    n, k = weight.shape
    return _product(x, weight, batch=1, m=x.count // max(k, 1), n=n, k=k, bias=bias.count)


def _matmul(_base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    a, b = arguments.tensors(0, 2)
    if a.rank < 2 or b.rank < 2 or a.shape[-1] != b.shape[-2]:
        return None
    m, k = a.shape[-2:]
    if b.rank == 2:
        return _product(a, b, batch=1, m=a.count // max(k, 1), n=b.shape[-1], k=k)
    batch = math.prod(_broadcast([a.shape[:-2], b.shape[:-2]]) or (1,))
    return _product(a, b, batch=batch, m=m, n=b.shape[-1], k=k)


_PLACES = {
    # Where stride, padding, dilation, groups and, if any, "transposed" are among the arguments.
    "convolution": (3, 4, 5, 8, 6),
    "_convolution": (3, 4, 5, 8, 6),
    "convolution_overrideable": (3, 4, 5, 8, 6),
    "conv1d": (3, 4, 5, 6, -1),
    "conv2d": (3, 4, 5, 6, -1),
    "conv3d": (3, 4, 5, 6, -1),
    "cudnn_convolution": (3, 2, 4, 5, -1),
    "miopen_convolution": (4, 3, 5, 6, -1),
    "mkldnn_convolution": (4, 3, 5, 6, -1),
}


def _convolution(base: str, arguments: OperatorArguments, flops: int) -> OperatorWork | None:
    x, weight = arguments.tensors(0, 2)
    if x.rank < 3 or weight.rank != x.rank:
        return None
    per_output = math.prod(weight.shape[1:])
    stride_at, padding_at, dilation_at, groups_at, transposed_at = _PLACES[base]
    transposed = transposed_at >= 0 and arguments.text(transposed_at) == "True"
    stride, padding, dilation = (
        arguments.numbers(place, x.rank - 2) for place in (stride_at, padding_at, dilation_at)
    )
    groups = arguments.numbers(groups_at, 1)
    if stride and padding and dilation and not transposed:
        spatial = [
            (size + 2 * pad - step * (kernel - 1) - 1) // hop + 1
            for size, pad, step, kernel, hop in zip(
                x.shape[2:], padding, dilation, weight.shape[2:], stride, strict=True
            )
            if hop > 0
        ]
        out = x.shape[0] * weight.shape[0] * math.prod(max(size, 0) for size in spatial)
    elif flops and per_output:
        out = flops // (2 * per_output)
    elif transposed and groups:
        # Each input element is multiplied with every filter; the output's size is not needed to count that.
        return _of_convolution(x, weight, 2 * x.count * per_output, x.count, groups[0])
    else:
        return None
    return _of_convolution(x, weight, 2 * out * per_output, out, groups[0] if groups else 1)


def _of_convolution(x: Argument, weight: Argument, flops: int, out: int, groups: int) -> OperatorWork:
    moved = x.bytes + weight.bytes + out * x.size
    grouped = (("groups", groups),) if groups > 1 else ()
    sizes = (
        ("input channels", weight.shape[1]), ("output channels", weight.shape[0] // max(groups, 1)), *grouped
    )  # fmt: skip
    return OperatorWork(flops, moved, x.precision, is_matrix=True, sizes=sizes)


def _convolution_backward(_base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    gradient, x, weight = arguments.tensors(0, 3)
    if gradient.rank < 3 or weight.rank != gradient.rank or x.rank != gradient.rank:
        return None
    mask = arguments.text(10)
    wanted = [part == "True" for part in re.findall(r"True|False", mask)] or [True, True]
    products = sum(wanted[:2])
    flops_each = 2 * gradient.count * math.prod(weight.shape[1:])
    results = (x.bytes if wanted[0] else 0) + (weight.bytes if wanted[:2][-1] else 0)
    moved = products * gradient.bytes + x.bytes + weight.bytes + results
    sizes = (("input channels", weight.shape[1]), ("output channels", weight.shape[0]))
    return OperatorWork(products * flops_each, moved, gradient.precision, is_matrix=True, sizes=sizes)


_ATTENTION = re.compile(
    r"scaled_dot_product.*attention|(_flash|_efficient|_cudnn)_attention_(forward|backward)"
)
_TOKENS_FIRST = re.compile(r"(flash|efficient|cudnn)_attention_(forward|backward)$")
"""Operators whose arguments are [batch, tokens, heads, features]; others have the heads before the tokens."""


def _attention_of(base: str) -> Callable[[str, OperatorArguments, int], OperatorWork | None] | None:
    return _attention if _ATTENTION.search(base) else None


def _attention(base: str, arguments: OperatorArguments, _flops: int) -> OperatorWork | None:
    backward = base.endswith("_backward")
    query, key, value = arguments.tensors(int(backward), 3)
    if query.rank != 4 or key.rank != 4 or value.rank != 4:
        return None
    heads_at, tokens_at = (2, 1) if _TOKENS_FIRST.search(base) else (1, 2)
    batch, features = query.shape[0], query.shape[3]
    heads, queries, keys = query.shape[heads_at], query.shape[tokens_at], key.shape[tokens_at]
    # Q times K, then the weights times V; backward computes five such products instead of two.
    flops = 2 * batch * heads * queries * keys * (features + value.shape[3])
    if _is_causal(base, arguments) and queries == keys:
        flops = flops * (queries + 1) // (2 * max(queries, 1))
    out = batch * heads * queries * value.shape[3] * query.size
    moved = query.bytes + key.bytes + value.bytes + out
    if backward:
        # It also reads the output and its gradient, and writes three gradients.
        flops, moved = flops * 5 // 2, 2 * moved + out
    sizes = (("batch", batch), ("heads", heads), ("queries", queries), ("keys", keys), ("features", features))
    return OperatorWork(flops, moved, query.precision, is_matrix=True, sizes=sizes)


_CAUSAL_AT = {
    "_scaled_dot_product_flash_attention": 4,
    "_scaled_dot_product_efficient_attention": 6,
    "_scaled_dot_product_cudnn_attention": 6,
    "scaled_dot_product_attention": 5,
    "_flash_attention_forward": 8,
    "_scaled_dot_product_flash_attention_backward": 11,
}


def _is_causal(base: str, arguments: OperatorArguments) -> bool:
    place = _CAUSAL_AT.get(base)
    return place is not None and arguments.text(place) == "True"


_MATRIX: dict[str, Callable[[str, OperatorArguments, int], OperatorWork | None]] = {
    **dict.fromkeys(("mm", "mv", "_scaled_mm", "_int_mm"), _mm),
    **dict.fromkeys(("addmm", "addmm_", "addmv", "_addmm_activation"), _addmm),
    **dict.fromkeys(("bmm", "baddbmm", "baddbmm_"), _bmm),
    **dict.fromkeys(("linear", "rocm_unquantized_gemm"), _linear),
    "matmul": _matmul,
    **dict.fromkeys(_PLACES, _convolution),
    "convolution_backward": _convolution_backward,
}

_ELEMENTWISE = frozenset(
    (
        "abs", "add", "addcdiv", "addcmul", "bitwise_and", "bitwise_not", "bitwise_or", "ceil", "clamp", "clamp_max",
        "clamp_min", "cos", "cumsum", "div", "eq", "erf", "exp", "fill", "floor", "ge", "gelu", "gelu_backward", "gt",
        "hardswish", "hardtanh", "isnan", "le", "leaky_relu", "lerp", "log", "log1p", "logical_and", "logical_not",
        "logical_or", "lt", "masked_fill", "maximum", "minimum", "mul", "native_dropout_backward", "ne", "neg", "pow",
        "reciprocal", "relu", "remainder", "rsqrt", "rsub", "sigmoid", "sigmoid_backward", "sign", "silu",
        "silu_backward", "sin", "softplus", "sqrt", "square", "sub", "tanh", "tanh_backward", "threshold_backward",
        "where", "zero",
    )
)  # fmt: skip
_REDUCTIONS = frozenset(
    (
        "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "linalg_norm", "linalg_vector_norm",
        "logsumexp", "max", "mean", "min", "norm", "prod", "std", "sum", "var", "var_mean",
    )
)  # fmt: skip
_NORMS = frozenset(
    (
        "batch_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_batch_norm_impl_index",
        "group_norm", "native_group_norm", "layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm",
        "rms_norm2d",
    )
)  # fmt: skip
_SOFTMAX = frozenset(("softmax", "_softmax", "log_softmax", "_log_softmax"))
_SOFTMAX_BACKWARD = frozenset(("_softmax_backward_data", "_log_softmax_backward_data"))
_COPIES = frozenset(("clone", "contiguous", "_to_copy", "copy"))
_NORM_FLOPS, _SOFTMAX_FLOPS = 5, 5
"""Operations per element: mean, variance, scale; maximum, difference, exponential, sum, quotient."""


def _other(base: str, arguments: OperatorArguments) -> OperatorWork | None:
    """The work of operators that compute no products: their bytes count."""
    tensors = arguments.all_tensors
    if not tensors:
        return None
    plain = base.removesuffix("_")
    in_place = base.endswith("_")
    first, read = tensors[0], sum(tensor.bytes for tensor in tensors)
    if plain == "copy" and in_place:
        source = tensors[1] if len(tensors) > 1 else first
        return OperatorWork(0, first.bytes + source.bytes, first.precision)
    if plain in ("fill", "zero"):
        return OperatorWork(0, first.bytes if in_place else 2 * first.bytes, first.precision)
    if plain in _COPIES:
        return OperatorWork(0, 2 * first.bytes, first.precision)
    if plain in ("embedding", "index_select"):
        return _gathered(tensors)
    if plain in _ELEMENTWISE:
        out = first.count if in_place else math.prod(_broadcast([tensor.shape for tensor in tensors]) or (1,))
        widest = max(
            (tensor for tensor in tensors if tensor.rank), key=lambda tensor: tensor.size, default=first
        )
        return OperatorWork(out, read + out * widest.size, widest.precision)
    if plain in _REDUCTIONS:
        return OperatorWork(first.count, first.bytes, first.precision)
    if plain in _NORMS:
        return OperatorWork(_NORM_FLOPS * first.count, read + first.bytes, first.precision)
    if plain in _SOFTMAX:
        return OperatorWork(_SOFTMAX_FLOPS * first.count, 2 * first.bytes, first.precision)
    if plain in _SOFTMAX_BACKWARD:
        return OperatorWork(3 * first.count, 3 * first.bytes, first.precision)
    if plain == "native_dropout":
        return OperatorWork(first.count, 2 * first.bytes + first.count, first.precision)
    return None


def _gathered(tensors: Sequence[Argument]) -> OperatorWork | None:
    """Rows of a table, read and written, and their indices."""
    table, index = tensors[0], tensors[-1]
    if table.rank < 2 or len(tensors) < 2:
        return None
    row = table.bytes // max(table.shape[0], 1)
    return OperatorWork(0, index.bytes + 2 * index.count * row, table.precision)


def _triton(base: str, arguments: OperatorArguments) -> OperatorWork | None:
    """A compiled kernel: its arguments are all that it reads and writes. Products (``triton_tem``) are not known."""
    tensors = arguments.all_tensors
    if not tensors or not re.match(r"triton_(poi|red|per)_", base):
        return None
    return OperatorWork(0, sum(tensor.bytes for tensor in tensors), tensors[0].precision)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that several shapes are broadcast to."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))
