"""Idle time of each GPU by cause."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import ratio, scope_text
from warpline.analysis.structure.gpu_gaps import CAUSES, gpu_gaps
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.launches import has_launches
from warpline.i18n import english

TITLES = {
    "data_loading": english("Data loading"),
    "synchronization": english("Synchronisation"),
    "host": english("Host"),
    "launch_latency": english("Launch latency"),
    "other": english("Other"),
    "end": english("After the last operation"),
}
_EXPLANATION = english(
    "Until the next operation is launched, a gap belongs to the host: data loading, a synchronising call, or anything "
    "else. The rest is launch latency, or other if the work had been launched long before."
)


def gpu_idle(view: View, _options: Options) -> Table | NotRecorded:
    """Idle time of each GPU by cause."""
    if not view.has(*GPU_KINDS):
        return missing("gpu")
    if not has_launches(view):
        return missing("launch")
    names: list[str | None] = []
    keys: list[str | None] = []
    depth: list[int] = []
    total: list[int] = []
    count: list[int] = []
    longest: list[int] = []
    whole: list[int] = []
    for gpu in gpus(view):
        gaps = gpu_gaps(view, gpu)
        lengths = gaps.stop - gaps.start
        idle = int(lengths.sum())
        rows = [(gpu.title, None, 0, lengths)]
        rows += [(TITLES[c], c, 1, gaps.causes[:, i]) for i, c in enumerate(CAUSES)]  # type: ignore[misc]
        for title, key, level, values in rows:
            names.append(title)
            keys.append(key)
            depth.append(level)
            total.append(int(values.sum()))
            count.append(int((values > 0).sum()))
            longest.append(int(values.max(initial=0)))
            whole.append(idle)
    totals = np.array(total, np.int64)
    wholes = np.array(whole, np.float64)
    return Table(
        (
            Column("name", "GPU and cause", Role.NAME, key=True, ours=True),
            Column("cause", "Cause", Role.CODE),
            Column("total_ns", "Idle Time", Role.DURATION),
            Column("idle_ratio", "Share", Role.SHARE, of=english("the GPU's idle time"), heat=True),
            Column(
                "ratio", "Share of Range", Role.SHARE, of=english("the selected range"), heat=True, lead=1
            ),
            Column("count", "Gaps", Role.COUNT),
            Column("max_ns", "Longest", Role.DURATION),
        ),
        {
            "name": names,
            "cause": keys,
            "total_ns": totals,
            "idle_ratio": np.ma.MaskedArray(totals / np.where(wholes > 0, wholes, 1), wholes == 0),
            "ratio": ratio(totals, view.duration_ns),
            "count": np.array(count, np.int64),
            "max_ns": np.array(longest, np.int64),
        },
        depth=np.array(depth, np.int16),
        scope=scope_text(view, english("Idle time of each GPU")),
        notes=(_EXPLANATION,),
    )


report = ReportSpec(
    "gpu_idle", "GPU idle time by cause", "gpu", gpu_idle, needs=GPU_KINDS, place=403, of_launches=True
)
