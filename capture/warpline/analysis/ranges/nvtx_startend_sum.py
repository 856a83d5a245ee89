"""Nsight's summary of ranges that may overlap or end on another thread."""

from __future__ import annotations

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.ranges.range_names import START_END
from warpline.analysis.ranges.range_sum import range_sum


def nvtx_startend_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges that may overlap or end on another thread, by name."""
    return range_sum(view, (START_END,), with_style=False)


report = ReportSpec(
    "nvtx_startend_sum", "Start/end ranges", "ranges", nvtx_startend_sum, needs=("range",), place=503
)
