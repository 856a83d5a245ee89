"""Reads events as rows of a table, for CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from warpline.interchange.export.event_columns import (
    COMMON,
    CodedColumn,
    EventColumns,
    column_type,
    numbers_of_track,
)
from warpline.interchange.export.selection import ExportSelection, Int64Array, chunks, rows_by_kind

if TYPE_CHECKING:
    from warpline.model import Track
    from warpline.storage import Capture

_BATCH = 1 << 15


def kinds_in(capture: Capture, selection: ExportSelection) -> list[str]:
    """Names of the kinds with events in the selection, in the capture's order."""
    codes: set[int] = set()
    for _track, rows in chunks(capture, selection):
        codes.update(np.unique(capture.events.kind[rows]).tolist())
        if len(codes) == len(capture.kinds):
            break
    return [name for name, table in capture.kinds.items() if table.code in codes]


def attribute_types(capture: Capture, kinds: list[str]) -> dict[str, str]:
    """Type of each attribute of these kinds; a common type where kinds differ."""
    types: dict[str, str] = {}
    for kind in kinds:
        for spec in capture.kinds[kind].spec.attributes:
            own = column_type(spec)
            known = types.get(spec.name, own)
            if known != own:
                own = "string" if "string" in (known, own) else str(np.promote_types(known, own))
            types[spec.name] = own
    return {name: kind for name, kind in types.items() if name not in COMMON}


@dataclass
class TableReader:
    """Reads events in batches of one kind on one track."""

    capture: Capture
    selection: ExportSelection
    only_kind: str | None = None
    _reader: EventColumns = field(init=False)

    def __post_init__(self) -> None:
        self._reader = EventColumns(self.capture)

    def batches(self) -> Iterator[tuple[str, int, dict[str, CodedColumn]]]:
        """(kind, number of events, columns) in the order of rows."""
        for track, rows in chunks(self.capture, self.selection):
            for first in range(rows.start, rows.stop, _BATCH):
                part = slice(first, min(first + _BATCH, rows.stop))
                for kind, chosen in rows_by_kind(self.capture, part):
                    if self.only_kind in (None, kind):
                        yield kind, len(chosen), self._columns(self.capture.tracks[track], kind, chosen)

    def _columns(self, track: Track, kind: str, rows: Int64Array) -> dict[str, CodedColumn]:
        capture = self.capture
        starts, stops = capture.event_times(rows)
        count = len(rows)
        columns = {
            "row": CodedColumn(rows),
            "kind": _constant(kind, count),
            "track": _constant(track.uri, count),
            **{name: _number(number, count) for name, number in numbers_of_track(capture, track).items()},
            "name": self._reader.names(rows),
            "start_ns": CodedColumn(starts - capture.span[0]),
            "duration_ns": CodedColumn(stops - starts),
            "flags": CodedColumn(capture.events.flags[rows]),
        }
        table = capture.kinds[kind]
        position = table.indices_of(rows)
        for spec in table.spec.attributes:
            if spec.name in COMMON:
                continue
            values, validity = table.column(spec.name)
            valid = validity[position]
            if valid.any():
                columns[spec.name] = self._reader.attribute(spec, values[position], valid)
        return columns


def _constant(text: str, count: int) -> CodedColumn:
    return CodedColumn(np.zeros(count, np.int64), None, [text])


def _number(value: int | None, count: int) -> CodedColumn:
    if value is None:
        return CodedColumn(np.zeros(count, np.int64), np.zeros(count, bool))
    return CodedColumn(np.full(count, value, np.int64))
