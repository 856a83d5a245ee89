"""Nsight's list of ranges projected onto the GPU."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import event_targets, scope_text
from warpline.analysis.ranges.nested_ranges import (
    NESTING_COLUMNS,
    THREAD_COLUMNS,
    nesting_data,
    projected_ranges,
)
from warpline.analysis.ranges.range_names import RangeNames, style_texts, styles
from warpline.i18n import english


def nvtx_gpu_proj_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every range that launched GPU work, projected onto the GPU."""
    ranges = projected_ranges(view)
    if isinstance(ranges, NotRecorded):
        return ranges
    names = RangeNames(view)
    used = np.flatnonzero(ranges.work > 0)
    used = used[np.argsort(ranges.work_start[used], kind="stable")]
    origin = view.capture.span[0]
    return Table(
        (
            Column("name", "Name", Role.NAME),
            Column("projected_start_ns", "Projected Start", Role.TIME),
            Column("projected_duration_ns", "Projected Duration", Role.DURATION),
            Column("start_ns", "Orig Start", Role.TIME),
            Column("duration_ns", "Orig Duration", Role.DURATION),
            Column("style", "Style", Role.TEXT),
            *THREAD_COLUMNS,
            Column("gpu_operations", "NumGPUOps", Role.COUNT),
            *NESTING_COLUMNS,
        ),
        {
            "name": names.texts(names.codes(ranges.index, view.names(ranges.row))[used]),
            "projected_start_ns": ranges.work_start[used] - origin,
            "projected_duration_ns": (ranges.work_stop - ranges.work_start)[used],
            "start_ns": ranges.start[used] - origin,
            "duration_ns": (ranges.stop - ranges.start)[used],
            "style": style_texts(styles(view, ranges.index, ranges.row)[used]),
            **nesting_data(view, ranges, used),
            "gpu_operations": ranges.work[used],
        },
        targets=event_targets(ranges.row[used]),
        scope=scope_text(view, english("Ranges that launched GPU work")),
    )


report = ReportSpec(
    "nvtx_gpu_proj_trace",
    "Ranges projected onto the GPU (list)",
    "ranges",
    nvtx_gpu_proj_trace,
    needs=("range",),
    place=506,
    of_launches=True,
)
