"""Time of each step by category, each moment counted once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nesting import window_extremes, windows
from warpline.analysis.framework.not_recorded import missing, of_import
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import ratios, scope_text
from warpline.analysis.steps.step_groups import around_steps, gpu_union, owner_columns, step_groups
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.launches import launch_portions
from warpline.analysis.structure.overlap import Intervals, covered_ns
from warpline.analysis.structure.steps import STEP_KINDS, Steps, find_steps, missing_steps, phase_unions
from warpline.i18n import english
from warpline.model.intervals import intersect_intervals, merge_intervals, subtract_intervals

Int64Array = npt.NDArray[np.int64]
CATEGORIES = ("kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec", "other")
CATEGORY_TITLES = (
    english("Kernel"),
    english("Memcpy"),
    english("Memset"),
    english("Communication"),
    english("Runtime"),
    english("DataLoader"),
    english("CPU Exec"),
    english("Other"),
)
_OF_GPU = ("kernel", "memcpy", "memset")


def device_windows(view: View, steps: Steps, places: npt.NDArray[np.int64]) -> tuple[Int64Array, Int64Array]:
    """Steps of one process extended to the end of their GPU work; each begins no earlier than the last ends."""
    start, stop = steps.start[places].copy(), steps.stop[places].copy()
    process = int(steps.process[places[0]])
    tracks = frozenset(t.index for t in view.capture.tracks if process < 0 or t.process == process)
    host_stop = stop.copy()
    for part in launch_portions(around_steps(view, steps), tracks):
        first, last = windows(part.call_start, start, host_stop)
        _, ends = window_extremes(part.work_start, part.work_stop, first, last)
        stop = np.where(last > first, np.maximum(stop, ends), stop)
    for i in range(1, len(start)):
        start[i] = max(int(start[i]), int(stop[i - 1]))
        stop[i] = max(int(stop[i]), int(start[i]))
    return start, stop


def step_breakdown(view: View, options: Options) -> Table | NotRecorded:
    """Time of each step by category; each moment counts for the first active one: GPU work, then runtime, loading …"""
    steps = find_steps(view, options)
    if not len(steps):
        return missing_steps(options)
    wide = around_steps(view, steps)
    values = np.zeros((len(steps), len(CATEGORIES)), np.int64)
    unknown = np.zeros(values.shape, bool)
    starts, stops = steps.start.copy(), steps.stop.copy()
    for process, rank, places in step_groups(steps):
        starts[places], stops[places] = device_windows(view, steps, places)
        values[places] = exclusive_times(
            _category_intervals(wide, process, rank), starts[places], stops[places]
        )
        unrecorded = _unrecorded(wide, rank)
        unknown[places] = [name in unrecorded for name in CATEGORIES]
    length = stops - starts
    columns, data = owner_columns(view, steps)
    columns += [
        Column("step", "Step", Role.ORDINAL, key=True),
        Column("total_ns", "Total", Role.DURATION),
    ]
    data |= {"step": steps.number, "total_ns": length}
    for index, (key, title) in enumerate(zip(CATEGORIES, CATEGORY_TITLES, strict=True)):
        columns += [
            Column(f"{key}_ns", title, Role.DURATION),
            Column(f"{key}_ratio", title, Role.RATIO, of=english("the step's total")),
        ]
        times = np.ma.MaskedArray(values[:, index], unknown[:, index])
        data[f"{key}_ns"] = times
        data[f"{key}_ratio"] = ratios(times, length)
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=steps.row, starts=starts, stops=stops),
        scope=scope_text(view, english("Steps, until their GPU work has finished")),
        notes=(
            english("Each moment counts for the first active column, from left to right."),
            *_reasons(view, unknown),
        ),
    )


def _unrecorded(view: View, rank: int) -> frozenset[str]:
    """Categories that were not recorded for a rank (−1: all): their time is unknown, not 0."""
    has_gpu = any(rank < 0 or gpu.rank == rank for gpu in gpus(view))
    return frozenset((*(() if has_gpu else _OF_GPU), *(() if view.has("cuda_api") else ("runtime",))))


def _reasons(view: View, unknown: npt.NDArray[np.bool_]) -> list[str]:
    """Why columns lack values; ``unknown`` (steps × `CATEGORIES`) marks them."""
    absent = [name for index, name in enumerate(CATEGORIES) if unknown[:, index].any()]
    titles = dict(zip(CATEGORIES, CATEGORY_TITLES, strict=True))
    of_gpu = [titles[name] for name in absent if name in _OF_GPU]
    whys = [(of_gpu, of_import(missing("gpu"), view.capture))] if of_gpu else []
    whys += [([titles["runtime"]], missing("cuda_api"))] if "runtime" in absent else []
    return [
        english("{columns}: {reason}", columns=", ".join(names), reason=why.reason) for names, why in whys
    ]


def exclusive_times(categories: list[Intervals], starts: Int64Array, stops: Int64Array) -> Int64Array:
    """Time of each window by category, each moment counted for the first active one: int64 (windows, categories + 1).

    The last column is the rest; a row adds up to the window's length.
    """
    result = np.zeros((len(starts), len(categories) + 1), np.int64)
    rest = merge_intervals(starts, stops)
    for index, merged in enumerate(categories):
        result[:, index] = covered_ns(intersect_intervals(*rest, *merged), starts, stops)
        rest = subtract_intervals(*rest, *merged)
    result[:, -1] = (stops - starts) - result[:, :-1].sum(1)
    return result


def _category_intervals(view: View, process: int, rank: int) -> list[Intervals]:
    """Unions of the first seven of `CATEGORIES`, in order."""
    host = phase_unions(view, _OF_HOST, process, rank)
    return [
        gpu_union(view, rank, ("kernel", "graph", "gpu_event")),
        gpu_union(view, rank, ("memcpy",)),
        gpu_union(view, rank, ("memset",)),
        *host,
    ]


_OF_HOST = (
    ("Communication",),
    ("CudaRuntime",),
    ("Dataloader",),
    ("Operator", "OperatorInner", "Forward", "Backward", "Optimization"),
)

report = ReportSpec(
    "step_breakdown", "Time of each step by category", "steps", step_breakdown, needs=STEP_KINDS, place=302
)
