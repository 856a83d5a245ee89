"""Nsight's event lists: every GPU operation, every CUDA call, every launch with its queue time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.cuda.cuda_gpu_sum import memory_operation_names, throughput
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import (
    NotRecorded,
    Table,
    Targets,
    Texts,
    Values,
    join_columns,
    unrecorded,
)
from warpline.analysis.framework.selection import Events, View, join_events
from warpline.analysis.framework.statistics import GroupStatistics, group_statistics
from warpline.analysis.framework.tables import (
    combine_keys,
    event_targets,
    masked_below_zero,
    missing,
    name_texts,
    scope_text,
)
from warpline.analysis.framework.thread_columns import pid_tid, rank_columns
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import Launches, gpu_events, has_launches, launch_of_each

Int64Array = npt.NDArray[np.int64]


def cuda_gpu_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every kernel, copy and set in the order of time."""
    kinds = [kind for kind in ("kernel", "memcpy", "memset") if view.has(kind)]
    if not kinds:
        return missing("gpu")
    parts = [(kind, gpu_events(view, kind)) for kind in kinds]
    events = join_events([part for _, part in parts])
    order = np.argsort(events.start, kind="stable")

    def gather(name: str, *of: str) -> npt.NDArray[Any]:
        columns = [
            view.column(kind, name, part.index) if kind in of else unrecorded(len(part), np.int64)
            for kind, part in parts
        ]
        return join_columns(columns)[order]

    tracks = [view.capture.tracks[t] for t in range(len(view.capture.tracks))]
    of_event = view.track_of(events.row)[order]

    def of_track(attribute: str) -> npt.NDArray[Any]:
        values = [getattr(t, attribute) for t in tracks]
        column = np.array([-1 if value is None else value for value in values] + [-1], np.int64)
        return masked_below_zero(column[of_event])

    size = gather("bytes", "memcpy", "memset")
    data: dict[str, Values] = {
        "start_ns": events.start[order] - view.capture.span[0],
        "duration_ns": events.duration[order],
        "correlation": gather("correlation", *kinds),
    }
    for part in ("grid", "block"):
        for axis in "xyz":
            data[f"{part}_{axis}"] = gather(f"{part}_{axis}", "kernel")
    data["registers_per_thread"] = gather("registers_per_thread", "kernel")
    data["static_shared_memory_bytes"] = gather("static_shared_memory_bytes", "kernel")
    data["dynamic_shared_memory_bytes"] = gather("dynamic_shared_memory_bytes", "kernel")
    data["bytes"] = size
    data["throughput_bytes_per_second"] = throughput(size, events.duration[order])
    source, target = _memory_kinds(view, parts)
    data["src_kind"] = Texts(source[order], _memory_kind)
    data["dst_kind"] = Texts(target[order], _memory_kind)
    for attribute in ("device", "context", "stream"):
        data[attribute] = of_track(attribute)
    data["name"] = _names(view, parts).take(order)
    return Table(
        _GPU_TRACE_COLUMNS,
        data,
        targets=event_targets(events.row[order]),
        scope=scope_text(view, "GPU operations"),
        notes=("Operations cut by the range are listed with their whole duration.",),
    )


_GPU_TRACE_COLUMNS = (
    Column("start_ns", "Start", Role.TIME),
    Column("duration_ns", "Duration", Role.DURATION),
    Column("correlation", "CorrId", Role.ID),
    *(Column(f"grid_{axis.lower()}", f"Grd{axis}", Role.NUMBER) for axis in "XYZ"),
    *(Column(f"block_{axis.lower()}", f"Blk{axis}", Role.NUMBER) for axis in "XYZ"),
    Column("registers_per_thread", "Reg/Trd", Role.NUMBER),
    Column("static_shared_memory_bytes", "StcSMem", Role.SIZE),
    Column("dynamic_shared_memory_bytes", "DymSMem", Role.SIZE),
    Column("bytes", "Bytes", Role.SIZE),
    Column("throughput_bytes_per_second", "Throughput", Role.THROUGHPUT),
    Column("src_kind", "SrcMemKd", Role.TEXT),
    Column("dst_kind", "DstMemKd", Role.TEXT),
    Column("device", "Device", Role.ID),
    Column("context", "Ctx", Role.ID),
    Column("stream", "Strm", Role.ID),
    Column("name", "Name", Role.NAME),
)
_MEMORY_KINDS = (
    "Pageable",
    "Pinned",
    "Device",
    "Array",
    "Managed",
    "Device Static",
    "Managed Static",
    "Unknown",
)


def _memory_kind(code: int) -> str:
    return _MEMORY_KINDS[code] if 0 <= code < len(_MEMORY_KINDS) else "Unknown"


