"""Nsight's summary of copies and sets by size."""

from __future__ import annotations

from warpline.analysis.cuda.memory_operations import memory_batches, operation, operation_targets
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import scope_text, stat_columns, stat_data
from warpline.i18n import english


def cuda_gpu_mem_size_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Bytes of copies and sets by direction."""
    if not view.has("memcpy", "memset"):
        return missing("memory_operations")
    stats = batch_statistics(lambda: memory_batches(view, "bytes")).by_total()
    return Table(
        (
            *stat_columns(english("Count"), "", with_ratio=False, role=Role.SIZE),
            Column("operation", "Operation", Role.NAME, key=True),
        ),
        {
            **stat_data(stats, with_ratio=False, role=Role.SIZE),
            "operation": [operation(key) for key in stats.key.tolist()],
        },
        targets=operation_targets(view, stats.key),
        scope=scope_text(view, english("Bytes of copies and sets")),
        notes=(english("A copy that overlaps the range counts with all its bytes."),),
    )


report = ReportSpec(
    "cuda_gpu_mem_size_sum",
    "GPU copies and sets by size",
    "gpu",
    cuda_gpu_mem_size_sum,
    needs=("memcpy", "memset"),
    place=106,
)
