"""Nsight's summary of ranges by name and style."""

from __future__ import annotations

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.ranges.range_names import PUSH_POP, START_END
from warpline.analysis.ranges.range_sum import range_sum


def nvtx_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges by name and style."""
    return range_sum(view, (PUSH_POP, START_END), with_style=True)


report = ReportSpec("nvtx_sum", "Ranges", "ranges", nvtx_sum, needs=("range",), place=501)
