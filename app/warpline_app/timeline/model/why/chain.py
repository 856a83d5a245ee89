"""Events related to a selected event: enclosing events, causes and effects. Rows and times, no pixels.

A chain is module → operator → API call → kernel, from any of them; or a wait and the event that ended it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.model.links import ANNOTATION, DATA, EXIT, LAUNCH, RELEASE, WAKEUP
from warpline_app.timeline.model.links import EVENT_LIMIT, launched_rows
from warpline_app.timeline.model.name_rows import NameGroup

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

CALLS_LIMIT = 100_000
"""Maximum number of calls in the selected event whose launched work is looked up."""
_HOST_ROLES = frozenset(
    ("phases", "ranges", "modules", "operators", "api", "python", "osrt", "memory", "overhead")
)
_CAUSES = frozenset((LAUNCH, WAKEUP, RELEASE, DATA, EXIT, ANNOTATION))
"""Links whose start is explained by the surrounding events."""


@dataclass(frozen=True)
class Stretch:
    """All events that start on some lanes in [start_ns, stop_ns); ``lanes`` ascending."""

    lanes: Int64Array
    start_ns: int
    stop_ns: int


@dataclass(frozen=True, eq=False)
class EventChain:
    """Related events: single ones (``rows``, ascending) and all events in some stretches."""

    capture: Capture
    rows: Int64Array
    stretches: tuple[Stretch, ...]

    @cached_property
    def lanes(self) -> Int64Array:
        """Lane of each of ``rows``."""
        return self.capture.lanes_of_rows(self.rows)

    @cached_property
    def starts(self) -> Int64Array:
        """Start of each of ``rows``, int64 ns."""
        return self.capture.event_times(self.rows)[0]

    def holds(self, rows: Int64Array, lanes: Int64Array, start_ns: Int64Array) -> BoolArray:
        """Which events belong to the chain, given by row, lane and start; arrays of equal length."""
        result = among(rows, self.rows)
        for stretch in self.stretches:
            inside = np.flatnonzero((start_ns >= stretch.start_ns) & (start_ns < stretch.stop_ns))
            result[inside] |= among(lanes[inside], stretch.lanes)
        return result

    def starts_in(self, group: NameGroup) -> Int64Array:
        """Starts of a group's events that belong to the chain, ascending; cached."""
        starts = self._in_groups.get(id(group))
        if starts is None:
            columns = group.columns(self.capture)
            if getattr(group, "events", None) is not None:  # none of the capture's events
                return columns.start[:0]
            place = np.minimum(np.searchsorted(columns.start, self.starts), len(columns.start) - 1)
            parts = [columns.start[place][among(columns.row[place], self.rows)]]
            lane = self.capture.lane_of_row(int(group.rows[0]))
            for stretch in self.stretches:
                if lane in stretch.lanes:
                    first, stop = np.searchsorted(columns.start, (stretch.start_ns, stretch.stop_ns))
                    parts.append(columns.start[first:stop])
            starts = self._in_groups[id(group)] = np.unique(np.concatenate(parts))
        return starts

    @cached_property
    def _in_groups(self) -> dict[int, Int64Array]:
        return {}


def among(values: Int64Array, chosen: Int64Array) -> BoolArray:
    """Which of ``values`` are in ``chosen`` (ascending)."""
    if not len(chosen):
        return np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(chosen, values), len(chosen) - 1)
    return np.asarray(chosen[place] == values)


