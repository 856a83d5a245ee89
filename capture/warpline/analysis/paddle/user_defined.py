"""Paddle's summary of the ranges a user marked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import combine_keys, name_targets, name_texts, scope_text
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.paddle.cpu_gpu import both_sides, side_columns, side_data
from warpline.analysis.paddle.phases import OF_RANGE, OF_STEPS
from warpline.analysis.structure.event_types import is_memory_operation, type_code
from warpline.analysis.structure.host_events import HostEvents, threads_with_events
from warpline.analysis.structure.steps import find_steps
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def user_defined(view: View, options: Options) -> Table | NotRecorded:
    """Ranges a user marked (RecordEvent, record_function, NVTX), by name."""
    if not view.has("range", "phase"):
        return missing("range")
    code = type_code("PythonUserDefined")
    parts: list[HostEvents] = [
        found.events.take(np.flatnonzero(found.events.type == code)) for found in threads_with_events(view)
    ]
    names = np.concatenate([np.empty(0, np.uint32), *(part.name for part in parts)])
    strings = view.capture.strings
    distinct, inverse = np.unique(names, return_inverse=True)
    copies = np.array([is_memory_operation(text) for text in strings.get(distinct.tolist())] + [False])
    keep = ~copies[inverse] if len(names) else np.empty(0, bool)

    def column(attribute: str) -> Int64Array:
        joined: Int64Array = np.concatenate(
            [np.empty(0, np.int64), *(getattr(part, attribute) for part in parts)]
        )
        kept: Int64Array = joined[keep]
        return kept

    name = names[keep].astype(np.int64)
    thread = column("thread") if options.by_thread else np.zeros(len(name), np.int64)
    key, first = combine_keys(thread, name)
    sides = both_sides(key, column("cpu_ns"), column("gpu_ns"))
    of_group = first[sides.cpu.key]
    order = np.lexsort((-sides.cpu.total, thread[of_group]))
    steps = find_steps(view, options)
    inside = int((np.minimum(steps.stop, view.stop_ns) - np.maximum(steps.start, view.start_ns)).sum())
    of = OF_STEPS if inside else OF_RANGE
    whole = inside or view.duration_ns
    group_name = name[of_group][order]
    data: dict[str, Values] = {"name": name_texts(view, group_name)}
    columns = [Column("name", "Name", Role.NAME, key=True)]
    if options.by_thread:
        titles = thread_titles(view)
        data["thread"] = [titles(int(number)) for number in thread[of_group][order].tolist()]
        columns.append(Column("thread", "Thread", Role.TEXT, key=True))
    data.update(side_data(sides, order, whole, whole, has_gpu=view.has(*GPU_KINDS)))
    return Table(
        (*columns, *side_columns(of, of)),
        data,
        targets=name_targets(view, group_name, None),
        scope=scope_text(view, english("Ranges of the user")),
        notes=(english("GPU time is that of the work launched inside a range, on its thread."),),
    )


report = ReportSpec(
    "user_defined", "Ranges of the user", "framework", user_defined, needs=("range", "phase"), place=211
)
