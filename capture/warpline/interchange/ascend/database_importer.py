"""Importer for databases of Ascend's profiler: ``ascend_pytorch_profiler_*.db`` and ``msprof_*.db``.

Source of the tables: "db" output of MindStudio's profiler (msprof), schema 1. Times are nanoseconds since the epoch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.ascend.tasks import COPY, KERNEL, OTHER, WAIT
from warpline.interchange.framework.columns import (
    clean_text,
    distinct_rows,
    integer,
    integers,
    real,
    unsigned,
)
from warpline.interchange.framework.event_sink import EventSink, Int64Array
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.sqlite_file import MAGIC, SqliteFile, names_table
from warpline.interchange.framework.stack_tables import StackChains, stack_column
from warpline.model import KindSpec, links
from warpline.model.progress import IsCancelled, Progress
from warpline.model.track_titles import ACL_API, NPU

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_TABLES = ("CANN_API", "PYTORCH_API", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "MSTX_EVENTS")
_STEP = re.compile(r"ProfilerStep#(\d{1,18})")
_WAITS = re.compile(r"(event|notify)[_ ]wait", re.IGNORECASE)
_COPIES = re.compile(r"memcpy|sdma", re.IGNORECASE)
_WAITS_FOR_EVENT = 2
_OPERATOR, _PYTHON = 50001, 50003
"""Types of rows of PYTORCH_API (ENUM_API_TYPE)."""
_PATHS = {"operator": "operators", "python": "python", "phase": "phases", "range": "ranges"}
_TASKS = """SELECT t.startNs, t.endNs, t.deviceId, t.connectionId, t.globalPid, t.taskType, t.streamId, c.name, m.name,
  m.size, m.planeId, m.groupName, c.blockDim
FROM TASK t LEFT JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId
LEFT JOIN (SELECT * FROM COMMUNICATION_TASK_INFO GROUP BY globalTaskId) m ON m.globalTaskId = t.globalTaskId"""
_PLAIN_TASKS = f"""SELECT startNs, endNs, deviceId, connectionId, globalPid, taskType, streamId{", NULL" * 6}
FROM TASK"""
_TORCH_COLUMNS = (
    "startNs", "endNs", "globalTid", "connectionId", "name", "sequenceNumber", "fwdThreadId", "inputDtypes",
    "inputShapes", "callchainId", "type",
)  # fmt: skip
_COUNTERS = (
    ("AICORE_FREQ", "deviceId, 'AI core frequency', timestampNs, freq", "MHz"),
    ("HBM", "deviceId, 'HBM ' || hbmId || ' bandwidth ' || type, timestampNs, bandwidth", "MB/s"),
    ("NPU_MEM", "deviceId, 'HBM in use ' || type, timestampNs, hbm", "bytes"),
    ("MEMORY_RECORD", "deviceId, 'Allocated ' || component, timestamp, totalAllocated", "bytes"),
    ("MEMORY_RECORD", "deviceId, 'Reserved ' || component, timestamp, totalReserved", "bytes"),
)
"""Table; GPU, name with an id of a text at its end, time and value; unit."""
_READ = frozenset(
    ("TASK", "STRING_IDS", "CANN_API", "PYTORCH_API", "PYTORCH_CALLCHAINS", "CONNECTION_IDS", "COMPUTE_TASK_INFO",
     "COMMUNICATION_OP", "COMMUNICATION_TASK_INFO", "MSTX_EVENTS", "META_DATA", "NPU_INFO", "HOST_INFO",
     "SESSION_TIME_INFO", "RANK_DEVICE_MAP", "STEP_TIME", "status_info", "connectionCats",
     *(table for table, _, _ in _COUNTERS))
)  # fmt: skip


class AscendDatabaseImporter:
    """The ``db`` output of Ascend's profiler."""

    name = "ascend-db"
    title = english("Ascend profiler database")
    patterns = ("*.db",)
    position = 59

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        if not (head.startswith(MAGIC) and b"STRING_IDS" in head):
            return NO
        return CERTAIN if any(names_table(head, table) for table in _TABLES) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        with SqliteFile(path, cancelled) as database:
            reader = _Reader(database, EventSink(builder, options))
            for index, (name, read) in enumerate(
                (
                    ("CANN_API", reader.add_calls),
                    ("PYTORCH_API", reader.add_operators),
                    ("TASK", reader.add_tasks),
                    ("COMMUNICATION_OP", reader.add_collectives),
                    ("MSTX_EVENTS", reader.add_markers),
                )
            ):
                progress(index / 5, tr("reading {what}", what=name))
                if database.count(name):
                    read()
            reader.add_counters()
            return reader.finish()