class EventChains:
    """Finds chains in a capture; takes logarithmic time, plus the calls inside the selected event."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def of(self, row: int) -> EventChain | None:
        """The events related to an event, or None."""
        capture = self._capture
        causes, annotated = self._causes(row)
        rows = {row, *causes, *self._effects(row), *self._around(row, capture.event_span(row)[0])}
        for cause in causes:
            rows.update(self._around(cause, self._moment(cause, row)))
        stretches: list[Stretch] = []
        launched = []
        for inside in (row, *annotated):
            work, more = self._inside(inside)
            launched.append(work)
            stretches += more
        every = np.unique(np.concatenate([np.fromiter(rows, np.int64), *launched]))
        held = sum(capture.count_in(part.lanes, part.start_ns, part.stop_ns) for part in stretches)
        return EventChain(capture, every, tuple(stretches)) if len(every) > 1 or held > 1 else None

    def _causes(self, row: int) -> tuple[list[int], list[int]]:
        """The causes of an event, and which of them are host ranges of a GPU annotation."""
        capture = self._capture
        sources, kinds = (column[:EVENT_LIMIT].tolist() for column in capture.links_to(row))
        named = [(source, capture.links.kind_name(kind)) for source, kind in zip(sources, kinds, strict=True)]
        known = [(source, kind) for source, kind in named if 0 <= source < len(capture.events)]
        return (
            [source for source, kind in known if kind in _CAUSES],
            [source for source, kind in known if kind == ANNOTATION],
        )

    def _effects(self, row: int) -> Iterable[int]:
        targets: list[int] = self._capture.links_from(row)[0][:EVENT_LIMIT].tolist()
        return [target for target in targets if 0 <= target < len(self._capture.events)]

    def _moment(self, cause: int, row: int) -> int:
        """When a cause took effect: at the end of a wait that had begun long before."""
        start, stop = self._capture.event_span(cause)
        return min(max(self._capture.event_span(row)[1] - 1, start), max(start, stop - 1))

    def _around(self, row: int, moment: int) -> Iterable[int]:
        """All events that enclose an event: on its thread's tracks, or on its GPU's tracks that hold ranges."""
        capture = self._capture
        for lane in self._lanes_beside(row).tolist():
            enclosing = capture.event_at(lane, moment)
            if enclosing is not None and enclosing != row:
                yield enclosing

    def _lanes_beside(self, row: int) -> Int64Array:
        track = self._capture.tracks[self._capture.track_of_row(row)]
        if track.thread is not None:
            return self._lanes_of.get(("thread", track.thread), _NO_LANES)
        if track.device is not None:
            return self._lanes_of.get(("device", track.device), _NO_LANES)
        return np.array(self._capture.track_lanes(track.index), np.int64)

    @cached_property
    def _lanes_of(self) -> dict[tuple[str, int], Int64Array]:
        """Lanes with nested events, of each thread and device."""
        by_owner: dict[tuple[str, int], list[int]] = {}
        for track in self._capture.tracks:
            if track.role not in _HOST_ROLES:
                continue
            if track.thread is not None:
                by_owner.setdefault(("thread", track.thread), []).extend(
                    self._capture.track_lanes(track.index)
                )
            elif track.device is not None:
                by_owner.setdefault(("device", track.device), []).extend(
                    self._capture.track_lanes(track.index)
                )
        return {owner: np.array(sorted(lanes), np.int64) for owner, lanes in by_owner.items()}

    def _inside(self, row: int) -> tuple[Int64Array, list[Stretch]]:
        """Events that start in a thread's event, and the GPU work that its calls launched."""
        capture = self._capture
        track = capture.tracks[capture.track_of_row(row)]
        start, stop = capture.event_span(row)
        if track.role not in _HOST_ROLES or stop <= start:
            return _NO_LANES, []
        stretches = [Stretch(self._lanes_beside(row), start, stop)]
        if track.thread is None:
            return _NO_LANES, stretches
        lanes = self._lanes_beside(row)
        calls = lanes[
            [capture.tracks[int(capture.lanes.track[lane])].role == "api" for lane in lanes.tolist()]
        ]
        if capture.count_in(calls, start, stop) <= CALLS_LIMIT:
            return launched_rows(capture, capture.rows_in(calls, start, stop)), stretches
        return _NO_LANES, [*stretches, self._launched_by_many(track.process, calls, start, stop)]

    def _launched_by_many(
        self, process: int | None, calls: Int64Array, start_ns: int, stop_ns: int
    ) -> Stretch:
        """All work on a process's streams from the first call to the end of the last call's work."""
        capture = self._capture
        for lane in calls.tolist():
            last = capture.event_at(lane, stop_ns - 1, stop_ns - start_ns)
            for work in () if last is None else launched_rows(capture, np.array([last])).tolist():
                stop_ns = max(stop_ns, capture.event_span(work)[0] + 1)
        streams = [
            lane
            for track in capture.tracks
            if track.role == "stream" and track.process in {process, None}
            for lane in capture.track_lanes(track.index)
        ]
        return Stretch(np.array(sorted(streams), np.int64), start_ns, stop_ns)


_NO_LANES = np.empty(0, np.int64)
