"""Waits of Python threads for the GIL, and the thread that held it."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import (
    combine_keys,
    event_targets,
    ratio,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.framework.thread_columns import PID_TID, pid_tid, pid_tid_data, thread_texts
from warpline.i18n import english
from warpline.model.waits import WaitKind


def gil(view: View, _options: Options) -> Table | NotRecorded:
    """Waits for the GIL by waiting thread and by the thread that held it when the wait began."""
    if not view.has("osrt") or "wait" not in view.capture.kinds["osrt"].attributes:
        return missing("wait")
    events = view.events("osrt")
    kind = np.ma.filled(view.column("osrt", "wait", events.index), 0)
    events = events.take(kind == WaitKind.GIL)
    thread = view.thread_of(events.row)
    holder = np.ma.filled(view.column("osrt", "holder", events.index).astype(np.int64), -1)
    holder[holder == pid_tid(view, thread)[1]] = -1  # the thread released it and waits until another takes it
    key, first = combine_keys(thread, holder)
    stats = group_statistics(key, events.inside).by_total()
    rows = first[stats.key]
    named = {entry.tid: f"{entry.name} ({entry.tid})" for entry in view.capture.threads}
    return Table(
        (
            *stat_columns(english("Waits"), english("all waiting time for the GIL")),
            Column("of_range_ratio", "Share of Range", Role.RATIO, of=english("the selected range")),
            Column("name", "Thread", Role.NAME, key=True),
            Column("holder", "Held by", Role.TEXT, key=True),
            *PID_TID,
        ),
        {
            **stat_data(stats),
            "of_range_ratio": ratio(stats.total, view.duration_ns),
            "name": thread_texts(view, thread[rows]),
            "holder": Texts(holder[rows], lambda tid: named.get(tid, str(tid)) if tid >= 0 else ""),
            **pid_tid_data(view, thread[rows]),
        },
        targets=event_targets(events.row[rows]),
        scope=scope_text(view, english("Waits for the GIL")),
    )


report = ReportSpec("gil", "GIL waits", "cpu", gil, needs=("osrt",), place=605)