def _memory_kinds(view: View, parts: list[tuple[str, Events]]) -> tuple[Int64Array, Int64Array]:
    """Codes of source and target memory, −1 where an operation has none."""
    sides: tuple[list[Int64Array], list[Int64Array]] = ([], [])
    for kind, events in parts:
        names = {"memcpy": ("src_kind", "dst_kind"), "memset": ("", "memory_kind")}.get(kind, ("", ""))
        for side, name in zip(sides, names, strict=True):
            column = view.column(kind, name, events.index) if name else unrecorded(len(events), np.int64)
            side.append(np.ma.filled(column.astype(np.int64), -1))
    return np.concatenate(sides[0]), np.concatenate(sides[1])


def _names(view: View, parts: list[tuple[str, Events]]) -> Texts:
    """Full kernel names and Nsight's names of copies in one column."""
    strings = len(view.capture.strings)
    extra: dict[str, int] = {}
    codes = []
    for kind, events in parts:
        if kind == "kernel":
            codes.append(full_names(view, events).astype(np.int64))
            continue
        texts = memory_operation_names(view, kind, events)
        codes.append(np.array([strings + extra.setdefault(t, len(extra)) for t in texts], np.int64))
    added = list(extra)

    def lookup(code: int) -> str:
        return added[code - strings] if code >= strings else view.capture.strings[code]

    return Texts(np.concatenate(codes), lookup)


def cuda_api_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every CUDA API call in the order of time."""
    if not view.has("cuda_api"):
        return missing("cuda_api")
    events = view.events("cuda_api")
    events = events.take(np.argsort(events.start, kind="stable"))
    capture = view.capture
    thread_of = np.array([-1 if t.thread is None else t.thread for t in capture.tracks] or [-1], np.int64)
    threads = thread_of[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    pids, tids = pid_tid(view, threads)
    return Table(
        (
            Column("start_ns", "Start", Role.TIME),
            Column("duration_ns", "Duration", Role.DURATION),
            Column("name", "Name", Role.NAME),
            Column("result", "Result", Role.ID),
            Column("correlation", "CorrID", Role.ID),
            Column("pid", "Pid", Role.ID),
            Column("tid", "Tid", Role.ID),
            Column("priority", "T-Pri", Role.NUMBER),
            Column("thread_name", "Thread Name", Role.TEXT),
        ),
        {
            "start_ns": events.start - view.capture.span[0],
            "duration_ns": events.duration,
            "name": name_texts(view, events.name),
            "result": view.column("cuda_api", "return_value", events.index),
            "correlation": view.column("cuda_api", "correlation", events.index),
            "pid": masked_below_zero(pids),
            "tid": masked_below_zero(tids),
            "priority": unrecorded(len(events), np.int64),
            "thread_name": Texts(threads, lambda thread: capture.threads[thread].name or None),
        },
        targets=event_targets(events.row),
        scope=scope_text(view, "CUDA API calls"),
        notes=("Thread priorities (T-Pri) are not recorded.",),
    )


def _executions(view: View) -> tuple[Events, Launches, Int64Array] | None:
    """Kernels with a launch, in the order of the launching call, their launches, and their names."""
    if not view.has("kernel") or not has_launches(view):
        return None
    events = gpu_events(view, "kernel")
    launches, place = launch_of_each(view, events)
    events, place = events.take(place >= 0), place[place >= 0]
    order = np.argsort(place, kind="stable")
    events = events.take(order)
    return events, launches.take(place[order]), full_names(view, events).astype(np.int64)


def _missing_execution(view: View) -> NotRecorded:
    return missing("launch") if view.has("kernel") else missing("kernel")


def total_ns(launches: Launches) -> Int64Array:
    """From the start of the call to the later of the call's and the work's end."""
    return np.maximum(launches.call_stop, launches.work_stop) - launches.call_start


def queue_ns(launches: Launches) -> Int64Array:
    """End of the call to start of the work; not positive where the work began before the call returned."""
    return launches.work_start - launches.call_stop


def cuda_kern_exec_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every kernel launch: call, queue and kernel time."""
    found = _executions(view)
    if found is None:
        return _missing_execution(view)
    events, launches, name = found
    queue = queue_ns(launches)
    queued = queue > 0
    pids, tids = pid_tid(view, launches.thread)
    devices = np.array([-1 if t.device is None else t.device for t in view.capture.tracks], np.int64)
    calls = view.names(launches.call)
    axes = {
        part: [view.column("kernel", f"{part}_{axis}", events.index) for axis in "xyz"]
        for part in ("grid", "block")
    }
    origin = view.capture.span[0]
    data: dict[str, Values] = {
        "api_start_ns": launches.call_start - origin,
        "api_duration_ns": launches.call_stop - launches.call_start,
        "queue_start_ns": np.ma.MaskedArray(launches.call_stop - origin, ~queued),
        "queue_duration_ns": np.ma.MaskedArray(queue, ~queued),
        "kernel_start_ns": launches.work_start - origin,
        "kernel_duration_ns": launches.work_ns,
        "total_ns": total_ns(launches),
        "pid": masked_below_zero(pids),
        "tid": masked_below_zero(tids),
        "device": masked_below_zero(devices[view.track_of(events.row)]),
        "api_name": name_texts(view, calls),
    }
    for part, columns in axes.items():
        for axis, column in zip("xyz", columns, strict=True):
            data[f"{part}_{axis}"] = column
    data["name"] = name_texts(view, name)
    return Table(
        (
            Column("api_start_ns", "API Start", Role.TIME),
            Column("api_duration_ns", "API Dur", Role.DURATION),
            Column("queue_start_ns", "Queue Start", Role.TIME),
            Column("queue_duration_ns", "Queue Dur", Role.DURATION),
            Column("kernel_start_ns", "Kernel Start", Role.TIME),
            Column("kernel_duration_ns", "Kernel Dur", Role.DURATION),
            Column("total_ns", "Total Dur", Role.DURATION),
            Column("pid", "PID", Role.ID),
            Column("tid", "TID", Role.ID),
            Column("device", "DevId", Role.ID),
            Column("api_name", "API Function", Role.TEXT),
            *(Column(f"grid_{axis}", f"Grid{axis.upper()}", Role.NUMBER) for axis in "xyz"),
            *(Column(f"block_{axis}", f"Block{axis.upper()}", Role.NUMBER) for axis in "xyz"),
            Column("name", "Kernel Name", Role.NAME),
        ),
        data,
        targets=Targets(rows=launches.work),
        scope=scope_text(view, "Kernels with a launching call"),
        notes=("Kernels cut by the range are listed with their whole duration.",),
    )


