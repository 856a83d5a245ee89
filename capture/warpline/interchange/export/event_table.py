"""Events of a capture as rows of a table: what CSV and Parquet have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.interchange.export.selection import ExportSelection, Int64Array, chunks

if TYPE_CHECKING:
    from warpline.model import AttributeSpec, Track
    from warpline.storage import Capture

COMMON: dict[str, str] = {
    "row": "int64",
    "kind": "string",
    "track": "string",
    "process_id": "int64",
    "thread_id": "int64",
    "device": "int64",
    "stream": "int64",
    "name": "string",
    "start_ns": "int64",
    "duration_ns": "int64",
    "flags": "uint8",
}
"""Columns that events of every kind have, with their types; times count from the start of the capture."""

_BATCH = 1 << 15


@dataclass(frozen=True)
class Column:
    """Values of one column. Text is ``texts[codes]``; ``valid`` None means every value is there."""

    codes: npt.NDArray[Any]
    valid: npt.NDArray[np.bool_] | None = None
    texts: list[str] | None = None


def column_type(spec: AttributeSpec) -> str:
    """How an attribute appears in a table: enumerations and stacks are spelt out."""
    return "string" if spec.dtype == "string" or spec.enum or spec.name == "stack" else spec.dtype


def kinds_in(capture: Capture, selection: ExportSelection) -> list[str]:
    """Names of the kinds that the selection has events of, in the capture's order."""
    found: set[int] = set()
    for _track, rows in chunks(capture, selection):
        found.update(np.unique(capture.events.kind[rows]).tolist())
        if len(found) == len(capture.kinds):
            break
    return [name for name, table in capture.kinds.items() if table.code in found]


def attribute_types(capture: Capture, kinds: list[str]) -> dict[str, str]:
    """Type of each attribute of these kinds; where kinds disagree, one that holds all their values."""
    found: dict[str, str] = {}
    for kind in kinds:
        for spec in capture.kinds[kind].spec.attributes:
            own = column_type(spec)
            known = found.get(spec.name, own)
            if known != own:
                own = "string" if "string" in (known, own) else str(np.promote_types(known, own))
            found[spec.name] = own
    return {name: kind for name, kind in found.items() if name not in COMMON}


@dataclass
class TableReader:
    """Batches of events of one kind on one track as columns."""

    capture: Capture
    selection: ExportSelection
    only_kind: str | None = None
    _stacks: dict[int, str] = field(default_factory=dict)

    def batches(self) -> Iterator[tuple[str, int, dict[str, Column]]]:
        """(kind, number of events, columns) in the order of rows."""
        for track, rows in chunks(self.capture, self.selection):
            for first in range(rows.start, rows.stop, _BATCH):
                part = slice(first, min(first + _BATCH, rows.stop))
                kinds = self.capture.events.kind[part]
                for code in np.unique(kinds).tolist():
                    kind = self.capture.kind_of_code[code]
                    if self.only_kind in (None, kind):
                        chosen = np.flatnonzero(kinds == code) + part.start
                        yield kind, len(chosen), self._columns(self.capture.tracks[track], kind, chosen)

    def _columns(self, track: Track, kind: str, rows: Int64Array) -> dict[str, Column]:
        capture = self.capture
        starts, stops = capture.event_times(rows)
        process = capture.processes[track.process].pid if track.process is not None else None
        thread = capture.threads[track.thread].tid if track.thread is not None else None
        count = len(rows)
        columns = {
            "row": Column(rows),
            "kind": _constant(kind, count),
            "track": _constant(track.uri, count),
            "process_id": _number(process, count),
            "thread_id": _number(thread, count),
            "device": _number(track.device, count),
            "stream": _number(track.stream, count),
            "name": self._strings(capture.events.name[rows], None),
            "start_ns": Column(starts - capture.span[0]),
            "duration_ns": Column(stops - starts),
            "flags": Column(capture.events.flags[rows]),
        }
        table = capture.kinds[kind]
        position = table.indices_of(rows)
        for spec in table.spec.attributes:
            if spec.name in COMMON:
                continue
            values, validity = table.column(spec.name)
            valid = validity[position]
            if valid.any():
                columns[spec.name] = self._attribute(spec, values[position], valid)
        return columns

    def _attribute(
        self, spec: AttributeSpec, values: npt.NDArray[Any], valid: npt.NDArray[np.bool_]
    ) -> Column:
        if spec.dtype == "string":
            return self._strings(values, valid)
        if spec.name == "stack":
            unique, codes = np.unique(values, return_inverse=True)
            texts = [self._stack(stack) for stack in unique.tolist()]
            return Column(codes.reshape(-1), valid, texts)
        if spec.enum:
            unique, codes = np.unique(values, return_inverse=True)
            return Column(codes.reshape(-1), valid, [spec.enum.get(n, str(n)) for n in unique.tolist()])
        return Column(values, valid)

    def _strings(self, ids: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None) -> Column:
        unique, codes = np.unique(ids, return_inverse=True)
        return Column(codes.reshape(-1), valid, self.capture.strings.get(unique.tolist()))

    def _stack(self, stack: int) -> str:
        """Frames from the outermost to the innermost, as flame graph tools write them."""
        text = self._stacks.get(stack)
        if text is None:
            text = self._stacks[stack] = ";".join(reversed(self.capture.stack_frames(stack)))
        return text


def _constant(text: str, count: int) -> Column:
    return Column(np.zeros(count, np.int64), None, [text])


def _number(value: int | None, count: int) -> Column:
    if value is None:
        return Column(np.zeros(count, np.int64), np.zeros(count, bool))
    return Column(np.full(count, value, np.int64))
