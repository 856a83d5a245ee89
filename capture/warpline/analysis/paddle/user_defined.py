"""Paddle's summary of user-defined ranges."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.loops.nested import BY_NAME
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import name_targets, name_texts, scope_text
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.paddle.cpu_gpu import side_columns, side_data
from warpline.analysis.paddle.operator_groups import (
    NO_GROUPS,
    OperatorGroups,
    compiled_groups,
    joined_groups,
    merged_groups,
    summed,
)
from warpline.analysis.paddle.operator_table import operator_lines
from warpline.analysis.paddle.phases import step_reference
from warpline.analysis.structure.event_types import is_memory_operation, type_code
from warpline.analysis.structure.host_events import ThreadEvents, threads_with_events
from warpline.i18n import english


def user_defined(view: View, options: Options) -> Table | NotRecorded:
    """User-defined ranges (RecordEvent, record_function, NVTX) by name."""
    if not view.has("range", "phase"):
        return missing("range")
    parts = compiled_groups(view, "PythonUserDefined", BY_NAME, by_thread=options.by_thread)
    if parts is None:
        parts = [part for events in threads_with_events(view) for part in _summed(view, events, options)]
    groups = merged_groups(joined_groups([NO_GROUPS, *parts]))
    texts = view.capture.strings.get(groups.path[0].tolist())
    keep = np.flatnonzero([not is_memory_operation(text) for text in texts])
    name, thread = groups.path[0][keep], groups.thread[keep]
    sides = groups.sides(keep)
    order = np.lexsort((-sides.cpu.total, thread))
    whole, reference = step_reference(view, options)
    group_name = name[order]
    data: dict[str, Values] = {"name": name_texts(view, group_name)}
    columns = [Column("name", "Name", Role.NAME, key=True)]
    if options.by_thread:
        titles = thread_titles(view)
        data["thread"] = [titles(int(number)) for number in thread[order].tolist()]
        columns.append(Column("thread", "Thread", Role.TEXT, key=True))
    data.update(side_data(sides, order, whole, whole, has_gpu=view.has(*GPU_KINDS)))
    return Table(
        (*columns, *side_columns(reference, reference)),
        data,
        targets=name_targets(view, group_name, None),
        scope=scope_text(view, english("User-defined ranges")),
        notes=(english("GPU time is that of work launched inside a range on its thread."),),
    )


def _summed(view: View, events: ThreadEvents, options: Options) -> list[OperatorGroups]:
    marked = np.flatnonzero(events.events.type == type_code("PythonUserDefined"))
    return summed([operator_lines(view, events.events.take(marked), (), options)])


report = ReportSpec(
    "user_defined", "User-defined ranges", "framework", user_defined, needs=("range", "phase"), place=211
)
