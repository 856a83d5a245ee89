"""Seeds that take milliseconds: captures of a dozen events each, traces of others cut down to some tens."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from warpline.storage import CaptureBuilder

JSON_BYTES = 6_000
ROWS = 12
"""Of each table of a database."""
_SMALL_BYTES = 1_000_000

# A trace of each dialect of the one format, for where no traces of others are.
_ARGUMENTS = {
    "External id": 3,
    "correlation": 7,
    "stream": 7,
    "device": 0,
    "grid": [8, 1, 1],
    "block": [32, 1, 1],
}
_EVENTS: list[dict[str, Any]] = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "stream 7"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.0, "dur": 40.5,
     "args": {"External id": 3, "Input Dims": [[2, 3], [3]], "Sequence number": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 5,
     "args": {"correlation": 7, "External id": 3}},
    {"ph": "X", "cat": "kernel", "name": "gemm<float>", "pid": 0, "tid": 7, "ts": 30, "dur": 9, "args": _ARGUMENTS},
    {"ph": "s", "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 20},
    {"ph": "f", "id": 7, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 30, "bp": "e"},
    {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 21, "s": "t",
     "args": {"Bytes": 512, "Addr": 4096, "Device Id": 0, "Total Allocated": 512, "Device Type": 1}},
    {"ph": "B", "name": "step", "pid": 1, "tid": 1, "ts": "60"},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 61},
    {"ph": "b", "id": "0x1", "cat": "io", "name": "read", "pid": 1, "tid": 1, "ts": 62},
    {"ph": "e", "id": "0x1", "cat": "io", "name": "read", "pid": 1, "tid": 1, "ts": 65},
    {"ph": "C", "name": "load", "pid": 1, "tid": 0, "ts": 5, "args": {"a": 1, "b": 2.5}},
    {"ph": "X", "cat": "Operator", "name": "conv2d[12.3 us]", "pid": 2, "tid": "5(C++)", "ts": 70, "dur": 12.3,
     "args": {"start_time": "70.0 us", "end_time": "82.3 us", "calling_stack": "a\nb"}},
]  # fmt: skip
_HEADS: tuple[dict[str, Any], ...] = (
    {},
    {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "distributedInfo": {"rank": 0}},
    {"displayTimeUnit": "ms", "ExtraInfo": {"Version": "1"}, "schemaVersion": "1.0.2", "deviceProperties": []},
)  # fmt: skip


def own_traces() -> list[tuple[str, bytes]]:
    """Traces of the JSON formats, made here."""
    found = [
        (f"own-{number}", json.dumps({**head, "traceEvents": _EVENTS}).encode())
        for number, head in enumerate(_HEADS)
    ]
    return [*found, ("own-list", json.dumps(_EVENTS).encode())]


def _thread(builder: CaptureBuilder, pid: int, name: str) -> int:
    """The track of a process's one thread."""
    process = builder.add_process(pid, name=name, command=f"{name} a.py")
    thread = builder.add_thread(process, pid, name="main")
    owner = builder.track(f"process/{pid}.1", title=name, role="process", process=process)
    uri = f"process/{pid}.1/thread/{pid}.1"
    return builder.track(uri, role="thread", parent=owner, process=process, thread=thread)


def _threads(builder: CaptureBuilder) -> None:
    thread = _thread(builder, 72, "python")
    core = builder.track("cpu/0", title="Core 0", role="core")
    name = builder.string("a.py:3 work")
    builder.add_events(core, "cpu_slice", [0, 40], [20, 90], name)
    builder.add_events(thread, "thread_state", [0, 20, 40], [20, 40, 90], name)
    ranges = builder.add_events(thread, "range", [1, 2, 50], [30, 9, 80], name)
    builder.add_links("wakeup", [ranges], [ranges + 1])
    builder.add_counter(core, "Frequency", "GHz", np.arange(0, 90, 10), np.linspace(1, 3, 9))
    builder.add_warning("a warning")
    builder.add_pause(30, 35)


def _gpu(builder: CaptureBuilder) -> None:
    thread = _thread(builder, 5, "train")
    stream = builder.track("gpu/0/stream/7", title="Stream 7", role="stream")
    keys = [1, 2, 3]
    calls = builder.add_events(
        thread,
        "cuda_api",
        [5, 15, 25],
        [9, 19, 29],
        builder.string("cudaLaunchKernel"),
        attributes={"correlation": keys},
    )
    kernels = builder.add_events(
        stream, "kernel", [10, 20, 30], [18, 28, 38], builder.string("gemm"), attributes={"correlation": keys}
    )
    builder.add_link_keys("launch", 0, "from", keys, calls + np.arange(3))
    builder.add_link_keys("launch", 0, "to", keys, kernels + np.arange(3))
    builder.add_source("cupti", True, lost=2)


def _stacks(builder: CaptureBuilder) -> None:
    thread = _thread(builder, 9, "app")
    outer = builder.stack(builder.string("main"))
    inner = builder.stack(builder.string("work"), outer)
    builder.add_events(
        thread,
        "sample",
        [1, 5, 9],
        [1, 5, 9],
        builder.string("work"),
        attributes={"stack": [outer, inner, inner]},
    )
    builder.meta.update(command_line=["app"], exit_status=0, host={"cpus": 2})


