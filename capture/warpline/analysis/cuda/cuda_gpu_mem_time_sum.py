"""Nsight's summary of copies and sets by time."""

from __future__ import annotations

from warpline.analysis.cuda.memory_operations import memory_batches, operation, operation_targets
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import LISTED, scope_text, stat_columns, stat_data
from warpline.i18n import english


def cuda_gpu_mem_time_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Time of copies and sets by direction."""
    if not view.has("memcpy", "memset"):
        return missing("memory_operations")
    stats = batch_statistics(lambda: memory_batches(view, "ns")).by_total()
    return Table(
        (*stat_columns(english("Count"), LISTED), Column("operation", "Operation", Role.NAME, key=True)),
        {**stat_data(stats), "operation": [operation(key) for key in stats.key.tolist()]},
        targets=operation_targets(view, stats.key),
        scope=scope_text(view, english("Copies and sets")),
    )


report = ReportSpec(
    "cuda_gpu_mem_time_sum",
    "GPU copies and sets by time",
    "gpu",
    cuda_gpu_mem_time_sum,
    needs=("memcpy", "memset"),
    place=105,
)
