"""The views of events: all of them, and one for each kind."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from warpline.model import BUILTIN_KINDS_BY_NAME, AttributeSpec, KindSpec
from warpline.query.definitions import TableView, TextJoin, ViewColumn, enumeration
from warpline.query.nesting import parents_of_events, self_times
from warpline.query.raw_tables import TEXT, Array, Keys, RawColumn, RawTable, texts
from warpline.storage.columns.attribute_types import column_type

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.kind_table import KindTable

COMMON = ("id", "ts", "dur", "name", "name_id", "track_id", "depth", "flags", "parent_id", "self_dur")
_ABOUT = {
    "id": "row of the event, as in links and in Python",
    "ts": "start, ns since the start of the capture",
    "dur": "duration in ns",
    "name": "name",
    "name_id": "id of the name",
    "kind": "kind of the event",
    "track_id": "id of its track in tracks",
    "depth": "lane on the track: nesting depth, or place among events that overlap",
    "parent_id": "id of the shortest event on the track that contains it",
    "self_dur": "duration without the events that lie directly in it, ns",
    "flags": "bits: 1 cut at the start, 2 cut at the end, 4 truncated, 8 estimated, 16 instant, 32 idle, 64 waiting",
}
_SQL_TYPES = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "float32": "FLOAT", "float64": "DOUBLE",
}  # fmt: skip


class EventViews:
    """Makes the views of a capture's events. Ids of strings and kinds are clamped: files are not trusted."""

    def __init__(self, capture: Capture, keys: Keys) -> None:
        self._capture = capture
        self._keys = keys

    # Texts

    @cached_property
    def _texts(self) -> Array:
        return texts([*self._capture.strings.all(), ""])

    @cached_property
    def _text_ids(self) -> Array:
        return np.arange(len(self._capture.strings) + 1, dtype=np.uint32)

    def _text_table(self) -> RawTable:
        columns = {
            "id": RawColumn(np.dtype(np.uint32), lambda: self._text_ids),
            "text": RawColumn(TEXT, lambda: self._texts),
        }
        return RawTable(self._keys.next(), len(self._capture.strings) + 1, columns)

    def strings(self) -> TableView:
        """The view of all texts."""
        table = self._text_table()
        id_ = ViewColumn("id", "UINTEGER", "id, as name_id of events", table.sql("id"))
        return TableView(
            "strings", "texts by id", table, (id_, ViewColumn("text", "VARCHAR", "text", table.sql("text")))
        )

    def _string_ids(self, ids: Array) -> Array:
        """Ids clamped to the table; the last one is the empty text."""
        most = len(self._capture.strings)
        return ids if not len(ids) or int(ids.max()) < most else np.minimum(ids, np.uint32(most))

    # Events

    def events(self) -> TableView:
        """The view of all events."""
        capture = self._capture
        events = capture.events
        columns = {
            "id": RawColumn(np.dtype(np.int64), lambda: np.arange(len(events))),
            "ts": RawColumn(np.dtype(np.int64), self._starts),
            "dur": RawColumn(np.dtype(np.int64), lambda: events.duration),
            "name_id": RawColumn(np.dtype(np.uint32), lambda: self._string_ids(events.name)),
            "kind": RawColumn(np.dtype(np.uint8), lambda: events.kind),
            "track_id": RawColumn(np.dtype(np.int32), lambda: self._of_lanes(capture.lanes.track)),
            "depth": RawColumn(np.dtype(np.int32), lambda: self._of_lanes(capture.lanes.depth)),
            "flags": RawColumn(np.dtype(np.uint8), lambda: events.flags),
            "parent_id": RawColumn(np.dtype(np.int64), lambda: _or_null(self._parents)),
            "self_dur": RawColumn(np.dtype(np.int64), lambda: self._self_times),
        }
        table = RawTable(self._keys.next(), len(events), columns)
        return TableView("events", "every event", table, self._common(table, with_kind=True))

    def _starts(self) -> Array:
        """Starts of all events; as the file has them when they need no correction."""
        offset = self._capture.lane_offset_ns + self._capture.span[0]
        starts = self._capture.events.start
        if not len(offset):
            return starts
        if (offset == offset[0]).all():
            return starts if not offset[0] else starts - offset[0]
        return starts - self._of_lanes(offset)

    def _of_lanes(self, values: Array) -> Array:
        """A value of each lane for each of its events."""
        capture = self._capture
        narrow = values.astype(np.int32) if values.dtype == np.uint32 else values
        counts = np.diff(np.append(capture.lanes.first, len(capture.events)))
        counts[:1] += capture.lanes.first[:1]
        return np.repeat(narrow, np.maximum(counts, 0))[: len(capture.events)]

    def _common(self, table: RawTable, *, with_kind: bool) -> tuple[ViewColumn, ...]:
        found = []
        for name in COMMON:
            if name == "name":
                join = TextJoin(self._text_table(), table.sql("name_id"), is_complete=True)
                found.append(ViewColumn(name, "VARCHAR", _ABOUT[name], text=join))
                continue
            kind = _SQL_TYPES[table.columns[name].dtype.name]
            found.append(ViewColumn(name, kind, _ABOUT[name], table.sql(name)))
            if name == "name_id" and with_kind:
                names = sorted(self._capture.kind_of_code.items())
                sql = enumeration(table.sql("kind"), names)
                found.append(ViewColumn("kind", "VARCHAR", _ABOUT["kind"], sql))
        return tuple(found)

    @cached_property
    def _parents(self) -> Array:
        return parents_of_events(self._capture)

    @cached_property
    def _self_times(self) -> Array:
        return self_times(self._capture)

    # Kinds

    def kind(self, name: str) -> TableView:
        """The view of one kind of events."""
        capture = self._capture
        table = capture.kinds[name]
        events, rows = capture.events, table.index_rows
        columns = {
            "id": RawColumn(np.dtype(np.int64), lambda: rows.astype(np.int64, copy=False)),
            "ts": RawColumn(np.dtype(np.int64), lambda: self._starts_of(table)),
            "dur": RawColumn(np.dtype(np.int64), lambda: events.duration[rows]),
            "name_id": RawColumn(np.dtype(np.uint32), lambda: self._string_ids(events.name[rows])),
            "track_id": RawColumn(np.dtype(np.int32), lambda: self._lanes_of(table, capture.lanes.track)),
            "depth": RawColumn(np.dtype(np.int32), lambda: self._lanes_of(table, capture.lanes.depth)),
            "flags": RawColumn(np.dtype(np.uint8), lambda: events.flags[rows]),
            "parent_id": RawColumn(np.dtype(np.int64), lambda: _or_null(self._parents[rows])),
            "self_dur": RawColumn(np.dtype(np.int64), lambda: self._self_times[rows]),
        }
        attributes = [(column_of(name, spec), spec) for spec in table.spec.attributes]
        for column, spec in attributes:
            columns[column] = self._attribute(table, spec)
        raw = RawTable(self._keys.next(), len(table), columns)
        shown = [self._shown(raw, column, spec) for column, spec in attributes]
        title = table.spec.title or name
        return TableView(
            view_name(name), f"events of the kind {title}", raw, (*self._common(raw, with_kind=False), *shown)
        )

    def _starts_of(self, table: KindTable) -> Array:
        capture, rows = self._capture, table.index_rows
        offset = capture.lane_offset_ns
        starts: Array = capture.events.start[rows]
        if len(offset) and (offset == offset[0]).all():
            starts -= offset[0] + capture.span[0]
        else:
            starts -= offset[capture.lanes_of_rows(rows)] + capture.span[0]
        return starts

    def _lanes_of(self, table: KindTable, values: Array) -> Array:
        found: Array = values[self._capture.lanes_of_rows(table.index_rows)].astype(np.int32)
        return found

    def _attribute(self, table: KindTable, spec: AttributeSpec) -> RawColumn:
        stored = np.dtype(bool) if spec.dtype == "bool" else np.dtype(column_type(spec.dtype))

        def make() -> Array:
            values, valid = table.column(spec.name)
            if spec.dtype == "string":
                values = self._string_ids(values)
            elif spec.dtype == "bool":
                values = values.astype(bool)
            return values if valid.strides == (0,) or valid.all() else np.ma.MaskedArray(values, ~valid)

        return RawColumn(stored, make)

    def _shown(self, table: RawTable, column: str, spec: AttributeSpec) -> ViewColumn:
        about = f"{spec.title}, {spec.unit}" if spec.unit else spec.title
        sql = table.sql(column)
        if spec.dtype == "string":
            join = TextJoin(self._text_table(), sql, is_complete=False)
            return ViewColumn(column, "VARCHAR", about, text=join)
        if spec.enum:
            return ViewColumn(column, "VARCHAR", about, enumeration(sql, sorted(spec.enum.items())))
        return ViewColumn(column, _SQL_TYPES["uint32" if spec.dtype == "stack" else spec.dtype], about, sql)


def _or_null(rows: Array) -> Array:
    return np.ma.MaskedArray(rows, rows < 0)


def column_of(kind: str, spec: AttributeSpec) -> str:
    """What an attribute is called: stacks are ids; one called like a common column has its kind before it."""
    name = f"{spec.name}_id" if spec.dtype == "stack" else spec.name
    return f"{kind}_{name}" if name.casefold() in (*COMMON, "kind") else name


RESERVED_NAMES = frozenset(
    ("events", "waits", "links", "tracks", "processes", "threads", "devices", "streams", "counters",
     "counter_samples", "stacks", "sources", "kinds", "meta", "launches", "busy", "steps", "strings")
)  # fmt: skip


def view_name(kind: str) -> str:
    """The view of a kind: its name, unless another table has it."""
    return f"kind_{kind}" if kind.casefold() in RESERVED_NAMES else kind


def known_kind(name: str) -> KindSpec | None:
    """A kind that Warpline writes, by the name of its view."""
    return BUILTIN_KINDS_BY_NAME.get(name.casefold())
