"""Views that are called as in Perfetto's and Nsight Systems' SQL, so that queries found elsewhere run.

Perfetto: https://perfetto.dev/docs/analysis/sql-tables. Nsight Systems: the SQLite schema in its user guide
(https://docs.nvidia.com/nsight-systems/UserGuide/index.html#sqlite-schema-reference). Times count from the start of the
capture in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpline.query.definitions import Definition

if TYPE_CHECKING:
    from warpline.storage import Capture

PERFETTO, NSYS = "perfetto", "nsys"
_STATES = "('thread_state', 'cpu_slice')"
_GLOBAL_TID = "coalesce(t.pid, 0) * 16777216 + coalesce(t.tid, 0)"
"""Nsight's serialised number of a thread, without hardware and machine: process id << 24 | thread id."""


def _view(schema: str, name: str, about: str, select: str, *uses: str) -> Definition:
    sql = f"CREATE OR REPLACE VIEW {schema}.{name} AS {select}"
    return Definition(name, about, sql, uses, schema=schema)


def perfetto(capture: Capture) -> Iterator[Definition]:
    """The views of Perfetto that a capture can fill."""
    yield _view(
        PERFETTO,
        "slice",
        "Perfetto: events that are no states",
        "SELECT id, ts, dur, track_id, kind AS category, name, depth, parent_id, NULL::BIGINT AS arg_set_id "
        f"FROM {{s}}.events WHERE kind NOT IN {_STATES}",
        "events",
    )
    yield _view(
        PERFETTO,
        "track",
        "Perfetto: rows of the timeline",
        "SELECT id, title AS name, role AS type, parent_id FROM {s}.tracks",
        "tracks",
    )
    yield _view(
        PERFETTO,
        "thread_track",
        "Perfetto: rows of threads",
        "SELECT id, title AS name, role AS type, parent_id, thread_id AS utid "
        "FROM {s}.tracks WHERE thread_id IS NOT NULL",
        "tracks",
    )
    yield _view(
        PERFETTO,
        "process_track",
        "Perfetto: rows of processes",
        "SELECT id, title AS name, role AS type, parent_id, process_id AS upid "
        "FROM {s}.tracks WHERE process_id IS NOT NULL AND thread_id IS NULL",
        "tracks",
    )
    yield _view(
        PERFETTO,
        "thread",
        "Perfetto: threads",
        "SELECT id AS utid, id, tid, name, process_id AS upid, ts AS start_ts, stop_ts AS end_ts, "
        "tid = pid AS is_main_thread FROM {s}.threads",
        "threads",
    )
    yield _view(
        PERFETTO,
        "process",
        "Perfetto: processes",
        "SELECT id AS upid, id, pid, name, ts AS start_ts, stop_ts AS end_ts, command AS cmdline FROM {s}.processes",
        "processes",
    )
    yield _view(
        PERFETTO,
        "thread_slice",
        "Perfetto: slices with their thread and process",
        "SELECT s.id, s.ts, s.dur, s.kind AS category, s.name, s.track_id, s.depth, s.parent_id, "
        "NULL::BIGINT AS arg_set_id, t.thread_id AS utid, h.tid, h.name AS thread_name, h.process_id AS upid, p.pid, "
        "p.name AS process_name, h.tid = h.pid AS is_main_thread FROM {s}.events s "
        "JOIN {s}.tracks t ON t.id = s.track_id JOIN {s}.threads h ON h.id = t.thread_id "
        f"LEFT JOIN {{s}}.processes p ON p.id = h.process_id WHERE s.kind NOT IN {_STATES}",
        "events",
        "tracks",
        "threads",
        "processes",
    )
    yield _view(
        PERFETTO,
        "counter",
        "Perfetto: samples of counters",
        "SELECT ts, counter_id AS track_id, value FROM {s}.counter_samples",
        "counter_samples",
    )
    yield _view(
        PERFETTO,
        "counter_track",
        "Perfetto: counters",
        "SELECT id, name, unit, track_id AS parent_id FROM {s}.counters",
        "counters",
    )
    yield _view(
        PERFETTO,
        "flow",
        "Perfetto: links",
        "SELECT from_id AS slice_out, to_id AS slice_in, kind AS name FROM {s}.links",
        "links",
    )
    slices = capture.kinds.get("cpu_slice")
    for name in ("sched", "sched_slice"):
        if slices is None or "thread" not in slices.attributes:
            continue
        yield _view(
            PERFETTO,
            name,
            "Perfetto: which thread each core ran",
            "SELECT c.id, c.ts, c.dur, TRY_CAST(regexp_extract(t.uri, 'cpu/(\\d+)', 1) AS INTEGER) AS cpu, "
            "c.thread AS utid FROM {s}.cpu_slice c JOIN {s}.tracks t ON t.id = c.track_id WHERE t.role = 'core'",
            "cpu_slice",
            "tracks",
        )


