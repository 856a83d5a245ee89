"""How far ahead of the GPU the host is: launch latency by kernel, and how many operations wait on each stream."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import (
    kind_code,
    missing,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.structure.gpus import gpu_work, gpus, stream_titles
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import gpu_events, has_launches, launch_of_each

Int64Array = npt.NDArray[np.int64]
_WEIGHTS = (
    "Avg, Med, StdDev are over the moments at which the length changes; "
    "the average over time weighs by duration."
)


def launch_delay_ns(call_stop: Int64Array, work_start: Int64Array) -> Int64Array:
    """End of the launching call to the start of the work; 0 where the work began before the call returned."""
    delay: Int64Array = np.maximum(work_start - call_stop, 0)
    return delay


def launch_latency(view: View, _options: Options) -> Table | NotRecorded:
    """Delay between launching call and kernel by kernel, and how many kernels are shorter than their launch."""
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
            *stat_columns("Launches", "", with_ratio=False, title="Delay"),
            Column("call_avg_ns", "Call Avg", Role.DURATION),
            Column("kernel_avg_ns", "Kernel Avg", Role.DURATION),
            Column("shorter_than_call", "Shorter than call", Role.COUNT),
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
        scope=scope_text(view, "Kernels with a launching call"),
    )


def queue_lengths(call_start: Int64Array, work_start: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Times (sorted) at which the number of launched operations that have not begun changes, and the number after it.

    One step up at the start of each launching call, one down at the start of the work.
    """
    times = np.concatenate([call_start, work_start])
    steps = np.concatenate([np.ones(len(call_start), np.int64), np.full(len(work_start), -1, np.int64)])
    order = np.lexsort((-steps, times))
    return times[order], np.cumsum(steps[order])


def queue_length(view: View, _options: Options) -> Table | NotRecorded:
    """How many launched operations wait on each stream."""
    if not view.has(*GPU_KINDS):
        return missing("gpu")
    if not has_launches(view):
        return missing("launch")
    names: list[str | None] = []
    rows = []
    tracks = []
    for gpu in gpus(view):
        events = gpu_work(view, gpu)
        events = events.take(np.argsort(events.row, kind="stable"))
        launches, place = launch_of_each(view, events)
        launches = launches.take(place[place >= 0])
        of_work = view.track_of(launches.work) if len(launches) else np.empty(0, np.int64)
        streams = np.unique(of_work).tolist()
        for index, title in zip(streams, stream_titles(view, streams), strict=True):
            here = launches.take(of_work == index)
            times, length = queue_lengths(here.call_start, here.work_start)
            stats = group_statistics(np.zeros(len(length), np.int64), np.maximum(length, 0))
            held = np.diff(np.clip(times, view.start_ns, view.stop_ns))
            weighted = float((held * length[:-1]).sum()) / max(view.duration_ns, 1)
            busy = float(held[length[:-1] > 0].sum()) / max(view.duration_ns, 1)
            names.append(f"{gpu.title} · {title}")
            tracks.append(index)
            rows.append(
                (
                    len(here),
                    stats.avg[0],
                    stats.med[0],
                    stats.min[0],
                    stats.max[0],
                    stats.stddev[0],
                    weighted,
                    busy,
                )
            )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 8
    integers = (0, 3, 4)
    keys = ("count", "avg", "med", "min", "max", "stddev", "time_avg", "waiting_ratio")
    return Table(
        (
            Column("name", "Stream", Role.NAME, key=True),
            Column("count", "Launches", Role.COUNT),
            Column("avg", "Avg", Role.NUMBER),
            Column("med", "Med", Role.NUMBER),
            Column("min", "Min", Role.NUMBER),
            Column("max", "Max", Role.NUMBER),
            Column("stddev", "StdDev", Role.NUMBER),
            Column("time_avg", "Avg over time", Role.NUMBER),
            Column("waiting_ratio", "Not empty", Role.RATIO, "the selected range"),
        ),
        {
            "name": names,
            **{
                key: np.array(columns[i], np.int64 if i in integers else np.float64)
                for i, key in enumerate(keys)
            },
        },
        targets=Targets(tracks=np.array(tracks, np.int32)),
        scope=scope_text(view, "Launched operations that have not begun"),
        notes=(_WEIGHTS,),
    )
