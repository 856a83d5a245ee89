"""Operators by the shapes of their inputs."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.paddle.operator_groups import OperatorGroups, summed
from warpline.analysis.paddle.operator_table import operator_lines, operator_table, operators_of
from warpline.analysis.structure.host_events import threads_with_events
from warpline.i18n import english


def operator_shapes(view: View, options: Options) -> Table | NotRecorded:
    """Operators by input shapes."""
    if not view.has("operator"):
        return missing("operator")
    if "input_shapes" not in view.capture.kinds["operator"].attributes:
        return NotRecorded(
            english("input shapes were not recorded"),
            english("record with --torch-shapes 3, or turn on record_shapes in the framework's profiler"),
        )
    parts: list[OperatorGroups] = []
    for thread_events in threads_with_events(view):
        events = operators_of(thread_events)
        shapes = np.ma.filled(view.column("operator", "input_shapes", events.index), 0).astype(np.int64)
        parts += summed([operator_lines(view, events, below, options) for below in ((shapes,), ())])
    strings = view.capture.strings
    return operator_table(
        view, parts, options, lambda code: strings[code] or "(no shapes)", "Operators by input shapes"
    )


report = ReportSpec(
    "operator_shapes",
    "Operators by input shapes",
    "framework",
    operator_shapes,
    needs=("operator",),
    place=206,
)
