"""Paddle's overview: calls and time by event type."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.lane_sweep import NONE, times_together
from warpline.analysis.framework.loops.lane_times import name_counts
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selected.selected_events import join_events
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import ratio, scope_text
from warpline.analysis.paddle.phases import (
    OF_RANGE,
    OF_STEPS,
    phase_events,
    step_time,
    tracks_by_rank,
    tracks_of_host,
)
from warpline.analysis.structure.event_types import (
    HOST_KINDS,
    HOST_TYPES,
    PHASES,
    event_types,
    type_code,
    types_of_names,
)
from warpline.analysis.structure.gpus import windows_of
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.overlap import combination_times, time_of
from warpline.analysis.structure.steps import find_steps
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_GPU_TYPES = (("Kernel", ("kernel",)), ("Memcpy", ("memcpy",)), ("Memset", ("memset",)))


def host_times(view: View) -> tuple[Int64Array, Int64Array]:
    """Calls of each of `HOST_TYPES`, and how long sets of them ran together, summed over ranks.

    Times are int64 ns, exact, by the set of types that any thread of a rank runs (bit *i*: type *i*); see
    `warpline.analysis.structure.overlap.time_of`. Needs bounded memory.
    """
    calls = np.zeros(len(HOST_TYPES), np.int64)
    times = np.zeros(1 << len(HOST_TYPES), np.int64)
    kinds = tuple(kind for kind in HOST_KINDS if kind in view.capture.kinds)
    host = tracks_of_host(view)
    swept = _host_sweep(view, kinds, host)
    if swept is not None:
        return swept
    for kind in kinds:
        for events in view.batches(kind, host):
            calls += np.bincount(event_types(view, kind, events), minlength=len(HOST_TYPES))
    ranks = tracks_by_rank(view, host)
    for tracks, window in ((own, window) for own in ranks for window in windows_of(view, own, kinds=kinds)):
        parts = [(kind, window.events(kind, tracks)) for kind in kinds]
        types = np.concatenate(
            [np.empty(0, np.int64), *(event_types(view, kind, part) for kind, part in parts)]
        )
        events = join_events([part for _, part in parts])
        chosen = [types == code for code in range(len(HOST_TYPES))]
        activities = [(events.start[here], events.stop[here]) for here in chosen]
        times += combination_times(activities, window.start_ns, window.stop_ns)
    return calls, times


def _host_sweep(
    view: View, kinds: tuple[str, ...], host: frozenset[int]
) -> tuple[Int64Array, Int64Array] | None:
    """`host_times` by one sweep over the lanes of each rank.

    None if the sweep is not compiled, or if types depend on more than names.
    """
    calls, times = np.zeros(len(HOST_TYPES), np.int64), np.zeros(1 << len(HOST_TYPES), np.int64)
    tables: dict[str, npt.NDArray[np.uint8]] = {}
    for kind in kinds:
        counts = name_counts(view, kind, host)
        names = np.flatnonzero(counts)
        codes = types_of_names(view, kind, names)
        if codes is None:
            return None
        tables[kind] = np.full(len(counts), NONE, np.uint8)
        tables[kind][names] = codes
        np.add.at(calls, codes, counts[names])
    for tracks in tracks_by_rank(view, host):
        together = times_together(view, tracks, tables, len(HOST_TYPES))
        if together is None:
            return None
        times += together.sets
    return calls, times


def overview(view: View, options: Options) -> Table | NotRecorded:
    """Calls and time by event type; overlaps within a type count once."""
    if not view.has(*HOST_KINDS, *GPU_KINDS):
        return missing("operator")
    calls, together = host_times(view)
    times = np.array([time_of(together, 1 << code) for code in range(len(HOST_TYPES))], np.int64)
    for phase in PHASES:
        if calls[type_code(phase)]:
            calls[type_code(phase)] = len(phase_events(view, phase, tracks_of_host(view)))
    if options.step:
        steps = find_steps(view, options)
        calls[0], times[0] = len(steps), step_time(view, options)
    whole = int(times[0]) or view.duration_ns * max(len(tracks_by_rank(view, view.tracks)), 1)
    rows: list[tuple[str, int, int, int, str]] = []
    if calls[0]:
        rows.append((HOST_TYPES[0], int(calls[0]), int(times[0]), 0, "cpu"))
    others = [code for code in range(1, len(HOST_TYPES)) if calls[code]]
    others.sort(key=lambda code: -int(times[code]))
    rows += [(HOST_TYPES[code], int(calls[code]), int(times[code]), 1, "cpu") for code in others]
    rows += _gpu_rows(view)
    total = np.array([row[2] for row in rows], np.int64)
    return Table(
        (
            Column("name", "Event Type", Role.NAME, key=True),
            Column("side", "Side", Role.TEXT, key=True),
            Column("count", "Calls", Role.COUNT),
            Column("total_ns", "Time", Role.DURATION),
            Column("ratio", "Ratio", Role.SHARE, of=OF_STEPS if times[0] else OF_RANGE, heat=True, lead=1),
        ),
        {
            "name": [row[0] for row in rows],
            "side": [row[4] for row in rows],
            "count": np.array([row[1] for row in rows], np.int64),
            "total_ns": total,
            "ratio": ratio(total, whole),
        },
        depth=np.array([row[3] for row in rows], np.int16),
        scope=scope_text(view, english("Events by type")),
        notes=(english("Types overlap (an operator contains its parts), so ratios do not add up to 100 %."),),
    )


def _gpu_rows(view: View) -> list[tuple[str, int, int, int, str]]:
    """Rows of the GPU types: the union of each type's intervals over the GPUs and streams of each rank."""
    devices = frozenset(t.index for t in view.capture.tracks if t.device is not None)
    communication = communication_ids(view)
    present = {name: [kind for kind in kinds if kind in view.capture.kinds] for name, kinds in _GPU_TYPES}
    counts = {name: sum(view.count(kind, devices) for kind in kinds) for name, kinds in present.items()}
    counts["Communication"] = sum(
        int(name_counts(view, kind, devices)[: len(communication)][communication].sum())
        for kind in present["Kernel"]
    )
    times: dict[str, int] = {}
    for tracks in tracks_by_rank(view, devices):
        for key, time in _gpu_times(view, tracks, communication).items():
            times[key] = times.get(key, 0) + time
    return [(key, n, times.get(key, 0), 1, "gpu") for key, n in counts.items() if n]


