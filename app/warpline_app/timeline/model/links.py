"""Links to draw, and events related to an event. Rows of events, no pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.model.intervals import launch_delay_ns
from warpline.model.links import LAUNCH

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

EVENT_LIMIT = 50
"""Maximum number of arrows of one event."""
VIEW_LIMIT = 200
"""Maximum number of arrows in view."""
SCAN_LIMIT = 60_000
"""Maximum number of events in view whose links are looked up."""
NESTED_LIMIT = 20_000
_REQUESTS = ("request", "request_phase")


@dataclass(frozen=True)
class Link:
    """A link between two events (rows; −1 is outside the capture)."""

    from_row: int
    to_row: int
    kind: str


@dataclass(frozen=True)
class LinkSet:
    """Links to draw, and their total number."""

    links: tuple[Link, ...]
    total: int

    @property
    def is_cut(self) -> bool:
        """Whether some links are left out."""
        return self.total > len(self.links)


NO_LINKS = LinkSet((), 0)


def links_of_event(capture: Capture, row: int, limit: int = EVENT_LIMIT) -> LinkSet:
    """Links of an event in both directions, at most ``limit``."""
    to_rows, to_kinds = capture.links_from(row)
    from_rows, from_kinds = capture.links_to(row)
    name = capture.links.kind_name
    links = [
        Link(int(other), row, name(int(kind)))
        for other, kind in zip(from_rows[:limit].tolist(), from_kinds[:limit].tolist(), strict=True)
    ]
    room = limit - len(links)
    links += [
        Link(row, int(other), name(int(kind)))
        for other, kind in zip(to_rows[:room].tolist(), to_kinds[:room].tolist(), strict=True)
    ]
    return LinkSet(tuple(links), len(to_rows) + len(from_rows))


def links_in_view(
    capture: Capture, lanes: Int64Array, start_ns: int, stop_ns: int, limit: int = VIEW_LIMIT
) -> LinkSet | None:
    """Links from the events of some lanes in a range, thinned out evenly to ``limit``.

    None when there are too many events: zoom in first.
    """
    if capture.count_in(lanes, start_ns, stop_ns, SCAN_LIMIT) > SCAN_LIMIT:
        return None
    rows = np.sort(capture.rows_in(lanes, start_ns, stop_ns))
    index = capture.links.leaving_many(rows)
    to_row = capture.links.to_row[index]
    known = index[(to_row >= 0) & (to_row < len(capture.events))]
    total = len(known)
    if total > limit:
        known = known[np.linspace(0, total - 1, limit).astype(np.int64)]
    name = capture.links.kind_name
    links = tuple(
        Link(int(a), int(b), name(int(k)))
        for a, b, k in zip(
            capture.links.from_row[known].tolist(),
            capture.links.to_row[known].tolist(),
            capture.links.kind[known].tolist(),
            strict=True,
        )
    )
    return LinkSet(links, total)


def launched_rows(capture: Capture, rows: Int64Array) -> Int64Array:
    """Rows that the given events lead to, inside the capture, ascending."""
    index = capture.links.leaving_many(np.sort(rows))
    to_row = np.asarray(capture.links.to_row[index])
    return np.unique(to_row[(to_row >= 0) & (to_row < len(capture.events))])


def related_rows(capture: Capture, row: int) -> tuple[Int64Array, Int64Array]:
    """The events nested in an event, and those launched in it: on its track and by API calls of its thread.

    A request to a model server runs in the engine steps of its time, and their work is its own; where no steps were
    recorded, all work launched after it left the queue. A step leads to the requests in it, too.
    Each is limited to `NESTED_LIMIT` rows.
    """
    # Imported on demand: the first frame selects nothing.
    from warpline.analysis.serving.batches import requests_of_step, steps_of_request

    nested = capture.nested_rows(row)[:NESTED_LIMIT]
    start, stop = capture.event_span(row)
    if capture.kind_of_code.get(int(capture.events.kind[row])) in _REQUESTS:
        steps = steps_of_request(capture, row)
        if steps is None:
            return nested, launched_between(capture, _computed_from(capture, nested, start), stop)
        found, count = [steps], len(steps)
        for step in steps.tolist():
            if count >= NESTED_LIMIT:  # of thousands of steps, some dozens have that much work
                break
            found.append(_launched_in(capture, step, np.empty(0, np.int64)))
            count += len(found[-1])
        return nested, np.unique(np.concatenate(found))[:NESTED_LIMIT]
    launched = _launched_in(capture, row, nested)
    requests = requests_of_step(capture, row)
    return nested, np.unique(np.concatenate([launched, requests])) if len(requests) else launched


def _launched_in(capture: Capture, row: int, nested: Int64Array) -> Int64Array:
    """GPU work launched by an event, by those nested in it, and by API calls of its thread during it."""
    start, stop = capture.event_span(row)
    track = capture.tracks[capture.track_of_row(row)]
    callers = [nested, np.array([row], np.int64)]
    if track.thread is not None and stop > start:
        for other in capture.tracks:
            if other.thread == track.thread and other.role == "api":
                lanes = np.array(capture.track_lanes(other.index), np.int64)
                if len(lanes) and capture.count_in(lanes, start, stop, NESTED_LIMIT) <= NESTED_LIMIT:
                    calls = capture.rows_in(lanes, start, stop)
                    begin = capture.event_times(calls)[0]
                    callers.append(calls[(begin >= start) & (begin < stop)])
    return launched_rows(capture, np.unique(np.concatenate(callers)))[:NESTED_LIMIT]


def _computed_from(capture: Capture, phases: Int64Array, start_ns: int) -> int:
    """When a request left the queue: the end of that phase, ``start_ns`` without one."""
    names = capture.strings.get(capture.events.name[phases].tolist())
    queued = [row for row, name in zip(phases.tolist(), names, strict=True) if name == "queue"]
    return max((capture.event_span(row)[1] for row in queued), default=start_ns)


def launched_between(capture: Capture, start_ns: int, stop_ns: int) -> Int64Array:
    """Work launched by API calls that began in a range, up to `NESTED_LIMIT` rows; empty when there are more calls."""
    lanes = np.array(
        [
            lane
            for track in capture.tracks
            if track.role == "api"
            for lane in capture.track_lanes(track.index)
        ],
        np.int64,
    )
    if not len(lanes) or capture.count_in(lanes, start_ns, stop_ns, NESTED_LIMIT) > NESTED_LIMIT:
        return np.empty(0, np.int64)
    calls = capture.rows_in(lanes, start_ns, stop_ns)
    begin = capture.event_times(calls)[0]
    return launched_rows(capture, calls[(begin >= start_ns) & (begin < stop_ns)])[:NESTED_LIMIT]


def launching_call(capture: Capture, row: int) -> int | None:
    """Row of the call that launched an event, or None."""
    from_rows, kinds = capture.links_to(row)
    for other, kind in zip(from_rows.tolist(), kinds.tolist(), strict=True):
        if other >= 0 and capture.links.kind_name(kind) == LAUNCH:
            return int(other)
    return None


def delay_of_launch(capture: Capture, call: int, work: int) -> int | None:
    """`launch_delay_ns` of two rows; None if the work began before the call returned."""
    call_stop, work_start = capture.event_span(call)[1], capture.event_span(work)[0]
    return launch_delay_ns(call_stop, work_start) if work_start >= call_stop else None
