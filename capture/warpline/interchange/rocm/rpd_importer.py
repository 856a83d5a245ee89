"""Importer for databases of rocmProfileData (``.rpd``).

Source of the tables: ``rocpd_python/rocpd/schema_data/tableSchema.cmd`` of rocmProfileData.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import real, scalar_text
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.sqlite_file import SqliteFile, names_table
from warpline.interchange.rocm.work import RocmWork, launch_shape, unsigned
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_MARKER = "UserMarker"
"""The name of the call that stands for a marker, whose text is the argument."""
_CALLS = """SELECT id, pid, tid, start, "end", apiName_id, args_id FROM rocpd_api"""
_OPS = """SELECT o.gpuId, o.queueId, o.start, o."end", o.description_id, o.opType_id, a.api_id, p.pid, p.apiName_id,
  k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ, k.groupSegmentSize, c.size
FROM rocpd_op o
LEFT JOIN (SELECT op_id, max(api_id) AS api_id FROM rocpd_api_ops GROUP BY op_id) a ON a.op_id = o.id
LEFT JOIN rocpd_api p ON p.id = a.api_id
LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = a.api_id
LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = a.api_id"""
_MONITOR = "SELECT deviceType, deviceId, monitorType, start, value FROM rocpd_monitor ORDER BY start"
_UNITS = {"sclk": "MHz", "mclk": "MHz", "temp": "°C", "power": "W", "fan": "%", "vram%": "%", "gpu%": "%"}


class RpdImporter:
    """``.rpd``, also packed."""

    name = "rpd"
    title = english("rocmProfileData database")
    patterns = ("*.rpd", "*.rpd.gz")
    position = 56

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        return CERTAIN if names_table(head, "rocpd_api") and names_table(head, "rocpd_op") else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        sink = EventSink(builder, options)
        work = RocmWork(sink)
        with SqliteFile(path, cancelled) as database:
            strings = database.rows("SELECT id, string FROM rocpd_string")
            texts = {number: scalar_text(text) for number, text in strings}
            progress(0.1, tr("reading {what}", what="rocpd_api"))
            for columns in database.batches(_CALLS):
                _add_calls(work, columns, texts)
            progress(0.5, tr("reading {what}", what="rocpd_op"))
            for columns in database.batches(_OPS):
                _add_ops(work, columns, texts)
            if database.count("rocpd_monitor"):
                _add_monitor(sink, database.rows(_MONITOR))
            builder.add_skipped(
                english("barriers"), database.count("rocpd_barrierop"), english("Warpline does not show them")
            )
        return sink.summary()


def _add_calls(work: RocmWork, columns: list[tuple[Any, ...]], texts: dict[Any, str]) -> None:
    ids, pids, tids, start, stop, names, args = columns
    calls = [texts.get(name, "") for name in names]
    details = [texts.get(arg, "") for arg in args]
    is_marker = [call == _MARKER for call in calls]
    work.add_calls(
        pids,
        tids,
        start,
        stop,
        [detail if marker else call for call, detail, marker in zip(calls, details, is_marker, strict=True)],
        ids,
        ["roctx" if marker else "" for marker in is_marker],
        ["" if marker else detail for detail, marker in zip(details, is_marker, strict=True)],
    )


def _add_ops(work: RocmWork, columns: list[tuple[Any, ...]], texts: dict[Any, str]) -> None:
    types = [texts.get(kind, "") for kind in columns[5]]
    kinds = np.array([_kind_of(text) for text in types])
    for kind in np.unique(kinds).tolist():
        index = np.flatnonzero(kinds == kind).tolist()
        gpu, queue, start, stop, description, _, call, pid, api, *shape, group, size = (
            [column[row] for row in index] for column in columns
        )
        names = [texts.get(text, "") or types[row] for text, row in zip(description, index, strict=True)]
        attributes: dict[str, Any] = {}
        if kind == "kernel":
            # hipExtModuleLaunchKernel is given threads, other launches blocks.
            in_threads = [texts.get(name, "").startswith("hipExt") for name in api]
            attributes = launch_shape(shape[:3], shape[3:], in_threads=in_threads)
            attributes["dynamic_shared_memory_bytes"] = unsigned(group)
        elif kind in ("memcpy", "memset"):
            attributes["bytes"] = unsigned(size)
        work.add_work(kind, pid, gpu, queue, start, stop, names, call, attributes)


def _kind_of(operation: str) -> str:
    if operation.startswith("Copy"):
        return "memcpy"
    if operation.startswith("Fill"):
        return "memset"
    return "gpu_event" if operation in ("Barrier", "Marker") else "kernel"


def _add_monitor(sink: EventSink, rows: Iterable[tuple[Any, ...]]) -> None:
    """Values of the system management interface: clocks, power, temperature."""
    series: dict[tuple[int, str], list[tuple[int, float]]] = {}
    for sort, device, name, start, value in rows:
        number = real(value)
        if sort == "gpu" and isinstance(device, int) and isinstance(start, int) and number is not None:
            series.setdefault((max(device, 0) & 0xFFFF, str(name)), []).append((start, number))
    for (device, name), points in series.items():
        track = sink.track(sink.specs.gpu_counter(device, name, name), sink.gpu(device))
        times, values = zip(*points, strict=True)
        sink.add_counter(track, name, _UNITS.get(name, ""), np.array(times, np.int64), np.array(values))


importer = RpdImporter()