CAPTURES: dict[str, Callable[[CaptureBuilder], None]] = {"threads": _threads, "gpu": _gpu, "stacks": _stacks}


def captures(folder: Path) -> list[Path]:
    """Captures of a dozen events, one of each subject."""
    found = []
    for name, fill in CAPTURES.items():
        path = folder / f"{name}.h5"
        if not path.exists():
            with CaptureBuilder(path) as builder:
                fill(builder)
                builder.finish()
        found.append(path)
    return found


def small_databases(data: Path, folder: Path) -> list[Path]:
    """Copies of the databases below a folder with some rows of each table."""
    found = []
    for number, path in enumerate(sorted(data.glob("**/*.sqlite"))):
        if path.stat().st_size > _SMALL_BYTES:
            continue
        target = folder / f"{number}-{path.name}"
        if not target.exists():
            target.write_bytes(path.read_bytes())
            with suppress(sqlite3.Error), closing(sqlite3.connect(target, isolation_level=None)) as db:
                _shorten(db)
        found.append(target)
    return found


def _shorten(db: sqlite3.Connection) -> None:
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in tables:
        with suppress(sqlite3.Error):
            count = db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            if not count:
                db.execute(f'DROP TABLE "{name}"')
            # What others refer to stays longer than what refers to it.
            elif name not in ("StringIds", "META_DATA_EXPORT"):
                db.execute(f'DELETE FROM "{name}" WHERE rowid > {ROWS}')
    with suppress(sqlite3.Error):
        db.execute("DELETE FROM StringIds WHERE rowid > 400")
    db.execute("PRAGMA page_size = 1024")
    db.execute("VACUUM")


def small_files(data: Path, most_bytes: int = 60_000) -> list[Path]:
    """Files below a folder in whatever format, as they are, that the other seeds are not made of."""
    return [
        path
        for path in sorted(data.glob("**/*"))
        if path.is_file()
        and 0 < path.stat().st_size <= most_bytes
        and path.suffix not in (".md", ".sqlite", ".py")
        and "expected" not in str(path)
    ]


def spools(folder: Path) -> list[Path]:
    """Spool directories with some records of every type there is: one of them of a recording with a ring."""
    from warpline.recording.session import RecordingOptions, Session
    from warpline.recording.sources.registry import recording_sources
    from warpline.recording.spool.directory import new_spool

    found = []
    for name, ring_ns in (("whole", 0), ("ring", _SECOND)):
        spool = folder / f"{name}.h5.spool"
        found.append(spool)
        if spool.exists():
            continue
        options = RecordingOptions(
            trace=tuple(source.choice.name for source in recording_sources()), ring_ns=ring_ns
        )
        output, stop = folder / f"{name}.h5", None if name == "whole" else 4 * _SECOND
        with new_spool(spool):
            Session(
                directory=spool,
                output=output,
                command=("x",),
                working_directory="/",
                start_monotonic_ns=_SECOND,
                start_realtime_ns=100 * _SECOND,
                recorder_pid=1,
                target_pid=7,
                options=options,
                stop_monotonic_ns=stop,
            ).save()
            _records_of_every_type(spool)
    return found


_SECOND = 1_000_000_000
_RECORD_BYTES = 256
"""As wide as the widest: readers use the beginning."""


def _records_of_every_type(spool: Path) -> None:
    """Records of numbers that name each other, small ones and times, so that most of them mean something."""
    from warpline.recording.sources.registry import recording_sources
    from warpline.recording.spool import records
    from warpline.recording.spool.writer import SpoolWriter

    rng = np.random.default_rng(11)
    own = sorted(
        {value for name, value in vars(records).items() if name.isupper() and isinstance(value, int)}
    )
    of_producer = {"recorder": [number for number in own if 1 < number < 100]}
    agent: list[int] = []
    for source in recording_sources():
        agent += source.record_types
        of_producer[source.name] = sorted(source.record_types)
    of_producer["agent"] = sorted(agent)
    for producer, types in of_producer.items():
        file = "agent.7.1" if producer == "agent" else producer
        writer = SpoolWriter(spool / f"{file}.spool", producer)
        for text in ("main", "a.py:3 work", "gemm", "step"):
            writer.string(text)
        times = {
            number: [places] for source in recording_sources() for number, places in source.timed_records
        }
        for source in recording_sources():
            times |= {number: [first, last] for number, first, last in source.passing_records}
        for number in types:
            words = rng.integers(0, 8, (6, _RECORD_BYTES // 4), np.uint32)
            rows = words.view(np.uint8).reshape(6, _RECORD_BYTES)
            for place in times.get(number, [0, 8]):
                stamps = np.sort(rng.integers(_SECOND, 4 * _SECOND, 6)).astype("<u8")
                rows[:, place : place + 8] = stamps.view(np.uint8).reshape(6, 8)
            writer.append(number, rows.reshape(-1).view(np.dtype([("bytes", f"V{_RECORD_BYTES}")])), free=7)
        writer.close()
