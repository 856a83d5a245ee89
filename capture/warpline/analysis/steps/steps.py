"""Step by step: how long, doing what, how busy the GPU, which steps fall out of line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nesting import window_extremes, windows
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.selection import GPU_KINDS, Selection, View, join_events
from warpline.analysis.framework.tables import masked_below_zero, name_texts, ratios, scope_text
from warpline.analysis.structure.event_types import PHASES
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.launches import launches_from
from warpline.analysis.structure.overlap import Intervals, covered_ns
from warpline.analysis.structure.steps import (
    Steps,
    find_steps,
    mean_outliers,
    missing_steps,
    phase_intervals,
)
from warpline.model.intervals import intersect_intervals, merge_intervals, subtract_intervals

Int64Array = npt.NDArray[np.int64]

CATEGORIES = ("kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec", "other")
CATEGORY_TITLES = (
    "Kernel",
    "Memcpy",
    "Memset",
    "Communication",
    "Runtime",
    "DataLoader",
    "CPU Exec",
    "Other",
)


def _wide(view: View, steps: Steps) -> View:
    """Everything from the first step's start to the last one's end (and the GPU work that follows), on all tracks."""
    chosen = view.selection
    return view.other(
        Selection(
            int(steps.start.min()), view.capture.span[1], ranks=chosen.ranks, processes=chosen.processes
        ),
    )


def _groups(steps: Steps) -> list[tuple[int, int, npt.NDArray[np.int64]]]:
    """(process, rank, places) of the steps of each process of each rank."""
    keys = sorted(set(zip(steps.process.tolist(), steps.rank.tolist(), strict=True)))
    return [(p, r, np.flatnonzero((steps.process == p) & (steps.rank == r))) for p, r in keys]


def _gpu_union(view: View, rank: int, kinds: tuple[str, ...] = GPU_KINDS) -> Intervals:
    """When the GPUs of a rank (−1: all) were busy, as one union."""
    parts = [
        view.events(kind, gpu.tracks)
        for gpu in gpus(view)
        if rank < 0 or gpu.rank == rank
        for kind in kinds
        if kind in view.capture.kinds
    ]
    events = join_events([part for part in parts if len(part)])
    return merge_intervals(events.start, events.stop)


def _phase_columns(view: View, steps: Steps) -> dict[str, Int64Array]:
    """Time of each phase inside each step (ns); phases that never occur are left out."""
    wide = _wide(view, steps)
    found: dict[str, Int64Array] = {}
    for phase in PHASES:
        values = np.zeros(len(steps), np.int64)
        for process, rank, places in _groups(steps):
            merged = phase_intervals(wide, phase, process, rank)
            values[places] = covered_ns(merged, steps.start[places], steps.stop[places])
        if values.any():
            found[phase] = values
    return found


def _owners(view: View, steps: Steps) -> tuple[list[Column], dict[str, Values]]:
    """Key columns that tell whose steps these are: the rank if there are ranks, the process if there are several."""
    columns: list[Column] = []
    data: dict[str, Values] = {}
    if (steps.rank >= 0).any():
        columns.append(Column("rank", "Rank", Role.ID, key=True))
        data["rank"] = masked_below_zero(steps.rank)
    groups = _groups(steps)
    if len(groups) > len({rank for _, rank, _ in groups}):
        pids = np.array([*(process.pid for process in view.capture.processes), -1], np.int64)
        columns.append(Column("pid", "PID", Role.ID, key=True))
        data["pid"] = masked_below_zero(pids[steps.process])
    return columns, data


def steps(view: View, options: Options) -> Table | NotRecorded:
    """Each step: duration, phases, GPU busy time, and whether it is far longer than the others."""
    found = find_steps(view, options)
    if not len(found):
        return missing_steps(options)
    duration = found.stop - found.start
    outlier = np.zeros(len(found), bool)
    deviation = np.zeros(len(found))
    for _, _, places in _groups(found):
        median, far = mean_outliers(duration[places])
        outlier[places] = far
        deviation[places] = duration[places] / median - 1 if median else 0.0
    phases = _phase_columns(view, found)
    columns, data = _owners(view, found)
    columns += [
        Column("step", "Step", Role.ORDINAL, key=True),
        Column("name", "Name", Role.NAME),
        Column("start_ns", "Start", Role.TIME),
        Column("duration_ns", "Duration", Role.DURATION),
    ]
    data |= {
        "step": found.number,
        "name": name_texts(view, found.name),
        "start_ns": found.start - view.capture.span[0],
        "duration_ns": duration,
    }
    for phase, values in phases.items():
        key = phase.lower()
        columns.append(Column(f"{key}_ns", phase, Role.DURATION))
        data[f"{key}_ns"] = values
    if phases:
        columns.append(Column("others_ns", "Others", Role.DURATION))
        data["others_ns"] = duration - sum(phases.values(), np.zeros(len(found), np.int64))
    if view.has(*GPU_KINDS):
        busy = np.zeros(len(found), np.int64)
        wide = _wide(view, found)
        for _, rank, places in _groups(found):
            busy[places] = covered_ns(_gpu_union(wide, rank), found.start[places], found.stop[places])
        columns += [
            Column("gpu_busy_ns", "GPU busy", Role.DURATION),
            Column("gpu_busy_ratio", "GPU busy", Role.RATIO, "the step's duration"),
        ]
        data["gpu_busy_ns"] = busy
        data["gpu_busy_ratio"] = ratios(busy, duration)
    columns += [
        Column("deviation_ratio", "Above median", Role.RATIO, "the median duration of its process"),
        Column("outlier", "Outlier", Role.FLAG),
    ]
    data["deviation_ratio"] = deviation
    data["outlier"] = outlier
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=found.row, starts=found.start, stops=found.stop),
        scope=scope_text(view, "Steps"),
        notes=(
            "Steps that overlap the range are listed whole.",
            "An outlier is longer than the median by 10 % and by 3 scaled median deviations.",
        ),
    )


def device_windows(view: View, found: Steps, places: npt.NDArray[np.int64]) -> tuple[Int64Array, Int64Array]:
    """Steps of one process stretched to the end of the GPU work they launched; each begins where the one
    before ended.
    """
    start, stop = found.start[places].copy(), found.stop[places].copy()
    process = int(found.process[places[0]])
    tracks = frozenset(t.index for t in view.capture.tracks if process < 0 or t.process == process)
    launches = launches_from(_wide(view, found), tracks)
    if len(launches):
        first, last = windows(launches.call_start, start, stop)
        _, ends = window_extremes(launches.work_start, launches.work_stop, first, last)
        stop = np.where(last > first, np.maximum(stop, ends), stop)
    for i in range(1, len(start)):
        start[i] = max(int(start[i]), int(stop[i - 1]))
        stop[i] = max(int(stop[i]), int(start[i]))
    return start, stop


def step_breakdown(view: View, options: Options) -> Table | NotRecorded:
    """Where the time of each step goes, each moment counted once: GPU work before runtime, runtime before loading …"""
    found = find_steps(view, options)
    if not len(found):
        return missing_steps(options)
    wide = _wide(view, found)
    values = np.zeros((len(found), len(CATEGORIES)), np.int64)
    starts, stops = found.start.copy(), found.stop.copy()
    for process, rank, places in _groups(found):
        starts[places], stops[places] = device_windows(view, found, places)
        values[places] = exclusive_times(
            _category_intervals(wide, process, rank), starts[places], stops[places]
        )
    length = stops - starts
    columns, data = _owners(view, found)
    columns += [
        Column("step", "Step", Role.ORDINAL, key=True),
        Column("total_ns", "Total", Role.DURATION),
    ]
    data |= {"step": found.number, "total_ns": length}
    for place, (key, title) in enumerate(zip(CATEGORIES, CATEGORY_TITLES, strict=True)):
        columns += [
            Column(f"{key}_ns", title, Role.DURATION),
            Column(f"{key}_ratio", title, Role.RATIO, "the step's total"),
        ]
        data[f"{key}_ns"] = values[:, place]
        data[f"{key}_ratio"] = ratios(values[:, place], length)
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=found.row, starts=starts, stops=stops),
        scope=scope_text(view, "Steps until the GPU has finished their work"),
        notes=("Each moment counts for the first of the columns, from left to right, that was active.",),
    )


def exclusive_times(categories: list[Intervals], starts: Int64Array, stops: Int64Array) -> Int64Array:
    """Time of each window by category, each moment given to the first active one: int64 (windows, categories + 1).

    The last column is what no category covers; a row adds up to the window's length.
    """
    result = np.zeros((len(starts), len(categories) + 1), np.int64)
    left = merge_intervals(starts, stops)
    for place, merged in enumerate(categories):
        result[:, place] = covered_ns(intersect_intervals(*left, *merged), starts, stops)
        left = subtract_intervals(*left, *merged)
    result[:, -1] = (stops - starts) - result[:, :-1].sum(1)
    return result


def _category_intervals(view: View, process: int, rank: int) -> list[Intervals]:
    """Unions of the first seven of `CATEGORIES`, in their order."""
    working = [
        phase_intervals(view, name, process, rank)
        for name in ("Operator", "OperatorInner", "Forward", "Backward", "Optimization")
    ]
    operators = merge_intervals(
        np.concatenate([starts for starts, _ in working]), np.concatenate([stops for _, stops in working])
    )
    return [
        _gpu_union(view, rank, ("kernel", "graph", "gpu_event")),
        _gpu_union(view, rank, ("memcpy",)),
        _gpu_union(view, rank, ("memset",)),
        phase_intervals(view, "Communication", process, rank),
        phase_intervals(view, "CudaRuntime", process, rank),
        phase_intervals(view, "Dataloader", process, rank),
        operators,
    ]
