"""Utilization of cores, and the thread that used each most."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_totals
from warpline.analysis.framework.tables import ratios, scope_text
from warpline.i18n import english
from warpline.model import Track


def _core_title(track: Track) -> str:
    title = track.title or track.uri
    return title if track.rank is None else f"Rank {track.rank} · {title}"


def core_utilization(view: View, _options: Options) -> Table | NotRecorded:
    """Busy time and slices of each core, and the thread that used it most."""
    if not view.has("cpu_slice"):
        return missing("cpu_slice")
    tracks = view.tracks_of_role("core")
    if not tracks:
        return missing("cpu_slice")
    busy, switches, top, top_ns = [], [], [], []
    for track in tracks:
        total = np.zeros(max(len(view.capture.strings), 1), np.int64)
        count = 0
        for events in view.batches("cpu_slice", frozenset([track.index])):
            total += group_totals(events.name, events.inside, len(total))[1]
            count += len(events)
        busy.append(int(total.sum()))
        switches.append(count)
        best = int(total.argmax())
        top.append(best if total[best] else -1)
        top_ns.append(int(total[best]))
    busy_ns = np.array(busy, np.int64)
    duration = np.full(len(tracks), view.duration_ns)
    return Table(
        (
            Column("name", "Core", Role.NAME, key=True, ours=True),
            Column("busy_ns", "Busy", Role.DURATION),
            Column("ratio", "Utilization", Role.SHARE, of=english("the selected range"), heat=True, lead=1),
            Column("count", "Slices", Role.COUNT),
            Column("top_thread", "Top Thread", Role.TEXT),
            Column("top_ns", "Top Thread Time", Role.DURATION),
            Column("top_ratio", "Top Thread Share", Role.RATIO, of=english("the core's busy time")),
        ),
        {
            "name": [_core_title(t) for t in tracks],
            "busy_ns": busy_ns,
            "ratio": ratios(busy_ns, duration),
            "count": np.array(switches, np.int64),
            "top_thread": Texts(np.array(top, np.int64), view.capture.strings.__getitem__),
            "top_ns": np.array(top_ns, np.int64),
            "top_ratio": ratios(np.array(top_ns), busy_ns),
        },
        targets=Targets(tracks=np.array([t.index for t in tracks], np.int32)),
        scope=scope_text(view, english("Cores")),
        notes=(english("Other programs are missing unless the whole machine was traced."),),
    )


report = ReportSpec(
    "core_utilization",
    "Core utilization",
    "cpu",
    core_utilization,
    needs=("cpu_slice",),
    place=602,
    of_tracks=True,
)
