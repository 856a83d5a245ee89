"""Sizes of matrix products that tensor cores handle well: multiples of 16 bytes.

NVIDIA's guide (https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication, *Tensor Core
requirements*): multiples of 8 for half precision, 4 for TF32, 16 for one byte per element, 2 for double precision.
"""

from __future__ import annotations

from warpline.analysis.hardware.operator_work import OperatorWork

MULTIPLES = {"fp16": 8, "bf16": 8, "fp32": 4, "tf32": 4, "fp8": 16, "int8": 16, "fp64": 2}
_LEADING = ("N", "K", "input channels", "output channels", "features")
"""Sizes along which matrices are contiguous. M is one only where the first matrix is transposed."""


def unaligned_sizes(work: OperatorWork, precision: str) -> list[tuple[str, int]]:
    """The sizes of a product, by name, that are no multiple of what its precision needs; a single row needs none."""
    multiple = MULTIPLES.get(precision, 1)
    return [(name, size) for name, size in work.sizes if name in _LEADING and size > 1 and size % multiple]
