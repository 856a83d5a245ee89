"""Nsight's summary of kernels, copies and sets."""

from __future__ import annotations

from warpline.analysis.cuda.cuda_sections import joined_sections
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View


def cuda_gpu_sum(view: View, options: Options) -> Table | NotRecorded:
    """Kernels and memory operations in one list."""
    return joined_sections(view, options, with_api=False)


report = ReportSpec(
    "cuda_gpu_sum",
    "GPU kernels, copies and sets",
    "gpu",
    cuda_gpu_sum,
    needs=("kernel", "memcpy", "memset"),
    place=107,
)
