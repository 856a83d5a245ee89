"""Nsight's summary of OS runtime calls."""

from __future__ import annotations

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import (
    LISTED,
    name_targets,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
    statistics_by_name,
)
from warpline.i18n import english


def osrt_sum(view: View, options: Options) -> Table | NotRecorded:
    """OS runtime calls (locks, sleeps, reads …) by name."""
    if not view.has("osrt"):
        return missing("osrt")
    stats = statistics_by_name(view, "osrt", options)
    return Table(
        (*stat_columns(english("Num Calls"), LISTED), Column("name", "Name", Role.NAME, key=True)),
        {**stat_data(stats), "name": name_texts(view, stats.key)},
        targets=name_targets(view, stats.key, "osrt"),
        scope=scope_text(view, english("OS runtime calls")),
    )


report = ReportSpec("osrt_sum", "OS runtime calls", "cpu", osrt_sum, needs=("osrt",), place=603)