def _gpu_times(view: View, tracks: frozenset[int], communication: npt.NDArray[np.bool_]) -> dict[str, int]:
    """Length of the union of each type's intervals on some tracks (ns)."""
    tables = {
        kind: communication.astype(np.uint8)
        if name == "Kernel"
        else np.full(len(communication), number, np.uint8)
        for number, (name, kinds) in enumerate(_GPU_TYPES, 1)
        for kind in kinds
    }
    together = times_together(view, tracks, tables, 4)
    if together is not None:
        sets = together.sets
        return {
            "Kernel": time_of(sets, 1 | 2),
            "Communication": time_of(sets, 2),
            "Memcpy": time_of(sets, 4),
            "Memset": time_of(sets, 8),
        }
    times: dict[str, int] = {}
    for window in windows_of(view, tracks):
        for name, kinds in _GPU_TYPES:
            events = join_events(
                [window.events(kind, tracks) for kind in kinds if kind in view.capture.kinds]
            )
            if not len(events):
                continue
            groups = [(name, np.ones(len(events), bool))]
            if name == "Kernel":
                groups.append(("Communication", communication[events.name]))
            for key, chosen in groups:
                part = (events.start[chosen], events.stop[chosen])
                busy = combination_times([part], window.start_ns, window.stop_ns)
                times[key] = times.get(key, 0) + int(busy[1])
    return times


report = ReportSpec(
    "overview", "Overview by event type", "framework", overview, needs=(*HOST_KINDS, *GPU_KINDS), place=202
)
