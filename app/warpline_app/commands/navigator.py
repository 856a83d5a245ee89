"""The interface through which commands act on the capture in front, whatever widget shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from warpline_app.open.document import Document
from warpline_app.remembered.saved_layout import LayoutStore
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.model.row import TimelineRow
from warpline_app.timeline.model.rows import RowTree
from warpline_app.timeline.model.search import Search
from warpline_app.timeline.widgets.view import TimelineView


class Navigator(Protocol):
    """Moves the view, knows the row and time a command applies to, and asks for input. ``state`` holds the rest."""

    @property
    def document(self) -> Document:
        """The capture shown."""
        ...

    @property
    def state(self) -> TimelineState:
        """Its view, selection, pins and filter."""
        ...

    @property
    def search(self) -> Search:
        """Its search and the results."""
        ...

    @property
    def tree(self) -> RowTree:
        """Its rows."""
        ...

    @property
    def layouts(self) -> LayoutStore:
        """Saved views of captures."""
        ...

    @property
    def view(self) -> TimelineView:
        """The widget that shows it, for pictures."""
        ...

    # -- moving

    def zoom(self, factor: float) -> None:
        """Scale the visible time range by ``factor`` around the anchor."""
        ...

    def pan(self, share: float) -> None:
        """Move right by a share of the visible range; negative moves left."""
        ...

    def turn_page(self, direction: int) -> None:
        """Scroll the rows by a page, down (1) or up (-1)."""
        ...

    def hold(self, motion: str) -> None:
        """Move (``in``, ``out``, ``left``, ``right``) with growing speed until the key is released."""
        ...

    def go_to(self, event: int) -> None:
        """Select an event and bring it into view."""
        ...

    def frame_event(self, event: int) -> None:
        """Show an event with a margin."""
        ...

    def show_range(self, start_ns: int, stop_ns: int) -> None:
        """Show a range with a margin."""
        ...

    def center_on(self, time_ns: int) -> None:
        """Centre the view on a time."""
        ...

    def take_focus(self) -> None:
        """Take the keyboard focus."""
        ...

    # -- target of a command

    def anchor_ns(self) -> int:
        """The time a key acts on: under the pointer, else the selected event's, else the middle of the view."""
        ...

    def focus_row(self) -> TimelineRow | None:
        """The row a command acts on: under the pointer, else clicked last, else the selected event's."""
        ...

    def step_row(self, direction: int) -> None:
        """Move the row focus to the next (1) or previous (-1) visible row."""
        ...

    def toggle(self, row: TimelineRow) -> None:
        """Expand or collapse a row."""
        ...

    def first_event_in_view(self) -> int | None:
        """The first visible event of the focus row, else of the topmost row that has one."""
        ...

    # -- messages and questions

    def tell(self, text: str) -> None:
        """Show a text in the status line."""
        ...

    def ask_text(self, title: str, label: str, text: str = "") -> str | None:
        """Ask for a text; None when cancelled."""
        ...

    def ask_choice(self, title: str, label: str, choices: Sequence[str]) -> str | None:
        """Ask for one of the choices; None when cancelled."""
        ...
