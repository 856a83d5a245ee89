"""Nsight's summary of CUDA API calls."""

from __future__ import annotations

from warpline.analysis.framework.name_summary import name_summary
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.i18n import english


def cuda_api_sum(view: View, options: Options) -> Table | NotRecorded:
    """CUDA API calls by name."""
    return name_summary(view, "cuda_api", options, english("Num Calls"), english("CUDA API calls"))


report = ReportSpec("cuda_api_sum", "CUDA API calls", "gpu", cuda_api_sum, needs=("cuda_api",), place=101)
