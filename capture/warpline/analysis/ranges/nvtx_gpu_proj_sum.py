"""Nsight's summary of ranges projected on the GPU."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import combine_keys, scope_text, stat_columns, stat_data
from warpline.analysis.ranges.nested_ranges import projected_ranges
from warpline.analysis.ranges.range_names import RangeNames, range_targets, style_texts, styles
from warpline.i18n import english


def nvtx_gpu_proj_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges by name: from the first to the last GPU operation they launched."""
    ranges = projected_ranges(view)
    if isinstance(ranges, NotRecorded):
        return ranges
    names = RangeNames(view)
    used = np.flatnonzero(ranges.work > 0)
    code = names.codes(ranges.index, view.names(ranges.row))[used]
    style = styles(view, ranges.index, ranges.row)[used]
    key, first = combine_keys(code, style)
    stats = group_statistics(key, (ranges.work_stop - ranges.work_start)[used])
    operations = np.bincount(key, weights=ranges.work[used], minlength=len(first)).astype(np.int64)
    levels = np.bincount(key, weights=ranges.level[used], minlength=len(first))
    children = np.bincount(key, weights=ranges.children[used], minlength=len(first))
    order = np.argsort(-stats.total, kind="stable")
    stats = stats.take(order)
    of_group = first[stats.key]
    return Table(
        (
            Column("name", "Range", Role.NAME, key=True),
            Column("style", "Style", Role.TEXT, key=True),
            *stat_columns(english("Range Instances"), "", with_ratio=False, title=english("Proj")),
            Column("gpu_operations", "Total GPU Ops", Role.COUNT),
            Column("avg_gpu_operations", "Avg GPU Ops", Role.NUMBER),
            Column("avg_level", "Avg Range Lvl", Role.NUMBER),
            Column("avg_children", "Avg Num Child", Role.NUMBER),
        ),
        {
            "name": names.texts(code[of_group]),
            "style": style_texts(style[of_group]),
            **stat_data(stats, with_ratio=False),
            "gpu_operations": operations[order],
            "avg_gpu_operations": operations[order] / stats.count,
            "avg_level": levels[order] / stats.count,
            "avg_children": children[order] / stats.count,
        },
        targets=range_targets(view, code[of_group]),
        scope=scope_text(view, english("Ranges that launched GPU work")),
    )


report = ReportSpec(
    "nvtx_gpu_proj_sum",
    "Ranges projected on the GPU",
    "ranges",
    nvtx_gpu_proj_sum,
    needs=("range",),
    place=505,
    of_launches=True,
)
