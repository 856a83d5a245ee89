"""Events of a capture as a table of columns, as `events` returns them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selected.spans import rows_of
from warpline.interchange.export.event_columns import COMMON, CodedColumn, EventColumns, scattered
from warpline.library.column_frame import ColumnFrame
from warpline.model import BUILTIN_KINDS_BY_NAME, KindSpec
from warpline.storage.columns.attribute_types import column_type

if TYPE_CHECKING:
    from warpline.analysis.framework.selection import View
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class EventFrame(ColumnFrame):
    """Events in the order of their rows: by track, lane and start. Times are ns since the start of the capture.

    Every event has ``row`` (its identity in this capture, which links refer to), ``kind``, ``track``, ``process_id``,
    ``thread_id``, ``device``, ``stream``, ``name``, ``start_ns``, ``duration_ns`` and ``flags`` (`warpline.Flag`). When
    kinds were asked for, their attributes follow; one that is called like a column above has its kind before it
    (``sync_stream``).
    """

    def __init__(
        self,
        capture: Capture,
        kinds: Sequence[str] | None,
        rows: Int64Array,
        check: Callable[[], object] | None = None,
    ) -> None:
        self._capture = capture
        self._kinds = tuple(kinds or ())
        self._reader = EventColumns(capture)
        self._attributes: dict[str, list[tuple[str, str]]] = {}
        for kind in self._kinds:
            for spec in kind_spec(capture, kind).attributes:
                name = f"{kind}_{spec.name}" if spec.name in COMMON else spec.name
                self._attributes.setdefault(name, []).append((kind, spec.name))
        self._rows = rows
        self._indexes: dict[str, Int64Array] = {}
        super().__init__([*COMMON, *self._attributes], len(rows), check)

    @property
    def row(self) -> Int64Array:
        """Rows of the events, int64 ascending."""
        return self._rows

    @property
    def start_ns(self) -> Int64Array:
        """Start times, int64 ns since the start of the capture."""
        return self.column("start_ns").codes

    @property
    def duration_ns(self) -> Int64Array:
        """Durations, int64 ns as recorded."""
        return self.column("duration_ns").codes

    @property
    def stop_ns(self) -> Int64Array:
        """Stop times, int64 ns since the start of the capture."""
        return self.start_ns + self.duration_ns

    @cached_property
    def _track(self) -> Int64Array:
        return self._capture.tracks_of_rows(self._rows)

    def _make(self, name: str) -> CodedColumn:
        rows, events = self._rows, self._capture.events
        if name in self._attributes:
            return self._attribute(name)
        if name == "row":
            return CodedColumn(rows)
        if name == "kind":
            return self._reader.kinds(rows)
        if name == "track":
            return self._reader.tracks(self._track)
        if name == "name":
            return self._reader.names(rows)
        if name == "start_ns":
            return self._reader.starts(rows)
        if name == "duration_ns":
            return CodedColumn(events.duration[rows])
        if name == "flags":
            return CodedColumn(events.flags[rows])
        return self._reader.numbers(name, self._track)

    def _attribute(self, name: str) -> CodedColumn:
        parts: list[tuple[Int64Array, CodedColumn]] = []
        for kind, attribute in self._attributes[name]:
            spec = next(s for s in kind_spec(self._capture, kind).attributes if s.name == attribute)
            table = self._capture.kinds.get(kind)
            if table is None or attribute not in table.attributes:
                nothing = np.zeros(0, column_type(spec.dtype))
                column = self._reader.attribute(spec, nothing, np.zeros(0, bool))
                parts.append((np.zeros(0, np.int64), column))
                continue
            values, valid = table.column(attribute)
            index = self._index(kind)
            if len(self._kinds) == 1:
                return self._reader.attribute(spec, values[index], valid[index])
            places = np.flatnonzero(index >= 0)
            index = index[places]
            parts.append((places, self._reader.attribute(spec, values[index], valid[index])))
        return scattered(len(self), parts)

    def _index(self, kind: str) -> Int64Array:
        """Indexes of the events in the table of a kind; −1 for events of another kind."""
        index = self._indexes.get(kind)
        if index is None:
            index = self._indexes[kind] = self._capture.kinds[kind].indices_of(self._rows)
        return index


def kind_spec(capture: Capture, kind: str) -> KindSpec:
    """Description of a kind: the capture's, or Warpline's when the capture has no such events."""
    table = capture.kinds.get(kind)
    return BUILTIN_KINDS_BY_NAME[kind] if table is None else table.spec


def find_rows(view: View, kinds: Sequence[str] | None, names: BoolArray | None) -> Int64Array:
    """Rows of the events in a selection, ascending. ``names`` says for each string whether its events count."""
    spans = view.spans()
    first, stop = spans.first, spans.stop
    if kinds is None:
        rows = rows_of(first, stop)
    else:
        parts = [_rows_of_kind(view.capture, kind, first, stop) for kind in kinds]
        rows = parts[0] if len(parts) == 1 else np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
    if names is not None:
        rows = rows[np.append(names, False)[np.minimum(view.capture.events.name[rows], len(names))]]
    return rows


def _rows_of_kind(capture: Capture, kind: str, first: Int64Array, stop: Int64Array) -> Int64Array:
    table = capture.kinds.get(kind)
    if table is None:
        return np.empty(0, np.int64)
    low, high = table.places_of(first), table.places_of(stop)
    return table.rows_at(slice(int(low[0]), int(high[0])) if len(low) == 1 else rows_of(low, high))
