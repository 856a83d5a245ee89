"""What a window and its panels ask of a capture, whatever stands in it."""

from __future__ import annotations

import numpy as np

from warpline.storage import Capture

MOST_LANES, MOST_TRACKS, MOST_STACKS = 200, 300, 50


def lanes(capture: Capture, start: int, stop: int) -> None:
    """What a timeline asks: strips, counts, what is under the pointer, counters, utilisation."""
    some = np.arange(min(len(capture.lanes), MOST_LANES))
    strip = capture.query(some, start, stop, 300)
    capture.event_times(strip.rect_row)
    capture.event_times(strip.mark_row[strip.mark_row >= 0])
    capture.count_in(some, start, stop)
    capture.union_busy_ns(some, start, stop)
    for lane in some[:20].tolist():
        capture.busy_ns(lane, start, stop)
        capture.event_at(lane, (start + stop) // 2, 1000)
    for counter in capture.counters:
        counter.query(start, stop, 50)
        counter.value_at(start)
    for track in capture.tracks[:MOST_TRACKS]:
        capture.utilization(track.index, start, stop, 50)
        capture.children(track.index)
        capture.rows_of_track(track.index)


def row(capture: Capture, row: int) -> None:
    """What the details of an event ask."""
    capture.event_span(row)
    capture.parent_of_row(row)
    capture.nested_rows(row)
    capture.next_event(row)
    capture.previous_event(row)
    capture.strings[int(capture.events.name[row])]
    for ends, kinds in (capture.links_from(row), capture.links_to(row)):
        list(map(capture.links.kind_name, kinds.tolist()))
        capture.event_times(ends[ends >= 0])
    for table in capture.kinds.values():
        table.at(row)


def columns(capture: Capture) -> None:
    """Every column, stack and name."""
    capture.events.start[capture.links.from_row[capture.links.from_row >= 0]]
    capture.events.start[capture.links.to_row[capture.links.to_row >= 0]]
    for table in capture.kinds.values():
        capture.events.start[table.rows]
        for attribute in table.attributes:
            table.column(attribute)
    for stack in range(-1, min(MOST_STACKS, len(capture.stacks[0]) + 1)):
        capture.stack_frames(stack)
    capture.strings.all()
    capture.strings.find("e")


def names(capture: Capture) -> None:
    """The index of names."""
    low, high = capture.span
    index = capture.name_index()
    index.rows(index.totals().name[:9], None, low, high)
    index.totals(None, low + 1, high)


def ranges(capture: Capture) -> list[tuple[int, int]]:
    """All of it, a little of it, and what lies behind it."""
    low, high = capture.span
    return [(low, high + 1), (low + (high - low) // 3, low + (high - low) // 3 + 1000), (high, high + 5)]
