"""Nsight's summary of kernels by name."""

from __future__ import annotations

from warpline.analysis.framework.name_summary import statistics_table
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.kernels import kernel_statistics
from warpline.i18n import english


def cuda_gpu_kern_sum(view: View, options: Options) -> Table | NotRecorded:
    """Kernels by name."""
    if not view.has("kernel"):
        return missing("kernel")
    stats = kernel_statistics(view, options)
    return statistics_table(view, "kernel", stats, english("Instances"), english("Kernels"))


report = ReportSpec(
    "cuda_gpu_kern_sum", "GPU kernels", "gpu", cuda_gpu_kern_sum, needs=("kernel",), place=103
)
