"""Search for event names; in a worker for large captures. The newest request wins."""

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
"""Captures up to this size are searched at once."""
_PIECE = 1 << 21


@dataclass(frozen=True)
class SearchQuery:
    """A search: text, regular expression or not, case."""

    text: str
    regex: bool = False
    case: bool = False


@dataclass(frozen=True)
class SearchResult:
    """Name ids, event rows in time order, and their start times (int64 ns)."""

    names: npt.NDArray[np.uint32]
    rows: Int64Array
    times: Int64Array


NOTHING = SearchResult(np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.int64))


def parse_query(text: str) -> SearchQuery:
    """Parse typed text: ``/…/`` is a regular expression, ``/…/c`` a case-sensitive one; capitals make text so, too."""
    match = re.fullmatch(r"/(.+)/(c?)", text)
    if match:
        return SearchQuery(match.group(1), True, bool(match.group(2)))
    return SearchQuery(text, False, any(character.isupper() for character in text))


def find_events(
    capture: Capture, query: SearchQuery, is_cancelled: Callable[[], bool] = lambda: False
) -> SearchResult:
    """All events whose name matches, in time order.

    Raises re.error for an invalid expression and Cancelled when cancelled.
    """
    matches = capture.strings.find(query.text, regex=query.regex, case=query.case)
    names = np.union1d(matches, _matching_states(capture, query)).astype(np.uint32)
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
    return SearchResult(present, rows[order], times[order])


def _matching_states(capture: Capture, query: SearchQuery) -> list[int]:
    """Name ids of thread states whose displayed (translated) name matches."""
    from warpline.analysis.structure.thread_states import (
        STATES,  # imported on demand
    )

    matches = title_matcher(query.text, regex=query.regex, case=query.case)
    ids = (capture.strings.id(state) for state in STATES if matches(translated(state)))
    return [known for known in ids if known is not None]


class Search(QObject):
    """The search of one timeline. ``changed`` reports a new result, ``failed`` an invalid query."""

    changed = Signal()
    failed = Signal(str)
    started = Signal()

    def __init__(self, capture: Capture, state: TimelineState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._capture = capture
        self._state = state
        self._query = SearchQuery("")
        self._result = NOTHING
        self._job: Job | None = None

    @property
    def query(self) -> SearchQuery:
        """The current search."""
        return self._query

    @property
    def result(self) -> SearchResult:
        """The last result; kept while the next search runs."""
        return self._result

    @property
    def is_running(self) -> bool:
        """Whether a worker is searching."""
        return self._job is not None

    def find_text(self, text: str) -> None:
        """Search for typed text (see `parse_query`)."""
        self.find(parse_query(text))

    def find(self, query: SearchQuery) -> None:
        """Start a search; an empty text ends the search."""
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
                self.failed.emit(tr("invalid regular expression: {error}", "timeline", error=error))
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

    def adopt(self, capture: Capture) -> None:
        """Search another capture of the same recording for the same."""
        query, self._query = self._query, SearchQuery("")
        self.cancel()
        self._capture, self._result = capture, NOTHING
        if query.text:
            self.find(query)

    def cancel(self) -> None:
        """Stop searching."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _deliver(self, result: SearchResult) -> None:
        if self._job is not None and self.sender() not in {None, self._job}:
            return
        self._job = None
        self._result = result
        self._state.set_highlight(result.names.tolist())
        self.changed.emit()

    def _fail(self, error: Exception) -> None:
        self._job = None
        self.failed.emit(str(error))

    def position(self) -> int | None:
        """The index of the selected event among the results, from 0; None if it is not one."""
        row = self._state.selection
        if row is None or not len(self._result.rows):
            return None
        start = self._capture.event_span(row)[0]
        first, stop = (int(np.searchsorted(self._result.times, start, side)) for side in ("left", "right"))
        hits = np.flatnonzero(self._result.rows[first:stop] == row)
        return first + int(hits[0]) if len(hits) else None

    def step(self, direction: int) -> int | None:
        """Row of the next (1) or previous (−1) result after the selection, else in the view; wraps around."""
        rows, times = self._result.rows, self._result.times
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
        """The number of results, and the position of the selected one."""
        if not self._query.text:
            return ""
        if not len(self._result.rows):
            return tr("no results", "timeline")
        at = self.position()
        total = len(self._result.rows)
        if at is None:
            return tr_n("{count:,} result", "{count:,} results", total, "timeline")
        return tr("{place:,} of {count:,}", "timeline", place=at + 1, count=total)
