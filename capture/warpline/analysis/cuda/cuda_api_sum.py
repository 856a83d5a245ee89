"""Nsight's summary of CUDA API calls."""

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


def cuda_api_sum(view: View, options: Options) -> Table | NotRecorded:
    """CUDA API calls by name."""
    if not view.has("cuda_api"):
        return missing("cuda_api")
    stats = statistics_by_name(view, "cuda_api", options)
    return Table(
        (*stat_columns(english("Num Calls"), LISTED), Column("name", "Name", Role.NAME, key=True)),
        {**stat_data(stats), "name": name_texts(view, stats.key)},
        targets=name_targets(view, stats.key, "cuda_api"),
        scope=scope_text(view, english("CUDA API calls")),
    )


report = ReportSpec("cuda_api_sum", "CUDA API calls", "gpu", cuda_api_sum, needs=("cuda_api",), place=101)
