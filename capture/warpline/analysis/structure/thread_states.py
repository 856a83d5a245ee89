"""States of threads, and the time a thread spends in each during any time range."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import english
from warpline.model import Flag
from warpline.model.waits import WAIT_FAMILIES

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
STATES = ("running", "runnable", "blocked", "uninterruptible", "other")
REASONED_STATES = (
    "running",
    "runnable",
    *(family.color for family in WAIT_FAMILIES),
    "blocked",
    "uninterruptible",
    "other",
)
"""States with *blocked* split by reason (`WAIT_FAMILIES`); ``blocked`` is the rest without a reason."""
REASONED_STATE_TITLES = (
    english("Running"),
    english("Waiting for a core"),
    *(english("Blocked: {what}", what=family.title) for family in WAIT_FAMILIES),
    english("Blocked, reason unknown"),
    english("Uninterruptible"),
    english("Other"),
)
MAX_SUMMED_STATES = 1_000_000
"""Limit of states that are summed for a single event."""
_UNKNOWN = REASONED_STATES.index("blocked")


def state_codes(view: View, rows: Int64Array, names: npt.NDArray[np.uint32]) -> Int64Array:
    """Index into `STATES` of thread-state events, by flags (running, waiting, idle) and name."""
    strings = view.capture.strings
    flags = view.capture.events.flags[rows]
    code = np.zeros(len(rows), np.int64)
    code[(flags & Flag.WAITING) != 0] = 1
    idle = (flags & Flag.IDLE) != 0
    code[idle] = 4
    for state in (2, 3):
        code[idle & (names == (strings.id(STATES[state]) or 0xFFFFFFFF))] = state
    return code


def reasoned_state_codes(
    view: View, rows: Int64Array, index: Int64Array, names: npt.NDArray[np.uint32]
) -> Int64Array:
    """Index into `REASONED_STATES` of thread-state events: rows, indices in the kind's table, names."""
    code = np.array([0, 1, _UNKNOWN, _UNKNOWN + 1, _UNKNOWN + 2])[state_codes(view, rows, names)]
    wait = np.ma.filled(view.column("thread_state", "wait", index).astype(np.int64), 0)
    has_reason = np.flatnonzero((code == _UNKNOWN) & (wait > 0) & (wait < len(_FAMILY_OF_WAIT)))
    code[has_reason] = _FAMILY_OF_WAIT[wait[has_reason]]
    return code


_FAMILY_OF_WAIT = np.full(256, _UNKNOWN, np.int64)
for _place, _family in enumerate(WAIT_FAMILIES, REASONED_STATES.index(WAIT_FAMILIES[0].color)):
    _FAMILY_OF_WAIT[list(_family.kinds)] = _place


class StateTimes:
    """Time of each thread in each of `REASONED_STATES` during any time ranges.

    States of a thread do not overlap, so the time of a state up to a moment comes from a prefix sum.
    """

    def __init__(self, view: View) -> None:
        """``view`` must include all later time ranges."""
        self._view = view
        self._tracks: dict[int, list[int]] = {}
        for track in view.capture.tracks:
            if track.role == "state" and track.thread is not None:
                self._tracks.setdefault(track.thread, []).append(track.index)
        # Callers ask for one thread after the other, so only the last is cached.
        self._columns = lru_cache(maxsize=1)(self._read)

    def times_in(self, thread: int, start_ns: Int64Array, stop_ns: Int64Array) -> Int64Array:
        """Time of a thread in each state during ranges [start, stop): int64 of shape (ranges, states).

        The rest of a range was not recorded.
        """
        result = np.zeros((len(start_ns), len(REASONED_STATES)), np.int64, order="F")
        begin, end, code = self._columns(thread)
        if not len(begin) or not len(start_ns):
            return result
        # Only the states that overlap the ranges.
        first = max(int(np.searchsorted(begin, start_ns.min(), "right")) - 1, 0)
        last = max(int(np.searchsorted(begin, stop_ns.max(), "right")), first + 1)
        begin, end, code = begin[first:last], end[first:last], code[first:last]
        ends = []
        for moment in (start_ns, stop_ns):
            at = np.maximum(np.searchsorted(begin, moment, "right") - 1, 0)
            part = np.clip(np.minimum(moment, end[at]) - begin[at], 0, None)
            ends.append((at, part))
        length = end - begin
        for state in np.unique(code).tolist():
            total = np.concatenate(([0], np.cumsum(np.where(code == state, length, 0))))
            before, after = (total[at] + np.where(code[at] == state, part, 0) for at, part in ends)
            result[:, state] = after - before
        return result

    def _read(self, thread: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        view = self._view
        parts = [
            (events.start, events.stop, reasoned_state_codes(view, events.row, events.index, events.name))
            for events in self._events(thread)
        ]
        if not parts:
            none = np.empty(0, np.int64)
            return none, none, none
        start, stop, code = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(start, kind="stable")
        start, stop, code = start[order], stop[order], code[order]
        # In a damaged file, states may overlap: the later one counts.
        stop[:-1] = np.minimum(stop[:-1], start[1:])
        return start, np.maximum(stop, start), code

    def _events(self, thread: int) -> Iterator[SelectedEvents]:
        tracks = self._tracks.get(thread)
        if tracks and self._view.has("thread_state"):
            yield from self._view.batches("thread_state", frozenset(tracks))


def states_of_event(capture: Capture, row: int) -> tuple[tuple[str, int], ...] | None:
    """(title, ns) of the thread's states during an event, longest first, "Not recorded" last.

    None without recorded states, or for more than `MAX_SUMMED_STATES`.
    """
    track = capture.tracks[capture.track_of_row(row)]
    start, stop = capture.event_span(row)
    lanes = [
        lane
        for other in capture.tracks
        if other.thread == track.thread and other.role == "state"
        for lane in capture.track_lanes(other.index)
    ]
    if track.thread is None or not lanes or stop <= start:
        return None
    if not 0 < capture.count_in(lanes, start, stop) <= MAX_SUMMED_STATES:
        return None
    view = View(capture, Selection(start, stop))
    times = StateTimes(view).times_in(track.thread, np.array([start]), np.array([stop]))[0]
    parts = [(title, time) for title, time in zip(REASONED_STATE_TITLES, times.tolist(), strict=True) if time]
    parts.sort(key=lambda part: -part[1])
    rest = stop - start - int(times.sum())
    return (*parts, *(((english("Not recorded"), rest),) if rest else ()))