class _Reader:
    """Reads one database."""

    def __init__(self, database: SqliteFile, sink: EventSink) -> None:
        self._database = database
        self._sink = sink
        self._texts: dict[Any, str] = {}
        if "STRING_IDS" in database.tables:
            self._texts = dict(
                database.rows("SELECT id, CAST(value AS TEXT) FROM STRING_IDS WHERE value NOTNULL")
            )
        self._stacks: dict[Any, int] = {}
        self._groups: dict[Any, int] = {}
        names = dict(database.rows("SELECT id, name FROM NPU_INFO")) if database.count("NPU_INFO") else {}
        for number, name in names.items():
            self._npu(number, str(name))
        for kind, category, color in (("cuda_api", "api", "api"), ("operator", "range", "operator")):
            sink.builder.add_kind(KindSpec(kind, "", category, color))

    def _npu(self, number: Any, name: str = "") -> int:
        device = number if isinstance(number, int) and 0 <= number < 1 << 16 else 0
        track = self._sink.gpu(device, name)
        title = NPU.format(number=device)
        self._sink.builder.update_track(track, title=f"{title} · {clean_text(name)}" if name else title)
        return device

    def _names(self, ids: Any) -> Any:
        return self._sink.builder.strings([clean_text(self._texts.get(number, "")) for number in ids])

    def _optional(self, ids: Any) -> Any:
        names = self._names(ids)
        return np.ma.MaskedArray(names, names == 0)

    def _threads(self, global_tids: Any, path: str, title: str = "") -> Int64Array:
        """Tracks below threads; a global tid is process << 32 | thread."""
        known: dict[Any, int] = {}
        for value in set(global_tids):
            number = value if isinstance(value, int) and 0 <= value < 1 << 63 else 0
            pid, tid = number >> 32, number & 0xFFFFFFFF
            thread = self._sink.thread(pid, tid, is_first=pid == tid)
            known[value] = self._sink.thread_track(thread, path, title)
        return np.array([known[value] for value in global_tids], np.int64)

    def add_calls(self) -> None:
        """Calls of AscendCL and what lies below it."""
        for start, stop, tids, connections, names in self._database.batches(
            "SELECT startNs, endNs, globalTid, connectionId, name FROM CANN_API"
        ):
            correlation = integers(connections)
            ids = self._sink.add(
                self._threads(tids, "api", ACL_API),
                "cuda_api",
                _times(start),
                _times(stop),
                self._names(names),
                attributes={"correlation": correlation},
            )
            self._link(links.LAUNCH, "from", correlation, ids)

    def _link(self, kind: str, end: Any, keys: Any, ids: Int64Array) -> None:
        # To the sink, key 0 means none; here it is a valid connection.
        self._sink.link(kind, end, np.ma.MaskedArray(np.ma.getdata(keys) + 1, np.ma.getmaskarray(keys)), ids)

    def add_operators(self) -> None:
        """PyTorch's operators, Python functions, steps, and the queue between Python and the NPU."""
        self._read_stacks()
        connections = self._connections()
        have = self._database.columns("PYTORCH_API")
        wanted = ", ".join(name if name in have else "NULL" for name in _TORCH_COLUMNS)
        for columns in self._database.batches(f"SELECT {wanted} FROM PYTORCH_API"):
            kinds = [
                _torch_kind(sort, self._texts.get(name, ""))
                for sort, name in zip(columns[10], columns[4], strict=True)
            ]
            for kind, path in _PATHS.items():
                rows = [row for row, own in enumerate(kinds) if own == kind]
                if rows:
                    self._add_torch(
                        kind, path, [[column[row] for row in rows] for column in columns], connections
                    )

    def _add_torch(self, kind: str, path: str, columns: list[list[Any]], connections: dict[Any, int]) -> None:
        start, stop, tids, connection, names, sequence, forward, types, shapes, chain, _ = columns
        attributes: dict[str, Any] = {}
        if kind == "operator":
            attributes = {
                "input_shapes": self._optional(shapes),
                "input_types": self._optional(types),
                "sequence_number": integers(sequence),
                "forward_thread": integers(forward),
            }
        elif kind == "phase":
            texts = [_STEP.fullmatch(self._texts.get(name, "")) for name in names]
            attributes = {"step": integers([int(match[1]) if match else None for match in texts])}
        if kind in ("operator", "python") and self._stacks:
            attributes["stack"] = stack_column([self._stacks.get(number, -1) for number in chain])
        begins, ends = _times(start), _times(stop)
        ids = self._sink.add(
            self._threads(tids, path), kind, begins, ends, self._names(names), attributes=attributes
        )
        if kind == "phase":
            steps = np.ma.filled(attributes["step"], -1).tolist()
            for step, begin, end in zip(steps, begins.tolist(), ends.tolist(), strict=True):
                if step >= 0 and begin <= end:
                    self._sink.steps[step] = (begin, end)
        keys = integers([connections.get(number) for number in connection])
        self._link(links.FLOW, "from", keys, ids)

    def _read_stacks(self) -> None:
        if not self._database.count("PYTORCH_CALLCHAINS"):
            return
        chains = StackChains(self._sink.builder)
        frames: dict[Any, list[tuple[int, str]]] = {}
        for number, text, depth in self._database.rows(
            "SELECT id, stack, stackDepth FROM PYTORCH_CALLCHAINS"
        ):
            frames.setdefault(number, []).append((integer(depth) or 0, clean_text(self._texts.get(text, ""))))
        for number, rows in frames.items():
            self._stacks[number], _ = chains.add([text for _, text in sorted(rows, reverse=True)])

    def _connections(self) -> dict[Any, int]:
        """The NPU's connection of each connection of PyTorch; several go to the last."""
        if not self._database.count("CONNECTION_IDS"):
            return {}
        rows = self._database.rows("SELECT id, connectionId FROM CONNECTION_IDS")
        return {number: connection for number, connection in rows if isinstance(connection, int)}

    def add_tasks(self) -> None:
        """Work of streams. Tasks that msprof counts as computing are kernels."""
        have = {"COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO"} <= self._database.tables
        query = _TASKS if have else _PLAIN_TASKS
        for columns in self._database.batches(query):
            types = [self._texts.get(sort, "") for sort in columns[5]]
            kinds = [
                _task_kind(sort, is_compute=compute is not None, is_communication=communication is not None)
                for sort, compute, communication in zip(types, columns[7], columns[8], strict=True)
            ]
            for kind in (KERNEL, COPY, WAIT, OTHER):
                rows = [row for row, own in enumerate(kinds) if own == kind]
                if rows:
                    self._add_work(kind, [[column[row] for row in rows] for column in columns])

    def _add_work(self, kind: str, columns: list[list[Any]]) -> None:
        start, stop, devices, connection, pids, types, streams, names, parts, size, plane, group, blocks = (
            columns
        )
        titles = [sort if name is None else name for name, sort in zip(names, types, strict=True)]
        numbers = [list(map(_small, column)) for column in (pids, devices, streams, plane, group)]
        # Parts of collectives have a plane; -1 stands for other tasks.
        numbers[3] = [-1 if part is None else number for part, number in zip(parts, numbers[3], strict=True)]
        rows, codes = distinct_rows(*(np.array(column, np.int64) for column in numbers))
        tracks = np.array([self._work_track(row) for row in rows], np.int64)[codes]
        correlation = integers(connection)
        attributes: dict[str, Any] = {} if kind == OTHER else {"correlation": correlation}
        if kind == WAIT:
            attributes["sync_type"] = np.full(len(start), _WAITS_FOR_EVENT, np.uint8)
        elif kind == COPY:
            attributes["bytes"] = unsigned(integers(size))
        elif kind == KERNEL:
            attributes["grid_x"] = unsigned(integers([_small(count) & 0xFFFFFFFF for count in blocks]))
        ids = self._sink.add(
            tracks, kind, _times(start), _times(stop), self._names(titles), attributes=attributes
        )
        self._link(links.LAUNCH, "to", correlation, ids)
        if kind == KERNEL:
            self._link(links.FLOW, "to", correlation, ids)

    def _work_track(self, row: tuple[int, ...]) -> int:
        pid, device, stream, plane, group = row
        device = self._npu(device)
        process = self._sink.process(pid)
        if plane < 0:
            return self._sink.stream(device, process, stream if stream >= 0 else None)
        place, parent = self._sink.context(device, process)
        title = english("Group {group} Plane {number}", group=self._group(group), number=plane)
        return self._sink.track(
            self._sink.specs.collectives(place, f"{group}/{plane}", title), parent, process
        )

    def _group(self, text: Any) -> int:
        """A short number for a group of ranks, whose name is too long for a title."""
        number = self._groups.setdefault(text, len(self._groups))
        names = self._sink.builder.meta.setdefault("communication_groups", {})
        names[str(number)] = clean_text(self._texts.get(text, ""))
        return number

    def add_collectives(self) -> None:
        """Collectives, which count as kernels of communication."""
        query = "SELECT opName, startNs, endNs, connectionId, groupName FROM COMMUNICATION_OP"
        devices = (
            self._database.rows("SELECT deviceId FROM TASK LIMIT 1") if self._database.count("TASK") else ()
        )
        device = self._npu(next(iter(devices), (0,))[0])
        for names, start, stop, connection, groups in self._database.batches(query):
            process = self._sink.first_process() or self._sink.process("unknown")
            place, parent = self._sink.context(device, process)
            known: dict[Any, int] = {}
            for group in set(groups):
                title = english("Group {group} Communication", group=self._group(group))
                spec = self._sink.specs.collectives(place, str(group), title)
                known[group] = self._sink.track(spec, parent, process)
            tracks = np.array([known[group] for group in groups], np.int64)
            correlation = integers(connection)
            ids = self._sink.add(
                tracks,
                KERNEL,
                _times(start),
                _times(stop),
                self._names(names),
                attributes={"correlation": correlation},
            )
            self._link(links.LAUNCH, "to", correlation, ids)

    def add_markers(self) -> None:
        """Ranges and marks of the program (mstx)."""
        query = "SELECT startNs, endNs, globalTid, message FROM MSTX_EVENTS"
        for start, stop, tids, messages in self._database.batches(query):
            self._sink.add(
                self._threads(tids, "ranges"), "range", _times(start), _times(stop), self._names(messages)
            )

    def add_counters(self) -> None:
        """Frequencies, bandwidth and memory of the NPU."""
        for table, wanted, unit in _COUNTERS:
            if not self._database.count(table):
                continue
            series: dict[tuple[Any, str], list[tuple[int, float]]] = {}
            for device, name, time, value in self._database.rows(f"SELECT {wanted} FROM {table} ORDER BY 3"):
                when, number = integer(time), real(value)
                if when is not None and number is not None:
                    series.setdefault((device, str(name)), []).append((when, number))
            for (device, name), points in series.items():
                words, _, last = name.rpartition(" ")
                title = f"{words} {self._texts.get(integer(last), last)}"
                number = self._npu(device)
                spec = self._sink.specs.gpu_counter(number, title, clean_text(title))
                track = self._sink.track(spec, self._sink.gpu(number))
                times, values = zip(*points, strict=True)
                self._sink.add_counter(track, title, unit, np.array(times, np.int64), np.array(values))

    def finish(self) -> ImportSummary:
        """Says what was left out."""
        for table in sorted(self._database.tables - _READ):
            if not table.startswith(("ENUM_", "sqlite_")):
                self._sink.builder.add_skipped(
                    table,
                    self._database.count(table),
                    english("rows of a table that Warpline does not read yet"),
                )
        return self._sink.summary(utc_offset_ns=0)


def _torch_kind(sort: Any, name: str) -> str:
    if _STEP.fullmatch(name):
        return "phase"
    return {_OPERATOR: "operator", _PYTHON: "python"}.get(sort, "range")


def _task_kind(sort: str, *, is_compute: bool, is_communication: bool) -> str:
    if is_compute:
        return KERNEL
    if _WAITS.match(sort):
        return WAIT if not is_communication else OTHER
    return COPY if _COPIES.match(sort) and not is_communication else OTHER


def _small(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 53 else -1


def _times(values: Any) -> Int64Array:
    """Nanoseconds; -2^63 for what is no number, which is skipped."""
    return np.ma.filled(integers(values), -(1 << 62)).astype(np.int64)


importer = AscendDatabaseImporter()
