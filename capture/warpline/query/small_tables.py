"""The tables beside the events: tracks, processes, threads, links, counters, stacks, facts about the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.query.definitions import TableView, ViewColumn, enumeration
from warpline.query.raw_tables import (
    TEXT,
    Array,
    Keys,
    RawColumn,
    RawTable,
    number_column,
    text_column,
    texts,
)
from warpline.storage import NO_ROW
from warpline.storage.columns.schema import NO_STACK

if TYPE_CHECKING:
    from warpline.storage import Capture

_Item = tuple[str, str, str, Callable[[Any], Any]]
_TYPES = {"VARCHAR": None, "BIGINT": "int64", "BOOLEAN": "bool", "DOUBLE": "float64"}


class SmallTables:
    """Makes the views of a capture that are not events."""

    def __init__(self, capture: Capture, keys: Keys) -> None:
        self._capture = capture
        self._keys = keys

    def _view(
        self, name: str, about: str, length: int, columns: dict[str, tuple[str, str, RawColumn]]
    ) -> TableView:
        table = RawTable(self._keys.next(), length, {key: column for key, (_, _, column) in columns.items()})
        shown = (ViewColumn(key, kind, text, table.sql(key)) for key, (kind, text, _) in columns.items())
        return TableView(name, about, table, tuple(shown))

    def _of_items(self, name: str, about: str, items: Iterable[Any], columns: Iterable[_Item]) -> TableView:
        """A table of Python objects, a few thousand at most."""
        rows = list(items)

        def column(kind: str, value: Callable[[Any], Any]) -> RawColumn:
            dtype = _TYPES[kind]
            if dtype is None:
                return text_column(lambda: [value(row) for row in rows])
            return number_column(lambda: [value(row) for row in rows], dtype)

        found = {key: (kind, text, column(kind, value)) for key, kind, text, value in columns}
        return self._view(name, about, len(rows), found)

    def tracks(self) -> TableView:
        """The rows of the timeline."""
        capture = self._capture

        def rank(track: Any) -> int | None:
            return None if track.rank is None else int(track.rank)

        columns: list[_Item] = [
            ("id", "BIGINT", "id, the track_id of events", lambda t: t.index),
            ("uri", "VARCHAR", "name that is unique in the capture", lambda t: t.uri),
            ("title", "VARCHAR", "name that is shown", lambda t: t.title),
            ("role", "VARCHAR", "what the track holds: stream, thread, state, core …", lambda t: t.role),
            ("parent_id", "BIGINT", "id of the track above it", lambda t: None if t.parent < 0 else t.parent),
            ("process_id", "BIGINT", "id of its process in processes", lambda t: t.process),
            ("thread_id", "BIGINT", "id of its thread in threads", lambda t: t.thread),
            ("pid", "BIGINT", "number of its process", lambda t: _pid(capture, t.process)),
            ("tid", "BIGINT", "number of its thread", lambda t: _tid(capture, t.thread)),
            ("device", "BIGINT", "number of its GPU", lambda t: t.device),
            ("context", "BIGINT", "number of its context", lambda t: t.context),
            ("stream", "BIGINT", "number of its stream", lambda t: t.stream),
            ("rank", "BIGINT", "rank of the job", rank),
        ]
        return self._of_items("tracks", "rows of the timeline", capture.tracks, columns)

    def streams(self) -> TableView:
        """The tracks that are streams of GPUs."""
        columns: list[_Item] = [
            ("track_id", "BIGINT", "id of the track", lambda t: t.index),
            ("title", "VARCHAR", "name that is shown", lambda t: t.title),
            ("device", "BIGINT", "number of its GPU", lambda t: t.device),
            ("context", "BIGINT", "number of its context", lambda t: t.context),
            ("stream", "BIGINT", "number of the stream", lambda t: t.stream),
            ("pid", "BIGINT", "number of its process", lambda t: _pid(self._capture, t.process)),
            ("rank", "BIGINT", "rank of the job", lambda t: t.rank),
        ]
        items = [track for track in self._capture.tracks if track.role == "stream"]
        return self._of_items("streams", "streams of GPUs", items, columns)

    def processes(self) -> TableView:
        """Processes."""
        origin = self._capture.span[0]
        columns: list[_Item] = [
            ("id", "BIGINT", "id, the process_id of tracks and threads", lambda p: p[0]),
            ("pid", "BIGINT", "number of the process", lambda p: p[1].pid),
            ("name", "VARCHAR", "name", lambda p: p[1].name),
            ("command", "VARCHAR", "command line", lambda p: p[1].command),
            ("parent_pid", "BIGINT", "number of the process that started it", lambda p: p[1].parent_pid),
            (
                "ts",
                "BIGINT",
                "start, ns since the start of the capture",
                lambda p: _since(p[1].start_ns, origin),
            ),
            (
                "stop_ts",
                "BIGINT",
                "end, ns since the start of the capture",
                lambda p: _since(p[1].stop_ns, origin),
            ),
            ("exit_status", "BIGINT", "exit status", lambda p: p[1].exit_status),
            ("rank", "BIGINT", "rank of the job", lambda p: p[1].rank),
        ]
        return self._of_items("processes", "processes", list(enumerate(self._capture.processes)), columns)

    def threads(self) -> TableView:
        """Threads."""
        capture = self._capture
        origin = capture.span[0]
        columns: list[_Item] = [
            ("id", "BIGINT", "id, the thread_id of tracks", lambda t: t[0]),
            ("tid", "BIGINT", "number of the thread", lambda t: t[1].tid),
            ("name", "VARCHAR", "name", lambda t: t[1].name),
            ("process_id", "BIGINT", "id of its process in processes", lambda t: t[1].process),
            ("pid", "BIGINT", "number of its process", lambda t: _pid(capture, t[1].process)),
            (
                "ts",
                "BIGINT",
                "start, ns since the start of the capture",
                lambda t: _since(t[1].start_ns, origin),
            ),
            (
                "stop_ts",
                "BIGINT",
                "end, ns since the start of the capture",
                lambda t: _since(t[1].stop_ns, origin),
            ),
        ]
        return self._of_items("threads", "threads", list(enumerate(capture.threads)), columns)

    def devices(self) -> TableView:
        """GPUs and other accelerators."""
        columns: list[_Item] = [
            ("device", "BIGINT", "number, the device of tracks", lambda d: d.index),
            ("name", "VARCHAR", "name", lambda d: d.name),
            ("kind", "VARCHAR", "gpu …", lambda d: d.kind),
            ("rank", "BIGINT", "rank of the job", lambda d: d.rank),
            ("properties", "VARCHAR", "other facts as JSON", lambda d: json.dumps(dict(d.properties))),
        ]
        return self._of_items("devices", "GPUs and other accelerators", self._capture.devices, columns)

    def sources(self) -> TableView:
        """What recorded."""
        columns: list[_Item] = [
            ("name", "VARCHAR", "collector or importer", lambda s: s.name),
            ("enabled", "BOOLEAN", "whether it recorded", lambda s: s.enabled),
            ("reason", "VARCHAR", "why it did not, or not all", lambda s: str(s.reason) or None),
            ("lost", "BIGINT", "events that were lost", lambda s: s.lost),
            ("remedy", "VARCHAR", "how to enable it", lambda s: str(s.remedy) or None),
        ]
        return self._of_items(
            "sources", "what recorded, and why others did not", self._capture.sources, columns
        )

    def kinds(self) -> TableView:
        """Kinds with events."""
        columns: list[_Item] = [
            ("name", "VARCHAR", "name of the kind", lambda k: k[0]),
            ("title", "VARCHAR", "name that is shown", lambda k: k[1].spec.title),
            (
                "category",
                "VARCHAR",
                "gpu, api, cpu, range, python, os, memory or tool",
                lambda k: k[1].spec.category,
            ),
            ("events", "BIGINT", "number of events", lambda k: len(k[1])),
        ]
        return self._of_items("kinds", "kinds of events", self._capture.kinds.items(), columns)

    def meta(self) -> TableView:
        """What the file says of itself."""
        capture = self._capture
        facts = {
            "uuid": capture.uuid,
            "duration_ns": capture.duration_ns,
            "writer": capture.writer,
            **capture.meta,
        }
        columns: list[_Item] = [
            ("key", "VARCHAR", "name", lambda f: f[0]),
            ("value", "VARCHAR", "value; lists and objects as JSON", lambda f: _as_text(f[1])),
        ]
        return self._of_items("meta", "what the file says of itself", facts.items(), columns)

    def counters(self) -> TableView:
        """Counters."""
        columns: list[_Item] = [
            ("id", "BIGINT", "id, the counter_id of counter_samples", lambda c: c.index),
            ("track_id", "BIGINT", "id of its track", lambda c: c.track),
            ("name", "VARCHAR", "name", lambda c: c.name),
            ("unit", "VARCHAR", "unit of the values", lambda c: c.unit),
            (
                "interpolation",
                "VARCHAR",
                "step: a value holds until the next; or linear",
                lambda c: c.interpolation,
            ),
            ("samples", "BIGINT", "number of samples", lambda c: len(c.values)),
        ]
        return self._of_items("counters", "values over time", self._capture.counters, columns)

    def counter_samples(self) -> TableView:
        """Samples of all counters."""
        counters = self._capture.counters
        origin = self._capture.span[0]
        lengths = [len(counter.values) for counter in counters]

        def joined(parts: list[Array], dtype: str) -> Array:
            return np.concatenate([np.empty(0, dtype), *parts])

        def values() -> Array:
            found = joined([counter.values for counter in counters], "float64")
            return np.ma.MaskedArray(found, np.isnan(found)) if np.isnan(found).any() else found

        def ids() -> Array:
            return np.repeat(np.array([counter.index for counter in counters], np.int64), lengths)

        def times() -> Array:
            return joined([counter.times for counter in counters], "int64") - origin

        columns = {
            "counter_id": ("BIGINT", "id of the counter", RawColumn(np.dtype(np.int64), ids)),
            "ts": ("BIGINT", "time, ns since the start of the capture", RawColumn(np.dtype(np.int64), times)),
            "value": ("DOUBLE", "value; NULL in a gap", RawColumn(np.dtype(np.float64), values)),
        }
        return self._view("counter_samples", "samples of counters", sum(lengths), columns)

    def links(self) -> TableView:
        """Links between events."""
        links = self._capture.links

        def rows(ends: Array) -> Array:
            outside = ends == NO_ROW
            return np.ma.MaskedArray(ends, outside) if outside.any() else ends

        from_ids = RawColumn(np.dtype(np.int64), lambda: rows(links.from_row))
        to_ids = RawColumn(np.dtype(np.int64), lambda: rows(links.to_row))
        columns = {
            "from_id": ("BIGINT", "id of the event that led to the other", from_ids),
            "to_id": ("BIGINT", "id of the event it led to", to_ids),
            "kind": ("VARCHAR", "launch, wakeup …", RawColumn(np.dtype(np.uint8), lambda: links.kind)),
        }
        table = RawTable(
            self._keys.next(), len(links), {key: column for key, (_, _, column) in columns.items()}
        )
        names = list(enumerate(links.kinds))
        shown = [
            ViewColumn(
                key, kind, text, enumeration(table.sql(key), names) if key == "kind" else table.sql(key)
            )
            for key, (kind, text, _) in columns.items()
        ]
        return TableView("links", "what led to what: launches, wake-ups …", table, tuple(shown))

    def stacks(self) -> TableView:
        """The trie of stacks."""
        capture = self._capture
        frame, parent = capture.stacks

        def parents() -> Array:
            # A parent is a smaller number: a damaged chain ends.
            missing = (parent == NO_STACK) | (parent >= np.arange(len(parent)))
            return np.ma.MaskedArray(parent.astype(np.int64), missing)

        ids = RawColumn(np.dtype(np.int64), lambda: np.arange(len(frame)))
        frames = RawColumn(TEXT, lambda: texts(capture.strings.get(frame.tolist())))
        columns = {
            "id": ("BIGINT", "id, the stack_id of events", ids),
            "frame": ("VARCHAR", "innermost frame", frames),
            "parent_id": (
                "BIGINT",
                "stack of the caller; NULL at the outermost",
                RawColumn(np.dtype(np.int64), parents),
            ),
        }
        return self._view(
            "stacks", "call stacks: each adds a frame to that of its caller", len(frame), columns
        )


def _pid(capture: Capture, process: int | None) -> int | None:
    return None if process is None else capture.processes[process].pid


def _tid(capture: Capture, thread: int | None) -> int | None:
    return None if thread is None else capture.threads[thread].tid


def _since(time_ns: int | None, origin: int) -> int | None:
    return None if time_ns is None else time_ns - origin


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
