"""Nsight's list of nested ranges."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import event_targets, scope_text
from warpline.analysis.ranges.nested_ranges import (
    DEEPEST_STACK,
    NESTING_COLUMNS,
    THREAD_COLUMNS,
    all_ranges,
    nesting_data,
)
from warpline.analysis.ranges.range_names import PUSH_POP, RangeNames, styles
from warpline.i18n import english


def nvtx_pushpop_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every nested range with its children, level and path."""
    if not view.has("range"):
        return missing("range")
    ranges = all_ranges(view)
    names = RangeNames(view)
    name = names.codes(ranges.index, view.names(ranges.row))
    pushed = np.flatnonzero(styles(view, ranges.index, ranges.row) == PUSH_POP)
    duration = (ranges.stop - ranges.start)[pushed]
    origin = view.capture.span[0]
    indents = np.minimum(ranges.level, DEEPEST_STACK)
    indent = Texts(pushed, lambda i: "  " * int(indents[i]) + names.lookup(int(name[i])))
    return Table(
        (
            Column("start_ns", "Start", Role.TIME),
            Column("end_ns", "End", Role.TIME),
            Column("duration_ns", "Duration", Role.DURATION),
            Column("children_ns", "DurChild", Role.DURATION),
            Column("own_ns", "DurNonChild", Role.DURATION),
            Column("name", "Name", Role.NAME),
            *THREAD_COLUMNS,
            *NESTING_COLUMNS,
            Column("name_tree", "NameTree", Role.TEXT),
        ),
        {
            "start_ns": ranges.start[pushed] - origin,
            "end_ns": ranges.stop[pushed] - origin,
            "duration_ns": duration,
            "children_ns": duration - ranges.own[pushed],
            "own_ns": ranges.own[pushed],
            "name": names.texts(name[pushed]),
            **nesting_data(view, ranges, pushed),
            "name_tree": indent,
        },
        targets=event_targets(ranges.row[pushed]),
        scope=scope_text(view, english("Nested ranges")),
    )


report = ReportSpec(
    "nvtx_pushpop_trace",
    "Nested ranges (list)",
    "ranges",
    nvtx_pushpop_trace,
    needs=("range",),
    place=504,
)
