"""VisualDL's event types by phase: how long each type of event runs in each phase of training."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.paddle.overview import host_times
from warpline.analysis.paddle.phases import phase_events, tracks_by_rank, tracks_of_host
from warpline.analysis.structure.event_types import HOST_KINDS, HOST_TYPES, PHASES, type_code
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.launches import Launches, has_launches, launches_from
from warpline.analysis.structure.overlap import Intervals, covered_ns, time_of, time_of_all
from warpline.i18n import english
from warpline.model.intervals import merge_intervals, union_ns

Int64Array = npt.NDArray[np.int64]
_OTHERS = "Others"
_GPU_TYPES = ("Kernel", "Communication", "Memcpy", "Memset")
_Times = dict[str, dict[str, int]]
"""Time in ns by type and phase."""


def overview_phases(view: View, _options: Options) -> Table | NotRecorded:
    """Time of each type of event in each phase."""
    calls, together = host_times(view)
    phases = [phase for phase in PHASES if calls[type_code(phase)]]
    if not phases:
        return NotRecorded(
            english("phases of training were not recorded"),
            english("record with --trace steps, or mark Forward, Backward and Optimization with ranges"),
        )
    host = _host_rows(calls, together, phases)
    gpu = _gpu_rows(view, phases) if has_launches(view) else {}
    cells = [*host.values(), *gpu.values()]
    data: dict[str, Values] = {
        "name": [*host, *gpu],
        "side": ["cpu"] * len(host) + ["gpu"] * len(gpu),
    }
    columns = [
        Column("name", "Event Type", Role.NAME, key=True),
        Column("side", "Side", Role.TEXT, key=True),
    ]
    for phase in (*phases, _OTHERS):
        key = f"{phase.lower()}_ns"
        columns.append(Column(key, phase if phase != _OTHERS else english("Others"), Role.DURATION))
        data[key] = np.array([times.get(phase, 0) for times in cells], np.int64)
    notes = [
        english(
            "CPU rows: the time in which any thread runs the type while any thread is in the phase. GPU rows: the time"
            " of work launched during the phase. Overlaps within a cell count once; phases may overlap each other."
        )
    ]
    absent = [phase for phase in PHASES if phase not in phases]
    if absent:
        notes.append(
            english("{phases}: not recorded; mark them with ranges of these names.", phases=", ".join(absent))
        )
    if view.has(*GPU_KINDS) and not has_launches(view):
        notes.append(english("GPU work: its phases are unknown, because launches were not recorded."))
    return Table(
        tuple(columns), data, scope=scope_text(view, english("Event types by phase")), notes=tuple(notes)
    )


def _host_rows(calls: Int64Array, together: Int64Array, phases: list[str]) -> _Times:
    """The rows of types on the CPU, longest first."""
    bit = {name: 1 << code for code, name in enumerate(HOST_TYPES)}
    in_any = sum(bit[phase] for phase in phases)
    shown = [
        name for code, name in enumerate(HOST_TYPES) if calls[code] and name not in (*PHASES, "ProfileStep")
    ]
    shown.sort(key=lambda name: -time_of(together, bit[name]))
    return {
        name: {
            **{phase: time_of_all(together, bit[name] | bit[phase]) for phase in phases},
            _OTHERS: time_of(together, bit[name], none_of=in_any),
        }
        for name in shown
    }


def _gpu_rows(view: View, phases: list[str]) -> _Times:
    """The rows of work on GPUs, by the phase in which it was launched."""
    rows: _Times = {name: {} for name in _GPU_TYPES}
    communication = communication_ids(view)
    for tracks in tracks_by_rank(view, tracks_of_host(view)):
        launches = launches_from(view, tracks)
        if not len(launches):
            continue
        types = _types_of_work(view, launches, communication)
        inside = {phase: _is_inside(_intervals(view, phase, tracks), launches) for phase in phases}
        inside[_OTHERS] = ~np.any(list(inside.values()), axis=0)
        for name, is_type in types.items():
            for phase, is_phase in inside.items():
                chosen = launches.take(is_type & is_phase)
                time = union_ns(chosen.work_start, chosen.work_stop)
                rows[name][phase] = rows[name].get(phase, 0) + time
    return {name: cells for name, cells in rows.items() if any(cells.values())}


def _types_of_work(
    view: View, launches: Launches, communication: npt.NDArray[np.bool_]
) -> dict[str, npt.NDArray[np.bool_]]:
    kinds = view.capture.kinds
    code = view.capture.events.kind[launches.work]
    types = {
        name: code == kinds[name.lower()].code
        for name in ("Kernel", "Memcpy", "Memset")
        if name.lower() in kinds
    }
    if "Kernel" in types:
        types["Communication"] = types["Kernel"] & communication[view.names(launches.work)]
    return types


def _intervals(view: View, phase: str, tracks: frozenset[int]) -> Intervals:
    events = phase_events(view, phase, tracks)
    return merge_intervals(events.start, events.stop)


def _is_inside(merged: Intervals, launches: Launches) -> npt.NDArray[np.bool_]:
    start = launches.call_start
    return covered_ns(merged, start, start + 1) > 0


report = ReportSpec(
    "overview_phases", "Event types by phase", "framework", overview_phases, needs=(*HOST_KINDS,), place=218
)
