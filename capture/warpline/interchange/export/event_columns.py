"""Turns events into columns for other tools: texts instead of ids, missing values instead of zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.model import AttributeSpec, Track
    from warpline.storage import Capture

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

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
"""Columns of every kind of event, with their types; times count from the start of the capture."""


@dataclass(frozen=True)
class CodedColumn:
    """A column. Text is ``texts[codes]``; ``valid`` None means that no value is missing."""

    codes: Array
    valid: BoolArray | None = None
    texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self.codes)


def column_type(spec: AttributeSpec) -> str:
    """Type of an attribute in a table; enumerations and stacks become texts."""
    return "string" if spec.enum or spec.dtype in {"string", "stack"} else spec.dtype


def numbers_of_track(capture: Capture, track: Track) -> dict[str, int | None]:
    """Values shared by all events of a track, by their names in `COMMON`."""
    process = None if track.process is None else capture.processes[track.process].pid
    thread = None if track.thread is None else capture.threads[track.thread].tid
    return {"process_id": process, "thread_id": thread, "device": track.device, "stream": track.stream}


def text_column(
    values: Array, texts: Callable[[list[int]], list[str]], valid: BoolArray | None
) -> CodedColumn:
    """A column of ids as texts; ``texts`` returns the texts of distinct ids, in order."""
    if valid is not None and not valid.all():
        # The value under a missing entry is meaningless and must not add a text.
        some = values[int(valid.argmax())] if valid.any() else 0
        values = np.where(valid, values, some)
    distinct, codes = _distinct(values)
    names = texts(distinct) if valid is None or valid.any() else []
    known: dict[str, int] = {}
    place = [known.setdefault(text, len(known)) for text in names]
    if len(known) < len(names):
        codes = np.array(place, np.int32)[codes]
    return CodedColumn(codes, valid, list(known))


_DENSE_SLACK = 65_536


def _distinct(values: Array) -> tuple[list[int], npt.NDArray[np.int32]]:
    """Distinct integers, ascending, and the index of each value among them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if low < 0 or high >= 8 * len(values) + _DENSE_SLACK:
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct.tolist(), codes.reshape(-1).astype(np.int32)
    # Marking used values costs a tenth of sorting.
    used = np.zeros(high + 1, bool)
    used[values] = True
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used).tolist(), place[values]


class EventColumns:
    """Columns for any events of a capture, given by rows (int64, ascending)."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._stacks: dict[int, str] = {}

    def names(self, rows: Int64Array) -> CodedColumn:
        """Names of events."""
        return text_column(self.capture.events.name[rows], self.capture.strings.get, None)

    def kinds(self, rows: Int64Array) -> CodedColumn:
        """Kinds of events."""
        names = self.capture.kind_of_code
        return text_column(
            self.capture.events.kind[rows], lambda codes: [names.get(code, "") for code in codes], None
        )

    def starts(self, rows: Int64Array) -> CodedColumn:
        """Starts of events, ns since the start of the capture."""
        offsets = self.capture.lane_offset_ns
        origin = self.capture.span[0]
        recorded = self.capture.events.start[rows]
        # Almost every capture has only one clock.
        if not len(offsets) or (offsets == offsets[0]).all():
            return CodedColumn(recorded - (int(offsets[0]) + origin if len(offsets) else origin))
        return CodedColumn(recorded - offsets[self.capture.lanes_of_rows(rows)] - origin)

    def tracks(self, tracks: Int64Array) -> CodedColumn:
        """URIs of tracks."""
        all_tracks = self.capture.tracks
        return text_column(tracks, lambda indexes: [all_tracks[index].uri for index in indexes], None)

    def numbers(self, name: str, tracks: Int64Array) -> CodedColumn:
        """One of `numbers_of_track` for each track index."""
        numbers = [numbers_of_track(self.capture, track)[name] for track in self.capture.tracks]
        values = np.array([0 if number is None else number for number in numbers] + [0], np.int64)
        valid = np.array([number is not None for number in numbers] + [False])
        return CodedColumn(values[tracks], valid[tracks])

    def attribute(self, spec: AttributeSpec, values: Array, valid: BoolArray) -> CodedColumn:
        """Values of an attribute as a column: ids, enumerations and stacks become texts."""
        if spec.dtype == "string":
            return text_column(values, self.capture.strings.get, valid)
        if spec.dtype == "stack":
            return text_column(values, lambda stacks: [self._stack(stack) for stack in stacks], valid)
        if spec.enum:
            return text_column(
                values, lambda codes: [spec.enum.get(code, str(code)) for code in codes], valid
            )
        return CodedColumn(values.astype(bool) if spec.dtype == "bool" else values, valid)

    def _stack(self, stack: int) -> str:
        """Frames from the outermost to the innermost, as flame graph tools write them."""
        text = self._stacks.get(stack)
        if text is None:
            text = self._stacks[stack] = ";".join(reversed(self.capture.stack_frames(stack)))
        return text


def scattered(count: int, parts: Sequence[tuple[Array, CodedColumn]]) -> CodedColumn:
    """Combines parts (indexes, values at these indexes) into a column of ``count`` values, missing elsewhere."""
    valid = np.zeros(count, bool)
    for places, part in parts:
        valid[places] = True if part.valid is None else part.valid
    if any(part.texts is not None for _, part in parts):
        texts: list[str] = []
        codes = np.zeros(count, np.int64)
        for places, part in parts:
            named = _as_text(part)
            codes[places] = named.codes.astype(np.int64) + len(texts)
            texts += named.texts or []
        return text_column(codes, lambda wanted: [texts[code] for code in wanted], valid)
    values = np.zeros(count, np.result_type(*(part.codes.dtype for _, part in parts)))
    for places, part in parts:
        values[places] = part.codes
    return CodedColumn(values, valid)


def _as_text(column: CodedColumn) -> CodedColumn:
    if column.texts is not None:
        return column
    distinct, codes = np.unique(column.codes, return_inverse=True)
    return replace(column, codes=codes.reshape(-1), texts=[str(value) for value in distinct.tolist()])
