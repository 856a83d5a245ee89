"""Building blocks of report tables: statistics as columns, names of tracks and threads as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.options import Options
from warpline.analysis.report import Column, NotRecorded, Targets, Texts, Values, unrecorded
from warpline.analysis.selection import View
from warpline.analysis.statistics import GroupStatistics, batch_statistics, quick_statistics

Int64Array = npt.NDArray[np.int64]

NOT_RECORDED = {
    "cuda_api": NotRecorded(
        "CUDA API calls were not recorded", "record with --trace cuda, or import a capture that holds them"
    ),
    "kernel": NotRecorded(
        "GPU kernels were not recorded",
        "record on a machine with a GPU with --trace cuda, or import a capture that holds them",
    ),
    "memory_operations": NotRecorded("GPU copies and sets were not recorded", "record with --trace cuda"),
    "gpu": NotRecorded("GPU work was not recorded", "record on a machine with a GPU with --trace cuda"),
    "launch": NotRecorded(
        "no GPU work is linked to the call that launched it", "record with --trace cuda, which links both"
    ),
    "range": NotRecorded(
        "ranges were not recorded", "annotate the program with NVTX and record with --trace nvtx"
    ),
    "osrt": NotRecorded("OS runtime calls were not recorded", "record with --trace osrt"),
    "operator": NotRecorded(
        "operators were not recorded",
        "record with --trace torch, or import a capture of the framework's profiler",
    ),
    "phase": NotRecorded(
        "steps and phases were not recorded",
        "record with --trace torch or call the framework profiler's step(); --step NAME declares a range the step",
    ),
    "thread_state": NotRecorded("thread states were not recorded", "record with --trace cpu"),
    "cpu_slice": NotRecorded("which thread ran on which core was not recorded", "record with --trace cpu"),
    "python": NotRecorded(
        "Python calls were not recorded",
        "record with --trace python, or switch with_stack on in the framework's profiler",
    ),
    "samples": NotRecorded("stacks were not sampled", "record with --trace python"),
    "memory": NotRecorded(
        "memory allocations were not recorded", "switch memory profiling on in the framework's profiler"
    ),
}


def missing(what: str) -> NotRecorded:
    """Why a report has no rows when the capture does not hold ``what``."""
    return NOT_RECORDED[what]


def stat_columns(
    count_title: str,
    ratio_of: str,
    *,
    prefix: str = "",
    title: str = "",
    with_ratio: bool = True,
    unit: str = "ns",
) -> tuple[Column, ...]:
    """Columns of statistics: [ratio,] total, count, avg, med, min, max, stddev, in the order of Nsight's reports."""
    suffix = f"_{unit}" if unit else ""
    lead = f"{title} " if title else ""

    def column(key: str, text: str) -> Column:
        return Column(f"{prefix}{key}{suffix}", lead + text, unit)

    ratio = (Column(f"{prefix}ratio", lead + "Time" if unit == "ns" else lead + "Share", "ratio", ratio_of),)
    return (
        *(ratio if with_ratio else ()),
        column("total", "Total Time" if unit == "ns" else "Total"),
        Column("count", count_title),
        column("avg", "Avg"),
        column("med", "Med"),
        column("min", "Min"),
        column("max", "Max"),
        column("stddev", "StdDev"),
    )


def stat_data(
    stats: GroupStatistics,
    *,
    prefix: str = "",
    with_ratio: bool = True,
    unit: str = "ns",
    whole: int | None = None,
) -> dict[str, Values]:
    """The data of `stat_columns`; ratios of ``whole`` (default: the sum of all totals)."""
    suffix = f"_{unit}" if unit else ""
    data: dict[str, Values] = {}
    if with_ratio:
        data[f"{prefix}ratio"] = ratio(stats.total, int(stats.total.sum()) if whole is None else whole)
    data[f"{prefix}total{suffix}"] = stats.total
    data["count"] = stats.count
    for key in ("avg", "med", "min", "max", "stddev"):
        data[f"{prefix}{key}{suffix}"] = getattr(stats, key)
    return data


def ratio(parts: npt.NDArray[Any], whole: float) -> npt.NDArray[np.float64]:
    """Each part of the whole, 0–1; masked (not a number to show) where the whole is 0."""
    if not whole:
        return unrecorded(len(parts), np.float64)
    return np.asarray(parts / whole)


