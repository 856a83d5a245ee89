"""Nsight's summary of CUDA API calls, kernels, copies and sets."""

from __future__ import annotations

from warpline.analysis.cuda.cuda_sections import joined_sections
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View


def cuda_api_gpu_sum(view: View, options: Options) -> Table | NotRecorded:
    """CUDA API calls, kernels and memory operations in one list."""
    return joined_sections(view, options, with_api=True)


report = ReportSpec(
    "cuda_api_gpu_sum",
    "CUDA API calls and GPU work",
    "gpu",
    cuda_api_gpu_sum,
    needs=("cuda_api", "kernel", "memcpy", "memset"),
    place=108,
)
