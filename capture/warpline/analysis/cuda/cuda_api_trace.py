"""Nsight's list of CUDA API calls."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts, unrecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import event_targets, masked_below_zero, name_texts, scope_text
from warpline.analysis.framework.thread_columns import pid_tid
from warpline.i18n import english


def cuda_api_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every CUDA API call by time."""
    if not view.has("cuda_api"):
        return missing("cuda_api")
    events = view.events("cuda_api")
    events = events.take(np.argsort(events.start, kind="stable"))
    capture = view.capture
    thread_of = np.array([-1 if t.thread is None else t.thread for t in capture.tracks] or [-1], np.int64)
    threads = thread_of[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    pids, tids = pid_tid(view, threads)
    return Table(
        (
            Column("start_ns", "Start", Role.TIME),
            Column("duration_ns", "Duration", Role.DURATION),
            Column("name", "Name", Role.NAME),
            Column("result", "Result", Role.ID),
            Column("correlation", "CorrID", Role.ID),
            Column("pid", "Pid", Role.ID),
            Column("tid", "Tid", Role.ID),
            Column("priority", "T-Pri", Role.NUMBER),
            Column("thread_name", "Thread Name", Role.TEXT),
        ),
        {
            "start_ns": events.start - view.capture.span[0],
            "duration_ns": events.duration,
            "name": name_texts(view, events.name),
            "result": view.column("cuda_api", "return_value", events.index),
            "correlation": view.column("cuda_api", "correlation", events.index),
            "pid": masked_below_zero(pids),
            "tid": masked_below_zero(tids),
            "priority": unrecorded(len(events), np.int64),
            "thread_name": Texts(threads, lambda thread: capture.threads[thread].name or None),
        },
        targets=event_targets(events.row),
        scope=scope_text(view, english("CUDA API calls")),
        notes=(english("T-Pri (thread priority) is not recorded."),),
    )


report = ReportSpec(
    "cuda_api_trace", "CUDA API calls (list)", "gpu", cuda_api_trace, needs=("cuda_api",), place=102
)
