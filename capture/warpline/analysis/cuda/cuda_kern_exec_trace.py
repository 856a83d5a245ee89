"""Nsight's list of kernel launches, with queue time."""

from __future__ import annotations

import numpy as np

from warpline.analysis.cuda.kernel_executions import executions, missing_executions, total_ns
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import masked_below_zero, name_texts, scope_text
from warpline.analysis.framework.thread_columns import pid_tid_data
from warpline.i18n import english
from warpline.model.intervals import launch_delay_ns


def cuda_kern_exec_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every kernel launch: call, queue and kernel time."""
    launched = executions(view)
    if launched is None:
        return missing_executions(view)
    events, launches, name = launched
    queue = launch_delay_ns(launches.call_stop, launches.work_start)
    queued = queue > 0
    calls = view.names(launches.call)
    axes = {
        part: [view.column("kernel", f"{part}_{axis}", events.index) for axis in "xyz"]
        for part in ("grid", "block")
    }
    origin = view.capture.span[0]
    data: dict[str, Values] = {
        "api_start_ns": launches.call_start - origin,
        "api_duration_ns": launches.call_stop - launches.call_start,
        "queue_start_ns": np.ma.MaskedArray(launches.call_stop - origin, ~queued),
        "queue_duration_ns": np.ma.MaskedArray(queue, ~queued),
        "kernel_start_ns": launches.work_start - origin,
        "kernel_duration_ns": launches.work_ns,
        "total_ns": total_ns(launches),
        **pid_tid_data(view, launches.thread),
        "device": masked_below_zero(view.track_values("device")[view.track_of(events.row)]),
        "api_name": name_texts(view, calls),
    }
    for part, columns in axes.items():
        for axis, column in zip("xyz", columns, strict=True):
            data[f"{part}_{axis}"] = column
    data["name"] = name_texts(view, name)
    return Table(
        (
            Column("api_start_ns", "API Start", Role.TIME),
            Column("api_duration_ns", "API Dur", Role.DURATION),
            Column("queue_start_ns", "Queue Start", Role.TIME),
            Column("queue_duration_ns", "Queue Dur", Role.DURATION),
            Column("kernel_start_ns", "Kernel Start", Role.TIME),
            Column("kernel_duration_ns", "Kernel Dur", Role.DURATION),
            Column("total_ns", "Total Dur", Role.DURATION),
            Column("pid", "PID", Role.ID),
            Column("tid", "TID", Role.ID),
            Column("device", "DevId", Role.ID),
            Column("api_name", "API Function", Role.TEXT),
            *(Column(f"grid_{axis}", f"Grid{axis.upper()}", Role.NUMBER) for axis in "xyz"),
            *(Column(f"block_{axis}", f"Block{axis.upper()}", Role.NUMBER) for axis in "xyz"),
            Column("name", "Kernel Name", Role.NAME),
        ),
        data,
        targets=Targets(rows=launches.work),
        scope=scope_text(view, english("Kernels with a launching call")),
        notes=(english("Kernels that overlap the range are listed with their full duration."),),
    )


report = ReportSpec(
    "cuda_kern_exec_trace",
    "Kernel launches (list)",
    "gpu",
    cuda_kern_exec_trace,
    needs=("kernel",),
    place=111,
    of_launches=True,
)
