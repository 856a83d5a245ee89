"""Checks every value of a capture; opening a capture does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.model.flags import NOT_BUSY
from warpline.storage.columns.counters import counter_pyramid
from warpline.storage.columns.schema import NO_ROW, NO_STACK
from warpline.storage.index.build_levels import levels_at
from warpline.storage.index.level_of_detail import LodLevel, pack_longest, unpack_duration, unpack_flags
from warpline.storage.index.name_pieces import sort_names
from warpline.storage.index.pyramid import Pyramid
from warpline.storage.read.capture import Capture

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]
UInt8Array = npt.NDArray[np.uint8]

_PIECE = 1 << 20


def verify(capture: Capture) -> Iterator[str]:
    """Yields one line for each defect of a capture; none if it is sound.

    Reads the whole file. Raises CaptureFormatError when a column cannot even be opened.
    """
    yield from _strings(capture)
    yield from _events(capture)
    yield from _lanes(capture)
    yield from _kinds(capture)
    yield from _links(capture)
    yield from _counters(capture)
    yield from _stacks(capture)
    yield from _level_of_detail(capture)
    yield from _names(capture)


def _strings(capture: Capture) -> Iterator[str]:
    defect = capture.strings.defect()
    if defect:
        yield f"the string table {defect}"


def _events(capture: Capture) -> Iterator[str]:
    events = capture.events
    codes = np.zeros(256, bool)
    codes[list(capture.kind_of_code)] = True
    checks = {
        "a negative duration": 0,
        "a name that is not in the string table": 0,
        "a kind that the capture does not describe": 0,
    }
    for first in range(0, len(events), _PIECE):
        part = slice(first, first + _PIECE)
        for what, bad in zip(
            checks,
            (events.duration[part] < 0, events.name[part] >= len(capture.strings), ~codes[events.kind[part]]),
            strict=True,
        ):
            checks[what] += int(np.count_nonzero(bad))
    for what, count in checks.items():
        if count:
            yield f"{count} events have {what}"


def _lanes(capture: Capture) -> Iterator[str]:
    start, duration = capture.events.start, capture.events.duration
    for lane, (first, count) in enumerate(
        zip(capture.lanes.first.tolist(), capture.lanes.count.tolist(), strict=True)
    ):
        overlaps = 0
        for begin in range(first, first + count - 1, _PIECE):
            stop = min(begin + _PIECE, first + count - 1)
            overlaps += int(
                np.count_nonzero(start[begin:stop] + duration[begin:stop] > start[begin + 1 : stop + 1])
            )
        if overlaps:
            uri = capture.tracks[int(capture.lanes.track[lane])].uri
            yield f"lane {int(capture.lanes.depth[lane])} of {uri}: {overlaps} events overlap the next one"


def _kinds(capture: Capture) -> Iterator[str]:
    n = len(capture.events)
    for name, table in capture.kinds.items():
        rows = table.stored_rows
        if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= n or np.any(rows[1:] <= rows[:-1])):
            yield f"kind {name}: its rows are not ascending rows of the capture"
            continue
        if any(
            np.any(capture.events.kind[rows[first : first + _PIECE]] != table.code)
            for first in range(0, len(rows), _PIECE)
        ):
            yield f"kind {name}: some of its rows are events of another kind"
        for attribute in table.spec.attributes:
            values, valid = table.column(attribute.name)
            if attribute.dtype == "string" and np.any(values[valid] >= len(capture.strings)):
                yield f"kind {name}: attribute {attribute.name} has texts that are not in the string table"
    described = sum(len(table) for table in capture.kinds.values())
    if described != n:
        yield f"{n} events, of which {described} are listed by their kinds"


def _links(capture: Capture) -> Iterator[str]:
    links, n = capture.links, len(capture.events)
    for name, rows in zip(("from_row", "to_row"), links.stored, strict=True):
        bad = int(np.count_nonzero((rows < NO_ROW) | (rows >= n)))
        if bad:
            yield f"{bad} links have a {name} outside the capture"
    if np.any(links.stored[0][1:] < links.stored[0][:-1]):
        yield "links are not sorted by from_row"
    if not links.is_index_sound():
        yield "the index by to_row does not fit the links"
    if len(links) and int(links.kind.max()) >= len(links.kinds):
        yield "a link is of a kind that the capture does not describe"


def _counters(capture: Capture) -> Iterator[str]:
    for counter in capture.counters:
        label = f"counter {counter.name} of {capture.tracks[counter.track].uri}"
        if np.any(counter.recorded_times[1:] < counter.recorded_times[:-1]):
            yield f"{label}: times go back"
        built = counter_pyramid(counter.values)
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(counter.pyramid, built, strict=True)):
            yield f"{label}: its pyramid does not fit its values"


def _stacks(capture: Capture) -> Iterator[str]:
    frame, parent = capture.stacks
    bad = (parent != NO_STACK) & (parent >= np.arange(len(parent)))
    bad |= frame >= len(capture.strings)
    if np.any(bad):
        yield f"{np.count_nonzero(bad)} stacks have a parent that comes later or a frame without a text"


def _level_of_detail(capture: Capture) -> Iterator[str]:
    pyramid, events = capture.pyramid, capture.events
    if not pyramid.is_stored:
        return
    if not pyramid.is_skip_index_sound():
        yield "the skip index does not fit the starts"
    for lane in range(len(capture.lanes)):
        part = capture.lanes.rows(lane)
        columns = events.start[part], events.duration[part], events.flags[part], events.kind[part]
        indices = pyramid.levels_of(lane)
        levels = [pyramid.level[index] for index in indices]
        same = not levels or (
            len(columns[0]) > 0
            and levels == sorted(set(levels))
            and all(
                _is_level(_stored_level(pyramid, index), level, *columns)
                for index, level in zip(indices, levels_at(*columns, levels), strict=True)
            )
        )
        if not same:
            uri = capture.tracks[int(capture.lanes.track[lane])].uri
            yield f"lane {int(capture.lanes.depth[lane])} of {uri}: the level of detail does not fit its events"


def _stored_level(pyramid: Pyramid, index: int) -> LodLevel:
    entries = slice(pyramid.first[index], pyramid.first[index] + pyramid.count[index])
    return LodLevel(
        pyramid.level[index],
        pyramid.start[entries],
        pyramid.longest[entries],
        pyramid.rest[entries],
        pyramid.row[entries],
    )


def _is_level(
    stored: LodLevel,
    built: LodLevel,
    start: Int64Array,
    duration: Int64Array,
    flags: UInt8Array,
    kind: UInt8Array,
) -> bool:
    """Whether a stored level equals ours. Of events of equal length in a bin it may name any."""
    row = stored.row.astype(np.int64)
    return bool(
        len(row) == len(built.row)
        and np.all(row < len(start))
        and np.array_equal(stored.start, start[row])
        and np.array_equal(stored.longest, pack_longest(duration[row], flags[row], kind[row]))
        and np.array_equal(stored.start >> stored.level, built.start >> stored.level)
        and np.array_equal(unpack_duration(stored.longest), unpack_duration(built.longest))
        and np.array_equal(_busy(stored), _busy(built))
    )


def _busy(level: LodLevel) -> UInt32Array:
    """Busy time of all events in each bin, modulo 2³²."""
    is_busy = (unpack_flags(level.longest) & np.uint8(NOT_BUSY)) == 0
    busy: UInt32Array = level.rest + np.where(is_busy, unpack_duration(level.longest), 0).astype(np.uint32)
    return busy


def _names(capture: Capture) -> Iterator[str]:
    index = capture.stored_name_index
    if index is None:
        return
    first, busy_before = index["first"], np.zeros(1, np.int64)
    for piece, base in enumerate(index["piece_base"].tolist()):
        names = slice(int(index["piece_first"][piece]), int(index["piece_first"][piece + 1]))
        entries = slice(int(first[names.start]), int(first[names.stop]))
        size = entries.stop - entries.start
        row, busy = np.empty(size, np.uint32), np.empty(size, np.int64)
        name, count = sort_names(capture.events, slice(base, base + size), row, busy)
        busy += busy_before
        if not (
            np.array_equal(index["name"][names], name)
            and np.array_equal(np.diff(first[names.start : names.stop + 1]), count)
            and np.array_equal(index["row"][entries], row)
            and np.array_equal(index["busy"][entries.start + 1 : entries.stop + 1], busy)
        ):
            yield "the index of names does not fit the events"
            return
        busy_before = busy[-1:]