def cuda_kern_exec_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Kernel launches by thread, device, call and kernel: total, call, queue and kernel time."""
    found = _executions(view)
    if found is None:
        return _missing_execution(view)
    events, launches, name = found
    devices = np.array([-1 if t.device is None else t.device for t in view.capture.tracks], np.int64)
    device = devices[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    calls = view.names(launches.call).astype(np.int64)
    key, first = combine_keys(launches.thread, device, calls, name)
    queue = queue_ns(launches)
    queued = queue > 0
    parts: dict[str, GroupStatistics] = {
        "total": group_statistics(key, total_ns(launches)),
        "api": group_statistics(key, launches.call_stop - launches.call_start),
        "queue": group_statistics(key[queued], queue[queued]),
        "kernel": group_statistics(key, launches.work_ns),
    }
    order = np.argsort(-parts["total"].total, kind="stable")
    of_group = first[order]
    pids, tids = pid_tid(view, launches.thread[of_group])
    place = np.full(len(first), -1, np.int64)
    place[parts["queue"].key] = np.arange(len(parts["queue"]))
    place = place[order]
    rank, ranks = rank_columns(view, launches.thread[of_group])
    data: dict[str, Values] = {
        **ranks,
        "pid": masked_below_zero(pids),
        "tid": masked_below_zero(tids),
        "device": masked_below_zero(device[of_group]),
        "count": parts["total"].count[order],
        "queue_count": np.where(place >= 0, np.append(parts["queue"].count, 0)[place], 0),
    }
    columns = [
        *rank,
        Column("pid", "PID", Role.ID, key=True),
        Column("tid", "TID", Role.ID, key=True),
        Column("device", "DevId", Role.ID, key=True),
        Column("count", "Count", Role.COUNT),
        Column("queue_count", "QCount", Role.COUNT),
    ]
    for letter, part in (("T", "total"), ("A", "api"), ("Q", "queue"), ("K", "kernel")):
        for field, title in (
            ("avg", "Avg"),
            ("med", "Med"),
            ("min", "Min"),
            ("max", "Max"),
            ("stddev", "StdDev"),
        ):
            values = getattr(parts[part], field)
            if part == "queue":
                column: npt.NDArray[Any] = np.ma.MaskedArray(np.append(values, 0)[place], place < 0)
            else:
                column = values[order]
            data[f"{part}_{field}_ns"] = column
            columns.append(Column(f"{part}_{field}_ns", f"{letter}{title}", Role.DURATION))
    data["api_name"] = name_texts(view, calls[of_group])
    data["name"] = name_texts(view, name[of_group])
    columns += [
        Column("api_name", "API Name", Role.TEXT, key=True),
        Column("name", "Kernel Name", Role.NAME, key=True),
    ]
    kinds = view.capture.kinds
    return Table(
        tuple(columns),
        data,
        targets=Targets(
            names=name[of_group].astype(np.uint32),
            kinds=np.full(len(of_group), kinds["kernel"].code, np.int16),
        ),
        scope=scope_text(view, "Kernels with a launching call"),
    )
