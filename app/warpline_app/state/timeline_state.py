"""View, selection, filter and pins of one capture. Panels and the timeline listen here, never to each other.

Times are capture times in integer ns. Signals carry them as Python objects because a C++ int has 32 bits. A row's key
is its track's URI, or the URI followed by ``#`` and the part shown (``gpu/0/…/stream/7#kernel=12``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from warpline.model.frames import StackFrame
from warpline.model.notes import Note
from warpline_app.state.evidence_state import EvidenceState

MIN_VIEW_NS = 1
Range = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which events keep full colour and which rows are shown. The default keeps everything.

    ``names`` selects events by name: a substring, or a regular expression with ``regex``. Other events are dimmed, and
    panels leave them out. ``kept_names`` and ``hidden_names`` are whole names to keep and to exclude. ``rows`` selects
    rows by title. ``only`` lists row keys: only these, their ancestors and their descendants are shown. ``kinds`` lists
    kinds of events.
    """

    names: str = ""
    rows: str = ""
    regex: bool = False
    case: bool = False
    only: tuple[str, ...] = ()
    kinds: frozenset[str] = field(default_factory=frozenset)
    kept_names: tuple[str, ...] = ()
    hidden_names: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return self == Filter(regex=self.regex, case=self.case)


class TimelineState(EvidenceState):
    """One capture's view, selection and layout, with one signal per field.

    A setter that changes nothing emits nothing. `undo` reverts the last change of zoom, filter, rows or notes.
    """

    view_changed = Signal(object)
    """(start_ns, stop_ns)"""
    selection_changed = Signal(object)
    """row of the selected event, or None"""
    reveal_wanted = Signal(object)
    """row of an event that the timeline scrolls to"""
    frame_wanted = Signal(object)
    """row of an event that the timeline zooms to"""
    row_wanted = Signal(str)
    """key of a row that the timeline scrolls to"""
    events_wanted = Signal(str, str, str)
    """kind, column identity and text: list the events with that text in that column"""
    source_wanted = Signal(object)
    """a `StackFrame` whose source line is to be shown"""
    note_wanted = Signal(object)
    """a Note whose text and colour the user wants to change"""
    range_selection_changed = Signal(object)
    """(start_ns, stop_ns) or None"""
    hover_changed = Signal(object)
    """row of the event under the pointer, or None"""
    track_selection_changed = Signal(object)
    """key of the row that panels are limited to, or None for all"""
    cursor_changed = Signal(object)
    """time under the pointer in ns, or None"""
    filter_changed = Signal(object)
    """a Filter"""
    highlight_changed = Signal(object)
    """frozenset of highlighted name ids (a row chosen in a table), empty for none"""
    origin_changed = Signal(object)
    """time in ns that the ruler's zero stands for"""
    arrows_changed = Signal(object)
    """``selection``, ``all`` or ``off``"""

    def __init__(
        self, start_ns: int, stop_ns: int, parent: QObject | None = None, *, activity: Range | None = None
    ) -> None:
        """The state of a capture from ``start_ns`` to ``stop_ns``, with its ``activity`` (default: all) in view."""
        super().__init__(parent)
        self._span: Range = (int(start_ns), max(int(stop_ns), int(start_ns) + MIN_VIEW_NS))
        self._activity: Range | None = None if activity in (None, (start_ns, stop_ns)) else activity
        self._view: Range = self.activity
        self._selection: int | None = None
        self._range_selection: Range | None = None
        self._track_selection: str | None = None
        self._hover: int | None = None
        self._cursor_ns: int | None = None
        self._filter = Filter()
        self._highlight: frozenset[int] = frozenset()
        self.home_ns: int = self._span[0]
        """Start of the capture, where times count from unless the origin was moved."""
        self.whole_ns: int | None = None
        """Start of the capture that this one is a part of; its times count from there at first."""
        self._origin_ns = self.home_ns
        self._arrows = "selection"

    # -- view ---------------------------------------------------------------------------------------------

    @property
    def span(self) -> Range:
        """The whole capture: (start_ns, stop_ns), at least 1 ns long."""
        return self._span

    def set_span(self, start_ns: int, stop_ns: int) -> None:
        """Set the limits of the view; they exceed the capture when another one is compared with it."""
        self._span = (int(start_ns), max(int(stop_ns), int(start_ns) + MIN_VIEW_NS))
        self.set_view(*self._view)

    @property
    def view(self) -> Range:
        """The visible range (start_ns, stop_ns)."""
        return self._view

    def clamp_view(self, start_ns: int, stop_ns: int) -> Range:
        """The nearest range in the capture of at least 1 ns; keeps the length if possible."""
        low, high = self._span
        length = min(max(int(stop_ns) - int(start_ns), MIN_VIEW_NS), high - low)
        start = min(max(int(start_ns), low), high - length)
        return start, start + length

    def set_view(self, start_ns: int, stop_ns: int, gesture: str | None = None) -> None:
        """Show ``[start_ns, stop_ns)``, clamped to the capture.

        `undo` restores the former view. Calls with the same ``gesture`` (a held key, a drag) count as one step until
        `end_gesture`.
        """
        self._assign("view", self.clamp_view(start_ns, stop_ns), gesture)

    @property
    def activity(self) -> Range:
        """The range in which something happens; the whole capture unless much of it is empty."""
        return self._span if self._activity is None else self.clamp_view(*self._activity)

    def set_activity(self, activity: Range | None) -> None:
        """Set the range in which something happens; None for the whole capture. The view stays."""
        self._activity = activity

    def show_all(self) -> None:
        """Show everything that happens; see `Capture.activity`."""
        self.set_view(*self.activity)

    def show_whole(self) -> None:
        """Show the capture from its first to its last event, however far apart."""
        self.set_view(*self._span)

    def take_over(self, other: TimelineState) -> None:
        """Copy view, selection and filter from another state of the same file; a full view stays full."""
        if other.view == other.activity:
            self.show_all()
        else:
            self.set_view(*(self._span if other.view == other.span else other.view))
        self.set_filter(other.filter)
        self.set_highlight(other.highlight)
        self.select(other.selection)
        self.select_track(other.track_selection)
        if not other.is_origin_moved:
            self.set_origin(None)
        if other.range_selection is not None:
            self.select_range(*other.range_selection)
        self._undo, self._redo = list(other._undo), list(other._redo)
        self.history_changed.emit()

    def renumber(self, *, selection: int | None, highlight: Iterable[int]) -> None:
        """Take over rows and name ids of another capture of the same recording; nothing is emitted.

        What only the former capture knew (the event under the pointer, an idle gap, a finding's evidence) is forgotten.
        """
        self._selection = selection
        self._highlight = frozenset(highlight)
        self._hover = self._gap = self._lit = None

    def shift(self, by_ns: int) -> None:
        """Shift all stored times by ``by_ns``, after the capture's time origin moved."""
        self._span = (self._span[0] + by_ns, self._span[1] + by_ns)
        if self._activity is not None:
            self._activity = (self._activity[0] + by_ns, self._activity[1] + by_ns)
        self._undo, self._redo = [], []
        with self.unrecorded():
            self._assign("view", (self._view[0] + by_ns, self._view[1] + by_ns))
            if self._range_selection is not None:
                low, high = self._range_selection
                self._assign("range_selection", (low + by_ns, high + by_ns))
            self.set_notes(_moved(note, by_ns) for note in self._notes)
        self.history_changed.emit()

    # -- selection ----------------------------------------------------------------------------------------

    @property
    def selection(self) -> int | None:
        """Row of the selected event."""
        return self._selection

    def select(self, row: int | None) -> None:
        """Select one event, or nothing."""
        row = None if row is None else int(row)
        self.select_gap(None)
        self._assign("selection", row)

    def reveal(self, row: int) -> None:
        """Select an event and scroll the timeline to it."""
        self.select(row)
        self.reveal_wanted.emit(int(row))

    def frame(self, row: int) -> None:
        """Select an event and zoom the timeline to it, with a margin."""
        self.select(row)
        self.frame_wanted.emit(int(row))

    def reveal_row(self, key: str) -> None:
        """Scroll the timeline to a row."""
        self.row_wanted.emit(key)

    def list_events(self, kind: str, column: str, text: str) -> None:
        """List the events of a kind that have this text in a column of their table."""
        self.events_wanted.emit(kind, column, text)

    def change_note(self, note: Note) -> None:
        """Ask the user for the text and colour of a note."""
        self.note_wanted.emit(note)

    def show_source(self, frame: StackFrame) -> None:
        """Show the source line of a stack frame."""
        self.source_wanted.emit(frame)

    @property
    def range_selection(self) -> Range | None:
        """The selected time range (start_ns, stop_ns), which limits every panel; None for the whole capture."""
        return self._range_selection

    def select_range(self, start_ns: int | None, stop_ns: int | None = None) -> None:
        """Select a time range (ends in any order), or none with None. An empty range is none."""
        selected: Range | None = None
        if start_ns is not None and stop_ns is not None and start_ns != stop_ns:
            low, high = sorted((int(start_ns), int(stop_ns)))
            selected = (max(low, self._span[0]), min(high, self._span[1]))
            if selected[0] >= selected[1]:
                selected = None
        self._assign("range_selection", selected)

    @property
    def track_selection(self) -> str | None:
        """Key of the row that panels are limited to, with all rows below it; None for all rows."""
        return self._track_selection

    def select_track(self, key: str | None) -> None:
        """Limit panels to a row and the rows below it, or to none."""
        self._assign("track_selection", key)

    @property
    def hover(self) -> int | None:
        """Row of the event under the pointer."""
        return self._hover

    def set_hover(self, row: int | None) -> None:
        """Set the event under the pointer."""
        self._assign("hover", row)

    @property
    def cursor_ns(self) -> int | None:
        """Time under the pointer."""
        return self._cursor_ns

    def set_cursor(self, time_ns: int | None) -> None:
        """Set the time under the pointer."""
        if time_ns != self._cursor_ns:
            self._cursor_ns = time_ns
            self.cursor_changed.emit(time_ns)

    # -- filter -------------------------------------------------------------------------------------------

    @property
    def filter(self) -> Filter:
        """The current filter."""
        return self._filter

    def set_filter(self, value: Filter) -> None:
        """Filter events and rows; can be undone."""
        self._assign("filter", value)

    def change_filter(self, **changes: Any) -> None:
        """Change some fields of the filter (see `Filter`)."""
        self.set_filter(replace(self._filter, **changes))

    @property
    def highlight(self) -> frozenset[int]:
        """Highlighted name ids."""
        return self._highlight

    def set_highlight(self, names: Iterable[int]) -> None:
        """Highlight all events with these name ids; an empty list ends it."""
        value = frozenset(int(name) for name in names)
        self._assign("highlight", value)

    # -- layout -------------------------------------------------------------------------------------------

    @property
    def origin_ns(self) -> int:
        """The time at the ruler's zero: the start of the capture, or one the user chose."""
        return self._origin_ns

    def set_origin(self, time_ns: int | None) -> None:
        """Set the ruler's zero; None means the start of the capture."""
        value = self.home_ns if time_ns is None else int(time_ns)
        if value != self._origin_ns:
            self._origin_ns = value
            self.origin_changed.emit(value)

    @property
    def is_origin_moved(self) -> bool:
        """Whether the ruler's zero differs from the start of the capture."""
        return self._origin_ns != self.home_ns

    @property
    def arrows(self) -> str:
        """Which links are drawn: ``selection`` (and the hovered event), ``all`` in view, ``off``."""
        return self._arrows

    def set_arrows(self, mode: str) -> None:
        """Draw links of the selection, all in view, or none. Raises ValueError for another mode."""
        if mode not in {"selection", "all", "off"}:
            raise ValueError(f"arrows are drawn for 'selection', 'all' or 'off', not {mode!r}")
        self._assign("arrows", mode)

    def clear(self) -> None:
        """Clear one thing: the finding, else the range, the row, the event, the highlight, the filter."""
        if self._lit is not None:
            self.set_lit(None)
        elif self._range_selection is not None:
            self.select_range(None)
        elif self._track_selection is not None:
            self.select_track(None)
        elif self._selection is not None or self._gap is not None:
            self.select(None)
        elif self._highlight:
            self.set_highlight(())
        elif not self._filter.is_empty:
            self.set_filter(Filter())


def _moved(note: Note, by_ns: int) -> Note:
    start, stop = note.start_ns, note.stop_ns
    return replace(
        note,
        start_ns=None if start is None else start + by_ns,
        stop_ns=None if stop is None else stop + by_ns,
    )
