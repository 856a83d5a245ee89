"""Time of each GPU: computation, communication, copies, their overlap, and idle time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import ratio, scope_text
from warpline.analysis.structure.gpus import (
    COMMUNICATION,
    COMPUTATION,
    MEMORY,
    active_span,
    activity_combinations,
    gpus,
)
from warpline.analysis.structure.overlap import time_of, time_of_all
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
ROWS = (
    ("busy", 0),
    ("computation", 1),
    ("communication", 1),
    ("exposed_communication", 2),
    ("memory", 1),
    ("exposed_memory", 2),
    ("computation_and_communication", 1),
    ("computation_and_memory", 1),
    ("communication_and_memory", 1),
    ("idle", 0),
)
TITLES = {
    "busy": english("Busy"),
    "computation": english("Computation"),
    "communication": english("Communication"),
    "exposed_communication": english("exposed (no computation)"),
    "memory": english("Copies and sets"),
    "exposed_memory": english("exposed (no kernels)"),
    "computation_and_communication": english("Computation and communication together"),
    "computation_and_memory": english("Computation and copies together"),
    "communication_and_memory": english("Communication and copies together"),
    "idle": english("Idle"),
}


def activity_times(combinations: Int64Array) -> dict[str, int]:
    """The rows of the report from `activity_combinations` (ns each).

    ``exposed_communication`` is communication without computation, ``exposed_memory`` memory operations without
    kernels.
    """
    everything = COMPUTATION | COMMUNICATION | MEMORY
    return {
        "busy": time_of(combinations, everything),
        "computation": time_of(combinations, COMPUTATION),
        "communication": time_of(combinations, COMMUNICATION),
        "exposed_communication": time_of(combinations, COMMUNICATION, COMPUTATION),
        "memory": time_of(combinations, MEMORY),
        "exposed_memory": time_of(combinations, MEMORY, COMPUTATION | COMMUNICATION),
        "computation_and_communication": time_of_all(combinations, COMPUTATION | COMMUNICATION),
        "computation_and_memory": time_of_all(combinations, COMPUTATION | MEMORY),
        "communication_and_memory": time_of_all(combinations, COMMUNICATION | MEMORY),
        "idle": int(combinations[0]),
    }


def overlap(view: View, _options: Options) -> Table | NotRecorded:
    """Time of each GPU by activity, as lengths of unions: overlaps count once."""
    if not view.has(*GPU_KINDS):
        return missing("gpu")
    names: list[str | None] = []
    keys: list[str | None] = []
    depth: list[int] = []
    times: list[int] = []
    active: list[float] = []
    for gpu in gpus(view):
        values = activity_times(activity_combinations(view, gpu))
        first, last = active_span(view, gpu)
        outside = view.duration_ns - (last - first)
        names.append(gpu.title)
        keys.append(None)
        depth.append(0)
        times.append(view.duration_ns)
        active.append(float("nan"))
        for key, level in ROWS:
            names.append(TITLES[key])
            keys.append(key)
            depth.append(level + 1)
            times.append(values[key])
            part = values[key] - (outside if key == "idle" else 0)
            active.append(part / (last - first) if last > first else float("nan"))
    total = np.array(times, np.int64)
    return Table(
        (
            Column("name", "GPU and activity", Role.NAME, key=True, ours=True),
            Column("activity", "Activity", Role.CODE),
            Column("total_ns", "Total Time", Role.DURATION),
            Column("ratio", "Share", Role.SHARE, of=english("the selected range"), heat=True, lead=1),
            Column(
                "active_ratio",
                "Active Share",
                Role.RATIO,
                of=english("the time from the first to the last operation in it"),
            ),
        ),
        {
            "name": names,
            "activity": keys,
            "total_ns": total,
            "ratio": ratio(total, view.duration_ns),
            "active_ratio": np.array(active, np.float64),
        },
        depth=np.array(depth, np.int16),
        scope=scope_text(view, english("Time of each GPU")),
    )


report = ReportSpec("overlap", "GPU time: busy, idle, overlap", "gpu", overlap, needs=GPU_KINDS, place=401)
