"""Which state each event of a thread's states is, and how much of any stretch of time a thread spent in each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import SelectedEvents, Selection, View
from warpline.i18n import english
from warpline.model import Flag
from warpline.model.waits import WAIT_FAMILIES

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
STATES = ("running", "runnable", "blocked", "uninterruptible", "other")
TOLD = (
    "running",
    "runnable",
    *(family.color for family in WAIT_FAMILIES),
    "blocked",
    "uninterruptible",
    "other",
)
"""States told apart with the reasons of *blocked* (`WAIT_FAMILIES`); ``blocked`` is what is left without a reason."""
TOLD_TITLES = (
    english("Running"),
    english("Waiting for a core"),
    *(english("Blocked: {what}", what=family.title) for family in WAIT_FAMILIES),
    english("Blocked, not known why"),
    english("Uninterruptible"),
    english("Other"),
)
ADDED_AT_ONCE = 1_000_000
"""States that are added up while somebody looks at one event."""
_UNKNOWN = TOLD.index("blocked")


def state_codes(view: View, rows: Int64Array, names: npt.NDArray[np.uint32]) -> Int64Array:
    """Index into `STATES` of thread-state events: flags tell running, waiting and idle, names the rest."""
    strings = view.capture.strings
    flags = view.capture.events.flags[rows]
    code = np.zeros(len(rows), np.int64)
    code[(flags & Flag.WAITING) != 0] = 1
    idle = (flags & Flag.IDLE) != 0
    code[idle] = 4
    for state in (2, 3):
        code[idle & (names == (strings.id(STATES[state]) or 0xFFFFFFFF))] = state
    return code


def told_codes(view: View, rows: Int64Array, index: Int64Array, names: npt.NDArray[np.uint32]) -> Int64Array:
    """Index into `TOLD` of thread-state events: ``rows``, their places ``index`` in the kind's table, their names."""
    code = np.array([0, 1, _UNKNOWN, _UNKNOWN + 1, _UNKNOWN + 2])[state_codes(view, rows, names)]
    wait = np.ma.filled(view.column("thread_state", "wait", index).astype(np.int64), 0)
    is_told = np.flatnonzero((code == _UNKNOWN) & (wait > 0) & (wait < len(_FAMILY_OF_WAIT)))
    code[is_told] = _FAMILY_OF_WAIT[wait[is_told]]
    return code


_FAMILY_OF_WAIT = np.full(256, _UNKNOWN, np.int64)
for _place, _family in enumerate(WAIT_FAMILIES, TOLD.index(WAIT_FAMILIES[0].color)):
    _FAMILY_OF_WAIT[list(_family.kinds)] = _place


class StateTimes:
    """How long each thread was in each state of `TOLD`, in any stretches of time. States of a thread do not overlap, so
    the time of one state up to a moment is one entry of a prefix sum and a part of the state that holds the moment.
    """

    def __init__(self, view: View) -> None:
        """``view`` says which stretch of the capture is asked about at most."""
        self._view = view
        self._tracks: dict[int, list[int]] = {}
        for track in view.capture.tracks:
            if track.role == "state" and track.thread is not None:
                self._tracks.setdefault(track.thread, []).append(track.index)
        # One thread after the other is asked: what one took is let go for the next.
        self._columns = lru_cache(maxsize=1)(self._read)

    def times_in(self, thread: int, start_ns: Int64Array, stop_ns: Int64Array) -> Int64Array:
        """Time of a thread in each state within [start, stop) of each stretch: int64 of shape (stretches, states).

        What is missing to the length of a stretch was not recorded.
        """
        result = np.zeros((len(start_ns), len(TOLD)), np.int64, order="F")
        begin, end, code = self._columns(thread)
        if not len(begin) or not len(start_ns):
            return result
        # What neither begins nor ends inside of is passed over.
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
        found = [
            (events.start, events.stop, told_codes(view, events.row, events.index, events.name))
            for events in self._events(thread)
        ]
        if not found:
            none = np.empty(0, np.int64)
            return none, none, none
        start, stop, code = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(start, kind="stable")
        start, stop, code = start[order], stop[order], code[order]
        # A damaged file may say that a thread was in two states at once: the later one counts.
        stop[:-1] = np.minimum(stop[:-1], start[1:])
        return start, np.maximum(stop, start), code

    def _events(self, thread: int) -> Iterator[SelectedEvents]:
        tracks = self._tracks.get(thread)
        if tracks and self._view.has("thread_state"):
            yield from self._view.batches("thread_state", frozenset(tracks))


def states_of_event(capture: Capture, row: int) -> tuple[tuple[str, int], ...] | None:
    """What the thread of an event did while it lasted: titles of states and ns, the longest first, the rest last.

    None where no states of the thread were recorded, or too many lie inside to be added up at once.
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
    if not 0 < capture.count_in(lanes, start, stop) <= ADDED_AT_ONCE:
        return None
    view = View(capture, Selection(start, stop))
    times = StateTimes(view).times_in(track.thread, np.array([start]), np.array([stop]))[0]
    found = [(title, time) for title, time in zip(TOLD_TITLES, times.tolist(), strict=True) if time]
    found.sort(key=lambda part: -part[1])
    rest = stop - start - int(times.sum())
    return (*found, *(((english("Not recorded"), rest),) if rest else ()))
