"""Search over event names: found in a worker for large captures, the newest request wins."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr, tr_n, translated
from warpline.model import Cancelled
from warpline_app.open.background import Job
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.model.rows import title_matcher

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

AT_ONCE = 300_000
"""Captures of at most this many events are searched on the spot."""
_PIECE = 1 << 21


@dataclass(frozen=True)
class SearchQuery:
    """What is looked for."""

    text: str
    regex: bool = False
    case: bool = False


@dataclass(frozen=True)
class Found:
    """What was found: ids of names, rows of events ordered by time, and their start times (int64 ns)."""

    names: npt.NDArray[np.uint32]
    rows: Int64Array
    times: Int64Array


NOTHING = Found(np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.int64))


def parse_query(text: str) -> SearchQuery:
    """What a person typed: ``/…/`` is a regular expression, ``/…/c`` one that minds case; capitals mind case."""
    match = re.fullmatch(r"/(.+)/(c?)", text)
    if match:
        return SearchQuery(match.group(1), True, bool(match.group(2)))
    return SearchQuery(text, False, any(character.isupper() for character in text))


def find_events(
    capture: Capture, query: SearchQuery, is_cancelled: Callable[[], bool] = lambda: False
) -> Found:
    """All events whose name matches, in time order.

    Raises re.error for a broken expression and Cancelled when it is no longer wanted.
    """
    found = capture.strings.find(query.text, regex=query.regex, case=query.case)
    names = np.union1d(found, _states_called(capture, query)).astype(np.uint32)
    if not len(names):
        return NOTHING
    wanted = np.zeros(max(1, len(capture.strings)), bool)
    wanted[names] = True
    column = capture.events.name
    parts = []
    for first in range(0, len(column), _PIECE):
        if is_cancelled():
            raise Cancelled("search")
        piece = np.minimum(column[first : first + _PIECE], len(wanted) - 1)
        parts.append(np.flatnonzero(wanted[piece]) + first)
    rows = np.concatenate([np.empty(0, np.int64), *parts])
    if is_cancelled():
        raise Cancelled("search")
    times = capture.event_times(rows)[0]
    order = np.argsort(times, kind="stable")
    present = np.unique(capture.events.name[rows]).astype(np.uint32) if len(rows) else names[:0]
    return Found(present, rows[order], times[order])


def _states_called(capture: Capture, query: SearchQuery) -> list[int]:
    """Ids of the states of threads that match in the language in which they are shown."""
    from warpline.analysis.structure.thread_states import (
        STATES,  # analysis: only when something is looked for
    )

    matches = title_matcher(query.text, regex=query.regex, case=query.case)
    ids = (capture.strings.id(state) for state in STATES if matches(translated(state)))
    return [known for known in ids if known is not None]


class Search(QObject):
    """The search of one timeline. ``changed`` tells that there is another result, ``failed`` that it cannot be done."""

    changed = Signal()
    failed = Signal(str)
    started = Signal()

    def __init__(self, capture: Capture, state: TimelineState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._capture = capture
        self._state = state
        self._query = SearchQuery("")
        self._found = NOTHING
        self._job: Job | None = None

    @property
    def query(self) -> SearchQuery:
        """What is looked for."""
        return self._query

    @property
    def found(self) -> Found:
        """What was found last; stays while the next search runs."""
        return self._found

    @property
    def is_running(self) -> bool:
        """Whether a worker is looking."""
        return self._job is not None

    def find_text(self, text: str) -> None:
        """Look for what a person typed (see `parse_query`)."""
        self.find(parse_query(text))

    def find(self, query: SearchQuery) -> None:
        """Look for this; an empty text ends the search."""
        if query == self._query:
            return
        self._query = query
        self.cancel()
        if not query.text:
            self._deliver(NOTHING)
            return
        if query.regex:
            try:
                re.compile(query.text)
            except re.error as error:
                self.failed.emit(tr("not a regular expression: {error}", "timeline", error=error))
                return
        if len(self._capture.events) <= AT_ONCE:
            self._deliver(find_events(self._capture, query))
            return
        capture = self._capture
        job = Job(lambda _progress, is_cancelled: find_events(capture, query, is_cancelled))
        job.succeeded.connect(self._deliver)
        job.failed.connect(self._fail)
        self._job = job
        self.started.emit()
        job.launch()

    def cancel(self) -> None:
        """Stop looking."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _deliver(self, found: Found) -> None:
        if self._job is not None and self.sender() not in {None, self._job}:
            return
        self._job = None
        self._found = found
        self._state.set_highlight(found.names.tolist())
        self.changed.emit()

    def _fail(self, error: Exception) -> None:
        self._job = None
        self.failed.emit(str(error))

    def position(self) -> int | None:
        """Which of the found events is selected, counted from 0."""
        row = self._state.selection
        if row is None or not len(self._found.rows):
            return None
        start = self._capture.event_span(row)[0]
        first, stop = (int(np.searchsorted(self._found.times, start, side)) for side in ("left", "right"))
        hits = np.flatnonzero(self._found.rows[first:stop] == row)
        return first + int(hits[0]) if len(hits) else None

    def step(self, direction: int) -> int | None:
        """Row of the next (1) or previous (−1) found event after the selection, or else in the view; round the end."""
        rows, times = self._found.rows, self._found.times
        if not len(rows):
            return None
        at = self.position()
        if at is not None:
            return int(rows[(at + direction) % len(rows)])
        start, stop = self._state.view
        selected = self._state.selection
        anchor = start if selected is None else self._capture.event_span(selected)[0]
        if not start <= anchor < stop:
            anchor = start
        index = int(np.searchsorted(times, anchor, "left"))
        if direction < 0:
            index -= 1
        return int(rows[index % len(rows)])

    def text(self) -> str:
        """How many were found, and which of them is selected."""
        if not self._query.text:
            return ""
        if not len(self._found.rows):
            return tr("not found", "timeline")
        at = self.position()
        total = len(self._found.rows)
        if at is None:
            return tr_n("{count:,} found", "{count:,} found", total, "timeline")
        return tr("{place:,} of {count:,}", "timeline", place=at + 1, count=total)