_OF_TRACK = (
    'x.ts AS "start", x.ts + x.dur AS "end", t.device AS deviceId, t.context AS contextId, t.stream AS streamId, '
    "coalesce(t.pid, 0) * 16777216 AS globalPid"
)
_TIMES = 'x.ts AS "start", x.ts + x.dur AS "end"'
_NAMED = "x.name_id AS nameId"
_SIZES = {
    **{f"grid_{axis}": f"grid{axis.upper()}" for axis in "xyz"},
    **{f"block_{axis}": f"block{axis.upper()}" for axis in "xyz"},
    "registers_per_thread": "registersPerThread",
    "static_shared_memory_bytes": "staticSharedMemory",
    "dynamic_shared_memory_bytes": "dynamicSharedMemory",
    "local_memory_per_thread_bytes": "localMemoryPerThread",
    "correlation": "correlationId",
    "bytes": "bytes",
    "return_value": "returnValue",
}
"""Attributes of ours that Nsight has, and what it calls them."""
_TABLES = (
    (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "kernel",
        f"{_OF_TRACK}, x.name_id AS demangledName, x.name_id AS shortName",
    ),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy", f"{_OF_TRACK}, {{copy_kind}} AS copyKind"),
    ("CUPTI_ACTIVITY_KIND_MEMSET", "memset", _OF_TRACK),
    ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "sync", _OF_TRACK),
    (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "cuda_api",
        f"{_TIMES}, {_GLOBAL_TID} AS globalTid, {_NAMED}",
    ),
    (
        "NVTX_EVENTS",
        "range",
        f"{_TIMES}, 59 AS eventType, x.name AS text, x.name_id AS textId, {_GLOBAL_TID} AS globalTid",
    ),
    ("OSRT_API", "osrt", f"{_TIMES}, {_GLOBAL_TID} AS globalTid, {_NAMED}"),
)
_COPY_KINDS = (
    ("host to device", 1), ("device to host", 2), ("host to array", 3), ("array to host", 4), ("array to array", 5),
    ("array to device", 6), ("device to array", 7), ("device to device", 8), ("host to host", 9), ("peer to peer", 10),
)  # fmt: skip
_CASES = " ".join(f"WHEN '{name}' THEN {code}" for name, code in _COPY_KINDS)
_COPY_KIND = f"CASE x.copy_kind {_CASES} ELSE 0 END"


def nsys(capture: Capture) -> Iterator[Definition]:
    """The views of Nsight Systems that a capture can fill."""
    yield _view(
        NSYS, "StringIds", "Nsight: texts by id", "SELECT id, text AS value FROM {s}.strings", "strings"
    )
    for name, kind, columns in _TABLES:
        table = capture.kinds.get(kind)
        if table is None:
            continue
        copy_kind = _COPY_KIND if "copy_kind" in table.attributes else "NULL::INTEGER"
        own = "".join(
            f", x.{ours} AS {theirs}" for ours, theirs in _SIZES.items() if ours in table.attributes
        )
        yield _view(
            NSYS,
            name,
            f"Nsight: events of the kind {kind}",
            f"SELECT {columns.replace('{copy_kind}', copy_kind)}{own} "
            f"FROM {{s}}.{kind} x JOIN {{s}}.tracks t ON t.id = x.track_id",
            kind,
            "tracks",
        )
