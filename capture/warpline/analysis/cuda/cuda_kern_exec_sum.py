"""Nsight's summary of kernel launches, with queue time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.cuda.kernel_executions import executions, missing_executions, total_ns
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics, group_statistics
from warpline.analysis.framework.tables import combine_keys, masked_below_zero, name_texts, scope_text
from warpline.analysis.framework.thread_columns import PID_TID, pid_tid_data, rank_columns
from warpline.i18n import english
from warpline.model.intervals import launch_delay_ns


def cuda_kern_exec_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Kernel launches by thread, device, call and kernel: total, call, queue and kernel time."""
    launched = executions(view)
    if launched is None:
        return missing_executions(view)
    events, launches, name = launched
    track = view.track_of(events.row) if len(events) else np.empty(0, np.int64)
    device = view.track_values("device")[track]
    calls = view.names(launches.call).astype(np.int64)
    key, first = combine_keys(launches.thread, device, calls, name)
    queue = launch_delay_ns(launches.call_stop, launches.work_start)
    queued = queue > 0
    parts: dict[str, GroupStatistics] = {
        "total": group_statistics(key, total_ns(launches)),
        "api": group_statistics(key, launches.call_stop - launches.call_start),
        "queue": group_statistics(key[queued], queue[queued]),
        "kernel": group_statistics(key, launches.work_ns),
    }
    order = np.argsort(-parts["total"].total, kind="stable")
    rows = first[order]
    place = np.full(len(first), -1, np.int64)
    place[parts["queue"].key] = np.arange(len(parts["queue"]))
    place = place[order]
    rank, ranks = rank_columns(view, launches.thread[rows])
    data: dict[str, Values] = {
        **ranks,
        **pid_tid_data(view, launches.thread[rows]),
        "device": masked_below_zero(device[rows]),
        "count": parts["total"].count[order],
        "queue_count": np.where(place >= 0, np.append(parts["queue"].count, 0)[place], 0),
    }
    columns = [
        *rank,
        *PID_TID,
        Column("device", "DevId", Role.ID, key=True),
        Column("count", "Count", Role.COUNT),
        Column("queue_count", "QCount", Role.COUNT),
    ]
    for letter, part in (("T", "total"), ("A", "api"), ("Q", "queue"), ("K", "kernel")):
        for field, title in (
            ("avg", "Avg"),
            ("med", "Med"),
            ("min", "Min"),
            ("max", "Max"),
            ("stddev", "StdDev"),
        ):
            values = getattr(parts[part], field)
            if part == "queue":
                column: npt.NDArray[Any] = np.ma.MaskedArray(np.append(values, 0)[place], place < 0)
            else:
                column = values[order]
            data[f"{part}_{field}_ns"] = column
            columns.append(Column(f"{part}_{field}_ns", f"{letter}{title}", Role.DURATION))
    data["api_name"] = name_texts(view, calls[rows])
    data["name"] = name_texts(view, name[rows])
    columns += [
        Column("api_name", "API Name", Role.TEXT, key=True),
        Column("name", "Kernel Name", Role.NAME, key=True),
    ]
    kinds = view.capture.kinds
    return Table(
        tuple(columns),
        data,
        targets=Targets(
            names=name[rows].astype(np.uint32),
            kinds=np.full(len(rows), kinds["kernel"].code, np.int16),
        ),
        scope=scope_text(view, english("Kernels with a launching call")),
    )


report = ReportSpec(
    "cuda_kern_exec_sum",
    "Kernel launches: call, queue and kernel time",
    "gpu",
    cuda_kern_exec_sum,
    needs=("kernel",),
    place=110,
    of_launches=True,
)
