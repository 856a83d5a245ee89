"""What the names of GPU kernels say about the library they come from and the numbers they multiply."""

from __future__ import annotations

import re
from functools import lru_cache

_LIBRARIES = (
    ("TensorRT", r"(?:^|[^a-z])trt_|tensorrt|myelin"),
    ("cuDNN", r"cudnn"),
    ("NCCL", r"nccl"),
    ("FlashAttention", r"flash_(?:fwd|bwd|attn)|flash::"),
    ("cuBLAS", r"cublas|^(?:volta|turing|ampere|hopper|sm\d+(?!_xmma))_[a-z0-9_]*gemm"),
    ("CUTLASS", r"cutlass"),
    ("Triton", r"^triton_"),
    ("PyTorch", r"at::native|c10::"),
    ("Paddle", r"phi::"),
    # cuDNN and cuBLAS have such kernels, too, and name themselves.
    ("TensorRT", r"^sm\d+_xmma_"),
)
_FORMATS = (
    ("int8", r"int8|imma|igemm|i(?:8816|16832)|(?<![a-z0-9])i8|(?<![a-z0-9])[su]8(?![a-z0-9])"),
    ("fp8", r"e4m3|e5m2|fp8"),
    ("bf16", r"bf16|bfloat16"),
    ("tf32", r"tf32|^(?!.*(?:fp?16|float16|half)).*s1688(?:gemm|fprop|dgrad|wgrad)"),
    ("fp16", r"f16|hgemm|hmma|(?<![a-z])half(?![a-z])|[hs](?:884|1688|16816)"),
    ("fp64", r"dgemm|[dz](?:884|1684|1688|16816)gemm|f64|fp64|(?<![a-z])double(?![a-z])"),
    ("fp32", r"sgemm|f32|fp32|(?<![a-z])float(?![a-z0-9])|ffma|scudnn"),
)
_LIBRARY_OF = tuple((title, re.compile(pattern, re.IGNORECASE)) for title, pattern in _LIBRARIES)
_FORMAT_OF = tuple((title, re.compile(pattern, re.IGNORECASE)) for title, pattern in _FORMATS)


@lru_cache(1 << 16)
def library_of(name: str) -> str | None:
    """The library that brings a kernel, such as *TensorRT* for ``trt_…``; None if its name does not tell."""
    return next((title for title, pattern in _LIBRARY_OF if pattern.search(name)), None)


@lru_cache(1 << 16)
def number_format_of(name: str) -> str | None:
    """The narrowest number format in a kernel's name: int8, fp8, bf16, tf32, fp16, fp64, fp32; None without any.

    884, 1688 and 16816 are shapes of half-precision matrix instructions, unless the name tells another format. Before
    them, CUTLASS names the accumulator: ``s1688`` without an input format multiplies TF32, ``d884`` double precision
    (https://github.com/NVIDIA/cutlass, python/cutlass_library/gemm_operation.py).
    """
    return next((title for title, pattern in _FORMAT_OF if pattern.search(name)), None)