def ratios(parts: npt.NDArray[Any], wholes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """``parts`` / ``wholes``, masked where the whole is 0."""
    wholes = np.asarray(wholes, np.float64)
    safe = np.where(wholes == 0, 1.0, wholes)
    return np.ma.MaskedArray(np.asarray(parts, np.float64) / safe, wholes == 0)


def name_texts(view: View, ids: npt.NDArray[Any]) -> Texts:
    """String ids as a column of texts."""
    return Texts(ids.astype(np.int64), view.capture.strings.__getitem__)


def kind_code(view: View, kind: str) -> int:
    """The code of a kind in this capture, -1 where it has none."""
    table = view.capture.kinds.get(kind)
    return -1 if table is None else table.code


def name_targets(view: View, names: npt.NDArray[Any], kind: str | None) -> Targets:
    """Targets of a table with one row per name of one kind."""
    code = -1 if kind is None else kind_code(view, kind)
    return Targets(names=names.astype(np.uint32), kinds=np.full(len(names), code, np.int16))


def event_targets(rows: Int64Array) -> Targets:
    """Targets of a table with one row per event."""
    return Targets(rows=rows)


def statistics_by_name(view: View, kind: str, options: Options) -> GroupStatistics:
    """Statistics of the time inside the range by name, largest total first; memory stays bounded."""

    def batches() -> Iterable[tuple[npt.NDArray[Any], Int64Array]]:
        return ((events.name, events.inside) for events in view.batches(kind))

    compute = quick_statistics if options.quick else batch_statistics
    return compute(batches, max(len(view.capture.strings), 1)).by_total()


def combine_keys(*columns: npt.NDArray[Any]) -> tuple[Int64Array, Int64Array]:
    """One dense key per distinct combination of integer columns: (key of each row, first row of each key)."""
    stacked = [np.ma.filled(np.ma.asarray(column).astype(np.int64), -1) for column in columns]
    key = np.zeros(len(stacked[0]), np.int64)
    for column in stacked:
        low = int(column.min()) if len(column) else 0
        width = (int(column.max()) - low + 1) if len(column) else 1
        highest = int(key.max()) + 1 if len(key) else 1
        if highest * width >= 1 << 62:
            _, key = np.unique(key, return_inverse=True)
            _, column = np.unique(column, return_inverse=True)
            low, width = 0, int(column.max()) + 1
        key = key * width + (column - low)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.astype(np.int64), first.astype(np.int64)


def thread_titles(view: View) -> Callable[[int], str]:
    """Texts for thread indices (and −2 − track for tracks without a thread), "name (tid)"."""
    capture = view.capture

    def text(thread: int) -> str:
        if thread >= 0:
            found = capture.threads[thread]
            return f"{found.name} ({found.tid})" if found.name else str(found.tid)
        track = -2 - thread
        return capture.tracks[track].title if 0 <= track < len(capture.tracks) else ""

    return text


def pid_tid(view: View, threads: Sequence[int] | Int64Array) -> tuple[Int64Array, Int64Array]:
    """Process and thread ids of thread indices; −1 where a track names no thread (mask it)."""
    capture = view.capture
    tids = np.array([t.tid for t in capture.threads] + [-1], np.int64)
    pids = np.array(
        [
            capture.processes[t.process].pid if 0 <= t.process < len(capture.processes) else -1
            for t in capture.threads
        ]
        + [-1],
        np.int64,
    )
    index = np.asarray(threads, np.int64)
    index = np.where(index < 0, len(capture.threads), index)
    return pids[index], tids[index]


def masked_below_zero(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values with negative ones masked as not recorded."""
    return np.ma.MaskedArray(values, values < 0)


def device_of_tracks(view: View) -> Int64Array:
    """Device number of each track index, −1 for none."""
    return np.array([-1 if t.device is None else t.device for t in view.capture.tracks] or [-1], np.int64)


def scope_text(view: View, what: str) -> str:
    """What the numbers of a table cover: "Kernels in the selected range"."""
    where = "the whole capture" if view.is_whole else "the selected range"
    return f"{what} in {where}"
