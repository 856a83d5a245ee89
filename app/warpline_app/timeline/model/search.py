"""Search for event names; in a worker for large captures. The newest request wins."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr, tr_n, translated
from warpline.model import Cancelled
from warpline_app.open.background import Job
from warpline_app.open.counterparts import names_in
from warpline_app.open.document import Document
from warpline_app.open.held_capture import HeldCapture
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

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._state = document.state
        self._query = SearchQuery("")
        self._found = self._result = NOTHING
        self._held = HeldCapture(document)
        self._job: Job | None = None

    @property
    def query(self) -> SearchQuery:
        """The current search."""
        return self._query

    @property
    def result(self) -> SearchResult:
        """The last result; kept while the next search runs. Its rows are those of the capture that was searched."""
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
            self._deliver(None, NOTHING)
            return
        self._begin()

    def _begin(self) -> None:
        document, capture, query = self._document, self._document.capture, self._query
        if query.regex:
            try:
                re.compile(query.text)
            except re.error as error:
                self.failed.emit(tr("invalid regular expression: {error}", "timeline", error=error))
                return
        if len(capture.events) <= AT_ONCE:
            self._deliver(capture, find_events(capture, query))
            return
        document.keep(capture)
        job = Job(
            lambda _progress, is_cancelled: find_events(capture, query, is_cancelled), again=self._begin
        )
        job.finished.connect(partial(document.release, capture))
        job.succeeded.connect(partial(self._deliver, capture))
        job.failed.connect(self._fail)
        self._job = job
        self.started.emit()
        job.launch()

    def adopt(self) -> None:
        """Search the document's capture for the same: it was replaced by another one of the same recording.

        While the recording runs, a search ends first, since it may take longer than until the next capture, and the old
        result stays until the new one is there.
        """
        if self._document.live_edge is None:
            self.shut_down()  # times of the finished capture may begin later
        if not self._query.text:
            return
        self._renumber()
        if self._job is None:
            self._begin()

    def cancel(self) -> None:
        """Stop searching."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def shut_down(self) -> None:
        """Stop searching and forget the result."""
        self.cancel()
        self._held.hold(None)
        self._found = self._result = NOTHING

    def _deliver(self, capture: Capture | None, result: SearchResult) -> None:
        self._job = None
        self._held.hold(capture)
        self._found = result
        self._renumber()
        self._state.set_highlight(self._result.names.tolist())
        self.changed.emit()
        if self._held.is_outdated and self._job is None:
            self._begin()

    def _renumber(self) -> None:
        """Give the result the name ids of the document's present capture."""
        self._result, before = self._found, self._held.capture
        if before is not None and self._held.is_outdated:
            names = sorted(names_in(self._document.capture, before, self._found.names.tolist()))
            self._result = replace(self._found, names=np.array(names, np.uint32))

    def _fail(self, error: Exception) -> None:
        self._job = None
        self.failed.emit(str(error))

    def position(self) -> int | None:
        """The index of the selected event among the results, from 0; None if it is not one."""
        row, capture = self._held.row_then(self._state.selection), self._held.capture
        if row is None or capture is None:
            return None
        start = capture.event_span(row)[0]
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
            return self._held.row_now(int(rows[(at + direction) % len(rows)]))
        start, stop = self._state.view
        selected = self._state.selection
        anchor = start if selected is None else self._document.capture.event_span(selected)[0]
        if not start <= anchor < stop:
            anchor = start
        index = int(np.searchsorted(times, anchor, "left"))
        if direction < 0:
            index -= 1
        return self._held.row_now(int(rows[index % len(rows)]))

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
