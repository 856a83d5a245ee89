"""Importer for databases of rocprofv3 and rocprof-sys (``rocpd``, ``*_results.db``).

Source of the tables: ``rocpd_tables.sql`` of rocprofiler-sdk-rocpd, schema 3. Several databases may be merged into one,
so ids are unique only together with the column ``guid``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import integers
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.sqlite_file import MAGIC, SqliteFile, names_table
from warpline.interchange.rocm.work import RocmWork, launch_shape, uint32, unsigned
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress
from warpline.untrusted import read_json

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEX_NAME = re.compile(rb"rocpd_kernel_dispatch_[0-9a-f_]+", re.IGNORECASE)


def _joins(row: str, *tables: str) -> str:
    """Left joins of info tables: ``process.pid`` is the row of the table of processes."""
    return " ".join(
        f"LEFT JOIN rocpd_{table} {alias} ON {alias}.id = {key} AND {alias}.guid = {row}.guid"
        for table, alias, key in (entry.split() for entry in tables)
    )


_PLACE = ("info_process p r.pid", "event e r.event_id")
_REGIONS = f"""SELECT p.pid, t.tid, r.start, r."end", s.string, e.stack_id, c.string, r.extdata FROM rocpd_region r
{_joins("r", *_PLACE, "info_thread t r.tid", "string s r.name_id", "string c e.category_id")}"""
_KERNELS = f"""SELECT p.pid, g.type_index, g.logical_index, r.stream_id, r.queue_id, r.start, r."end",
  coalesce(k.display_name, k.kernel_name), e.stack_id, r.grid_size_x, r.grid_size_y, r.grid_size_z,
  r.workgroup_size_x, r.workgroup_size_y, r.workgroup_size_z, r.group_segment_size, k.arch_vgpr_count, r.event_id,
  r.guid FROM rocpd_kernel_dispatch r
{_joins("r", *_PLACE, "info_agent g r.agent_id", "info_kernel_symbol k r.kernel_id")}"""
_COPIES = f"""SELECT p.pid, d.type, d.type_index, d.logical_index, f.type_index, f.logical_index, r.stream_id,
  r.queue_id, r.start, r."end", s.string, e.stack_id, r.size FROM rocpd_memory_copy r
{_joins("r", *_PLACE, "info_agent d r.dst_agent_id", "info_agent f r.src_agent_id", "string s r.name_id")}"""
_ALLOCATIONS = f"""SELECT p.pid, t.tid, r.start, r.type, r.level, r.address, r.size, g.product_name
FROM rocpd_memory_allocate r {_joins("r", *_PLACE, "info_thread t r.tid", "info_agent g r.agent_id")}"""
_COUNTERS = """SELECT v.guid, v.event_id, i.name, sum(v.value) FROM rocpd_pmc_event v
JOIN rocpd_info_pmc i ON i.id = v.pmc_id AND i.guid = v.guid GROUP BY v.guid, v.event_id, i.name"""
_SAMPLES = """SELECT g.type_index, g.logical_index, i.name, i.units, r.timestamp, v.value FROM rocpd_sample r
JOIN rocpd_pmc_event v ON v.event_id = r.event_id AND v.guid = r.guid
JOIN rocpd_info_pmc i ON i.id = v.pmc_id AND i.guid = v.guid
LEFT JOIN rocpd_info_agent g ON g.id = i.agent_id AND g.guid = i.guid ORDER BY r.timestamp"""
_AGENTS = (
    "SELECT type_index, logical_index, coalesce(product_name, name) FROM rocpd_info_agent WHERE type = 'GPU'"
)
_PROCESSES = "SELECT pid, command FROM rocpd_info_process"
_THREADS = """SELECT p.pid, t.tid, t.name FROM rocpd_info_thread t
JOIN rocpd_info_process p ON p.id = t.pid AND p.guid = t.guid"""


class RocpdImporter:
    """``rocprofv3 --output-format rocpd``."""

    name = "rocpd"
    title = english("rocprofv3 database (rocpd)")
    patterns = ("*.db",)
    position = 57

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        if not head.startswith(MAGIC):
            return NO
        return CERTAIN if names_table(head, "rocpd_kernel_dispatch") or _HEX_NAME.search(head) else NO

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
            if not {"start", "end", "tid"} <= database.columns("rocpd_region"):
                raise ImportFormatError(
                    tr(
                        "{path}: a rocprofv3 database with a schema other than 3. Convert it: {command}",
                        path=path,
                        command="rocpd convert -i FILE -f pftrace",
                    )
                )
            for pid, command in database.rows(_PROCESSES):
                if isinstance(pid, int):
                    sink.process(pid, str(command or "").split(" ")[0].rpartition("/")[2])
            for pid, tid, name in database.rows(_THREADS):
                if name and isinstance(pid, int) and isinstance(tid, int):
                    sink.thread(pid, tid, str(name), is_first=pid == tid)
            for number, other, name in database.rows(_AGENTS):
                sink.device(_gpu(number, other), str(name or ""))
            readers = (
                (_REGIONS, _add_regions),
                (_KERNELS, lambda work, columns: _add_kernels(work, columns, _counters(database))),
                (_COPIES, _add_copies),
                (_ALLOCATIONS, _add_allocations),
            )
            for index, (query, add) in enumerate(readers):
                progress(index / len(readers), tr("reading {what}", what=path.name))
                for columns in database.batches(query):
                    add(work, columns)
            _add_samples(sink, database)
        return sink.summary()


def _gpu(number: Any, other: Any) -> int:
    return next((value for value in (number, other) if isinstance(value, int) and 0 <= value < 1 << 16), 0)


def _add_regions(work: RocmWork, columns: list[tuple[Any, ...]]) -> None:
    pids, tids, start, stop, names, stacks, categories, extras = columns
    texts = [_message(extra) or name for name, extra in zip(names, extras, strict=True)]
    work.add_calls(pids, tids, start, stop, texts, stacks, categories, [""] * len(texts))


def _message(extra: Any) -> str:
    """The text of a marker, which stands beside its name."""
    if not isinstance(extra, str) or len(extra) < 5:
        return ""
    try:
        value = read_json(extra)
    except ValueError:
        return ""
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, str) else ""


def _counters(database: SqliteFile) -> dict[tuple[Any, Any], dict[str, float]]:
    """Hardware counters by the event they belong to."""
    found: dict[tuple[Any, Any], dict[str, float]] = {}
    for guid, event, name, value in database.rows(_COUNTERS):
        if isinstance(value, int | float):
            found.setdefault((guid, event), {})[str(name)] = value
    return found


def _add_kernels(
    work: RocmWork, columns: list[tuple[Any, ...]], counters: dict[tuple[Any, Any], dict[str, float]]
) -> None:
    pid, number, other, stream, queue, start, stop, name, stack, *shape, group, registers, event, guid = (
        columns
    )
    attributes = launch_shape(shape[:3], shape[3:], in_threads=[True] * len(pid))
    attributes["static_shared_memory_bytes"] = uint32(group)
    attributes["registers_per_thread"] = uint32(registers)
    if counters:
        values = [counters.get(key) for key in zip(guid, event, strict=True)]
        attributes["payload"] = work.optional(
            [msgspec.json.encode(value).decode() if value else "" for value in values]
        )
    gpus = [_gpu(first, second) for first, second in zip(number, other, strict=True)]
    work.add_work("kernel", pid, gpus, _streams(stream, queue), start, stop, name, stack, attributes)


def _streams(streams: tuple[Any, ...], queues: tuple[Any, ...]) -> list[Any]:
    return [queue if stream is None else stream for stream, queue in zip(streams, queues, strict=True)]


def _add_copies(work: RocmWork, columns: list[tuple[Any, ...]]) -> None:
    pid, sort, to, to_other, source, source_other, stream, queue, start, stop, name, stack, size = columns
    gpus = [
        _gpu(*(ends[:2] if kind == "GPU" else ends[2:]))
        for kind, *ends in zip(sort, to, to_other, source, source_other, strict=True)
    ]
    work.add_work(
        "memcpy", pid, gpus, _streams(stream, queue), start, stop, name, stack, {"bytes": unsigned(size)}
    )


def _add_allocations(work: RocmWork, columns: list[tuple[Any, ...]]) -> None:
    pid, tid, start, sort, level, address, size, device = columns
    work.add_allocations(
        pid,
        tid,
        start,
        [f"{kind} {where}" for kind, where in zip(sort, level, strict=True)],
        is_release=[kind in ("FREE", "RECLAIM") for kind in sort],
        address=address,
        size=size,
        device=device,
    )


def _add_samples(sink: EventSink, database: SqliteFile) -> None:
    """Counters that were sampled over time."""
    for columns in database.batches(_SAMPLES):
        number, other, names, units, times, values = columns
        gpus = [_gpu(first, second) for first, second in zip(number, other, strict=True)]
        when = integers(times)
        for gpu, name in sorted(set(zip(gpus, map(str, names), strict=True))):
            rows = [
                row
                for row, key in enumerate(zip(gpus, map(str, names), strict=True))
                if key == (gpu, name)
                and isinstance(values[row], int | float)
                and when[row] is not np.ma.masked
            ]
            if rows:
                track = sink.track(sink.specs.gpu_counter(gpu, name, name), sink.gpu(gpu))
                points = np.array([float(values[row]) for row in rows])
                sink.add_counter(track, name, str(units[rows[0]] or ""), np.ma.getdata(when)[rows], points)


importer = RocpdImporter()
