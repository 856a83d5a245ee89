"""Nsight's list of GPU operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.cuda.memory_operations import memory_operation_names, throughput
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts, Values, join_columns, unrecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import event_targets, masked_below_zero, scope_text
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import gpu_events
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def cuda_gpu_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every kernel, copy and set by time."""
    kinds = [kind for kind in ("kernel", "memcpy", "memset") if view.has(kind)]
    if not kinds:
        return missing("gpu")
    parts = [(kind, gpu_events(view, kind)) for kind in kinds]
    events = join_events([part for _, part in parts])
    order = np.argsort(events.start, kind="stable")

    def gather(name: str, *kinds_with: str) -> npt.NDArray[Any]:
        columns = [
            view.column(kind, name, part.index) if kind in kinds_with else unrecorded(len(part), np.int64)
            for kind, part in parts
        ]
        return join_columns(columns)[order]

    track = view.track_of(events.row)[order]
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
        data[attribute] = masked_below_zero(view.track_values(attribute)[track])
    data["name"] = _names(view, parts).take(order)
    return Table(
        _GPU_TRACE_COLUMNS,
        data,
        targets=event_targets(events.row[order]),
        scope=scope_text(view, english("GPU operations")),
        notes=(english("Operations that overlap the range are listed with their full duration."),),
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


def _memory_kinds(view: View, parts: list[tuple[str, SelectedEvents]]) -> tuple[Int64Array, Int64Array]:
    """Codes of source and destination memory, −1 for operations without one."""
    sides: tuple[list[Int64Array], list[Int64Array]] = ([], [])
    for kind, events in parts:
        names = {"memcpy": ("src_kind", "dst_kind"), "memset": ("", "memory_kind")}.get(kind, ("", ""))
        for side, name in zip(sides, names, strict=True):
            column = view.column(kind, name, events.index) if name else unrecorded(len(events), np.int64)
            side.append(np.ma.filled(column.astype(np.int64), -1))
    return np.concatenate(sides[0]), np.concatenate(sides[1])


def _names(view: View, parts: list[tuple[str, SelectedEvents]]) -> Texts:
    """Full kernel names, and Nsight's names of copies, as one column."""
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


report = ReportSpec(
    "cuda_gpu_trace",
    "GPU work (list)",
    "gpu",
    cuda_gpu_trace,
    needs=("kernel", "memcpy", "memset"),
    place=109,
)
