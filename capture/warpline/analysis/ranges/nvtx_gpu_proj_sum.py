"""Nsight's summary of ranges projected onto the GPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import Groups, scope_text, stat_columns, stat_data
from warpline.analysis.ranges.nested_ranges import launching_ranges, why_not_projected
from warpline.analysis.ranges.range_names import RangeNames, range_targets, style_texts, styles
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def nvtx_gpu_proj_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges by name, from the first to the last GPU operation launched inside."""
    if (why := why_not_projected(view)) is not None:
        return why
    names, groups = RangeNames(view), Groups()
    numbers: list[npt.NDArray[np.uint32]] = []
    spans: list[Int64Array] = []
    sums = np.zeros((3, 0), np.int64)
    for launchers in launching_ranges(view):
        name = view.names(launchers["row"])
        number = groups.codes(
            names.domains(launchers["index"]), name, styles(view, launchers["index"], launchers["row"])
        )
        added = np.zeros((3, len(groups)), np.int64)
        added[:, : sums.shape[1]] = sums
        for total, column in zip(added, ("works", "level", "children"), strict=True):
            total += np.bincount(number, weights=launchers[column], minlength=len(total)).astype(np.int64)
        sums = added
        numbers.append(number)
        spans.append(launchers["work_stop"] - launchers["work_start"])
    domain, name, style = (np.ma.getdata(c) for c in groups.columns(np.arange(sums.shape[1]), 3))
    code = (domain << 32) | name
    # Among equal totals, the lower code comes first.
    first = np.lexsort((style, code))
    place = np.empty(len(first), np.int64)
    place[first] = np.arange(len(first))
    stats = batch_statistics(lambda: ((place[n], span) for n, span in zip(numbers, spans, strict=True)))
    operations, levels, children = sums[:, first]
    order = np.argsort(-stats.total, kind="stable")
    stats = stats.take(order)
    rows = first[stats.key]
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
            "name": names.texts(code[rows]),
            "style": style_texts(style[rows]),
            **stat_data(stats, with_ratio=False),
            "gpu_operations": operations[order],
            "avg_gpu_operations": operations[order] / stats.count,
            "avg_level": levels[order] / stats.count,
            "avg_children": children[order] / stats.count,
        },
        targets=range_targets(view, code[rows]),
        scope=scope_text(view, english("Ranges that launched GPU work")),
    )


report = ReportSpec(
    "nvtx_gpu_proj_sum",
    "Ranges projected onto the GPU",
    "ranges",
    nvtx_gpu_proj_sum,
    needs=("range",),
    place=505,
    of_launches=True,
)
