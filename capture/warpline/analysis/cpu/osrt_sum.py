"""Nsight's summary of OS runtime calls."""

from __future__ import annotations

from warpline.analysis.framework.name_summary import name_summary
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.i18n import english


def osrt_sum(view: View, options: Options) -> Table | NotRecorded:
    """OS runtime calls (locks, sleeps, reads …) by name."""
    return name_summary(view, "osrt", options, english("Num Calls"), english("OS runtime calls"))


report = ReportSpec("osrt_sum", "OS runtime calls", "cpu", osrt_sum, needs=("osrt",), place=603)
