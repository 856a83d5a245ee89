"""Launch delay by kernel: how far the host runs ahead of the GPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import kind_code, name_texts, scope_text, stat_columns, stat_data
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import gpu_events, has_launches, launch_of_each
from warpline.i18n import english
from warpline.model.intervals import launch_delay_ns

Int64Array = npt.NDArray[np.int64]


def launch_latency(view: View, _options: Options) -> Table | NotRecorded:
    """Delay between launching call and kernel by name, and the number of kernels shorter than their call."""
    if not view.has("kernel"):
        return missing("kernel")
    if not has_launches(view):
        return missing("launch")
    events = gpu_events(view, "kernel")
    launches, place = launch_of_each(view, events)
    linked = place >= 0
    events, launches = events.take(linked), launches.take(place[linked])
    name = full_names(view, events).astype(np.int64)
    stats = group_statistics(name, launch_delay_ns(launches.call_stop, launches.work_start)).by_total()
    call_ns = launches.call_stop - launches.call_start
    n = max(len(view.capture.strings), 1)
    calls = np.bincount(name, weights=call_ns, minlength=n)[stats.key]
    kernels = np.bincount(name, weights=launches.work_ns, minlength=n)[stats.key]
    short = np.bincount(name, weights=launches.work_ns < call_ns, minlength=n)[stats.key].astype(np.int64)
    return Table(
        (
            *stat_columns(english("Launches"), "", with_ratio=False, title=english("Delay")),
            Column("call_avg_ns", "Call Avg", Role.DURATION),
            Column("kernel_avg_ns", "Kernel Avg", Role.DURATION),
            Column("shorter_than_call", "Shorter than Call", Role.COUNT),
            Column("name", "Kernel", Role.NAME, key=True),
        ),
        {
            **stat_data(stats, with_ratio=False),
            "call_avg_ns": calls / stats.count,
            "kernel_avg_ns": kernels / stats.count,
            "shorter_than_call": short,
            "name": name_texts(view, stats.key),
        },
        targets=Targets(
            names=stats.key.astype(np.uint32), kinds=np.full(len(stats), kind_code(view, "kernel"), np.int16)
        ),
        scope=scope_text(view, english("Kernels with a launching call")),
    )


report = ReportSpec(
    "launch_latency",
    "Launch latency by kernel",
    "gpu",
    launch_latency,
    needs=("kernel",),
    place=404,
    of_launches=True,
)
