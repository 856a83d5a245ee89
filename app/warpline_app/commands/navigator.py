"""Through what verbs act on a capture that is shown, whatever shows it."""

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
    """Moves what is in view, knows what a person points at, and asks. What holds is in ``state``."""

    @property
    def document(self) -> Document:
        """The capture that is shown."""
        ...

    @property
    def state(self) -> TimelineState:
        """What is in view, selected, pinned, filtered of it."""
        ...

    @property
    def search(self) -> Search:
        """What was looked for and found in it."""
        ...

    @property
    def tree(self) -> RowTree:
        """All its rows."""
        ...

    @property
    def layouts(self) -> LayoutStore:
        """The views of captures that were saved under a name."""
        ...

    @property
    def view(self) -> TimelineView:
        """The widget that shows it: for pictures of it."""
        ...

    # -- moving

    def zoom(self, factor: float) -> None:
        """Show a range of time this many times as long, about what is pointed at."""
        ...

    def pan(self, share: float) -> None:
        """Go on by a share of what is in view, back with a minus."""
        ...

    def turn_page(self, direction: int) -> None:
        """Scroll the rows by a page, down (1) or up (-1)."""
        ...

    def hold(self, motion: str) -> None:
        """Move (``in``, ``out``, ``left``, ``right``) faster and faster until the key that was pressed is let go."""
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
        """Put a moment into the middle."""
        ...

    def take_focus(self) -> None:
        """Have the keyboard."""
        ...

    # -- what is pointed at

    def anchor_ns(self) -> int:
        """The moment that keys are about: under the pointer, else of the selected event, else in the middle."""
        ...

    def focus_row(self) -> TimelineRow | None:
        """The row that is meant: under the pointer, else clicked last, else that of the selected event."""
        ...

    def step_row(self, direction: int) -> None:
        """Mean the next (1) or previous (-1) row that is shown."""
        ...

    def toggle(self, row: TimelineRow) -> None:
        """Open a row, or close it."""
        ...

    def first_event_in_view(self) -> int | None:
        """The first visible event of the row that is meant, else of the topmost row that has one."""
        ...

    # -- talking

    def tell(self, text: str) -> None:
        """Say something in passing."""
        ...

    def ask_text(self, title: str, label: str, text: str = "") -> str | None:
        """Ask for a text; None when the person changed their mind."""
        ...

    def ask_choice(self, title: str, label: str, choices: Sequence[str]) -> str | None:
        """Ask for one of some texts; None when the person changed their mind."""
        ...
