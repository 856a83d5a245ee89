"""Nsight's summary of nested ranges."""

from __future__ import annotations

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.ranges.range_names import PUSH_POP
from warpline.analysis.ranges.range_sum import range_sum


def nvtx_pushpop_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Nested ranges by name."""
    return range_sum(view, (PUSH_POP,), with_style=False)


report = ReportSpec(
    "nvtx_pushpop_sum", "Nested ranges", "ranges", nvtx_pushpop_sum, needs=("range",), place=502
)
