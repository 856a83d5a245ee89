"""Nsight's list of CUDA API calls."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts, unrecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import event_targets, name_texts, scope_text
from warpline.analysis.framework.thread_columns import pid_tid_data
from warpline.i18n import english


def cuda_api_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every CUDA API call by time."""
    if not view.has("cuda_api"):
        return missing("cuda_api")
    events = view.events("cuda_api")
    events = events.take(np.argsort(events.start, kind="stable"))
    capture = view.capture
    threads = np.maximum(view.thread_of(events.row), -1)
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
            **pid_tid_data(view, threads),
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
