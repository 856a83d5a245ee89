"""Importer for CSV output of rocprofv3 (``*_kernel_trace.csv`` and others) and of rocprof (``results.csv``)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import integer
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, Readable, unpacked
from warpline.interchange.rocm.work import RocmWork, launch_shape, uint32
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.untrusted import number_in

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_V3 = {"Start_Timestamp", "End_Timestamp"}
_V1 = {"KernelName", "BeginNs", "EndNs"}
_TRACE = re.compile(r"_(kernel|memory_copy|marker_api|[a-z]+_api)_trace\.csv$")
_NUMBER = re.compile(r"(\d+)$")
_ROWS = 20_000

Row = dict[str, str]


class RocprofCsvImporter:
    """One file of a process, and the others of that process beside it."""

    name = "rocprof-csv"
    title = english("rocprof CSV output")
    patterns = ("*_trace.csv", "*results.csv")
    position = 61

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        names = {
            name.strip().strip('"') for name in head.split(b"\n", 1)[0].decode("utf-8", "replace").split(",")
        }
        if names >= _V1 or (names >= _V3 and names & {"Kernel_Name", "Function", "Direction"}):
            return CERTAIN
        return NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        reader = _Reader(EventSink(builder, options))
        files = files_of_process(path)
        for index, file in enumerate(files):
            progress(index / len(files), tr("reading {what}", what=file.name))
            for rows in _rows(file):
                check_cancelled(cancelled)
                reader.add(rows)
        return reader.finish()


def files_of_process(path: Path) -> list[Path]:
    """The traces of the process that a file belongs to, calls before kernels, in the file's folder."""
    match = _TRACE.search(path.name)
    if match is None or not path.is_file():
        return [path]
    stem = path.name[: match.start()]
    same = [
        file
        for file in path.parent.glob("*_trace.csv")
        if _TRACE.search(file.name) and _TRACE.sub("", file.name) == stem
    ]
    return sorted(same, key=lambda file: ("_api_" not in file.name, file.name)) or [path]


def _rows(path: Path) -> Iterator[list[Row]]:
    try:
        with path.open("rb") as raw:
            lines = io.TextIOWrapper(
                io.BufferedReader(_Stream(unpacked(raw, path))), "utf-8", "replace", newline=""
            )
            rows = csv.DictReader(lines)
            while part := list(islice(rows, _ROWS)):
                yield part
    except (csv.Error, *UNPACKING_ERRORS) as error:
        raise ImportFormatError(tr("{path}: cannot be read: {reason}", path=path, reason=error)) from error


class _Stream(io.RawIOBase):
    """An unpacked file with the interface that Python's text reader expects."""

    def __init__(self, source: Readable) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        return self._source.readinto(memoryview(room).cast("B")) or 0


class _Reader:
    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._work = RocmWork(sink)
        self._pid: int | None = None

    def add(self, rows: list[Row]) -> None:
        """Adds rows of one file, whose columns say what they are."""
        names = rows[0].keys()
        if "KernelName" in names:
            self._add_first_kernels(rows)
        elif "Kernel_Name" in names:
            self._add_kernels(rows)
        elif "Direction" in names:
            self._add_copies(rows)
        elif "Function" in names:
            self._add_calls(rows)

    def _processes(self, rows: list[Row]) -> list[int]:
        return [self._pid if self._pid is not None else 0] * len(rows)

    def _add_calls(self, rows: list[Row]) -> None:
        pids = _integers(rows, "Process_Id")
        self._pid = (
            self._pid if self._pid is not None else next((pid for pid in pids if pid is not None), None)
        )
        sorts = [row.get("Domain") or row.get("Kind") or "" for row in rows]
        self._work.add_calls(
            pids, _integers(rows, "Thread_Id"), *_span(rows), [row.get("Function") for row in rows],
            _integers(rows, "Correlation_Id"), sorts, [""] * len(rows),
        )  # fmt: skip

    def _add_kernels(self, rows: list[Row]) -> None:
        grid = [_integers(rows, f"Grid_Size_{axis}") for axis in "XYZ"]
        block = [_integers(rows, f"Workgroup_Size_{axis}") for axis in "XYZ"]
        attributes = launch_shape(grid, block, in_threads=[True] * len(rows))
        shared = "LDS_Block_Size" if "LDS_Block_Size" in rows[0] else "Group_Segment_Size"
        attributes["static_shared_memory_bytes"] = uint32(_integers(rows, shared))
        attributes["registers_per_thread"] = uint32(_integers(rows, "VGPR_Count"))
        self._add_work("kernel", rows, "Agent_Id", [row.get("Kernel_Name") for row in rows], attributes)

    def _add_copies(self, rows: list[Row]) -> None:
        names = [row.get("Direction") or "MEMORY_COPY" for row in rows]
        self._add_work("memcpy", rows, "Destination_Agent_Id", names, {})

    def _add_work(
        self, kind: str, rows: list[Row], agent: str, names: list[Any], attributes: dict[str, Any]
    ) -> None:
        streams, queues = _integers(rows, "Stream_Id"), _integers(rows, "Queue_Id")
        streams = [stream or queue for stream, queue in zip(streams, queues, strict=True)]
        self._work.add_work(
            kind, self._processes(rows), [_agent(row.get(agent)) for row in rows], streams, *_span(rows), names,
            _integers(rows, "Correlation_Id"), attributes,
        )  # fmt: skip

    def _add_first_kernels(self, rows: list[Row]) -> None:
        attributes = launch_shape(
            [_integers(rows, "grd"), [None] * len(rows), [None] * len(rows)],
            [_integers(rows, "wgr"), [None] * len(rows), [None] * len(rows)],
            in_threads=[True] * len(rows),
        )
        self._work.add_work(
            "kernel", _integers(rows, "pid"), _integers(rows, "gpu-id"), _integers(rows, "queue-id"),
            _integers(rows, "BeginNs"), _integers(rows, "EndNs"), [row.get("KernelName") for row in rows],
            [None] * len(rows), attributes,
        )  # fmt: skip

    def finish(self) -> ImportSummary:
        """What the framework needs."""
        return self._sink.summary()


def _integers(rows: list[Row], column: str) -> list[int | None]:
    return [integer(row.get(column)) for row in rows]


def _span(rows: list[Row]) -> tuple[list[int | None], list[int | None]]:
    return _integers(rows, "Start_Timestamp"), _integers(rows, "End_Timestamp")


def _agent(value: str | None) -> int:
    """The number of an agent (``4``, ``Agent 4``)."""
    match = _NUMBER.search(value or "")
    return number_in(match[1], 0) if match else 0


importer = RocprofCsvImporter()
