"""Importer for the database of rocprof, ROCm's first profiler (``results.db`` of ``rocprof --sys-trace``).

Source of the tables: ``tblextr.py`` of rocprofiler. Their names and columns changed over the years, so columns decide:
a table with ``dev-id`` holds work of a GPU, one with ``BeginNs`` and a thread holds calls.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.sqlite_file import MAGIC, SqliteFile
from warpline.interchange.rocm.work import RocmWork
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_TIMES = frozenset({"BeginNs", "EndNs"})
_ID = "Index"


class RocprofV1Importer:
    """``rocprof --sys-trace``, ``--hip-trace``, ``--hsa-trace``."""

    name = "rocprof-v1"
    title = english("rocprof database (ROCm 6 and earlier)")
    patterns = ("*.db",)
    position = 60

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        return CERTAIN if head.startswith(MAGIC) and b"BeginNs" in head and b"EndNs" in head else NO

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
            tables = sorted(table for table in database.tables if database.columns(table) >= _TIMES)
            # Calls first: they know the process.
            tables.sort(key=lambda table: "dev-id" in database.columns(table))
            for index, table in enumerate(tables):
                progress(index / len(tables), tr("reading {what}", what=table))
                have = database.columns(table)
                if "dev-id" in have and "Name" in have:
                    _add_work(work, database, table, have)
                elif {"Name", "tid"} <= have:
                    _add_calls(work, database, table, have)
                else:
                    builder.add_skipped(
                        table, database.count(table), english("Warpline does not show them yet")
                    )
        return sink.summary()


def _query(table: str, have: frozenset[str], *columns: str) -> str:
    quoted = table.replace('"', '""')
    return f"""SELECT {", ".join(f'"{name}"' if name in have else "NULL" for name in columns)} FROM "{quoted}\""""


def _add_calls(work: RocmWork, database: SqliteFile, table: str, have: frozenset[str]) -> None:
    # ``pid`` is a row of the picture, where a column says the process.
    process = "proc-id" if "proc-id" in have else "pid"
    query = _query(table, have, process, "tid", "BeginNs", "EndNs", "Name", _ID, "args")
    sort = "roctx" if "roctx" in table.lower() else table
    for pid, tid, start, stop, names, keys, arguments in database.batches(query):
        texts = list(names)
        if sort == "roctx":
            texts = [argument or name for name, argument in zip(names, arguments, strict=True)]
        payloads = ["" if text is None else text for text in arguments]
        work.add_calls(pid, tid, start, stop, texts, keys, [sort] * len(pid), payloads)


def _add_work(work: RocmWork, database: SqliteFile, table: str, have: frozenset[str]) -> None:
    owner = next(iter(work.sink.process_keys()), "unknown")
    query = _query(table, have, "proc-id", "dev-id", "queue-id", "BeginNs", "EndNs", "Name", _ID)
    for columns in database.batches(query):
        kinds = np.array([_kind_of(str(name)) for name in columns[5]])
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind).tolist()
            pid, gpu, queue, start, stop, names, keys = ([column[row] for row in rows] for column in columns)
            processes: list[Any] = [owner if value is None else value for value in pid]
            work.add_work(kind, processes, gpu, queue, start, stop, names, keys, {})


def _kind_of(name: str) -> str:
    if "Fill" in name:
        return "memset"
    return "memcpy" if "cpy" in name or name.startswith("Copy") else "kernel"


importer = RocprofV1Importer()
