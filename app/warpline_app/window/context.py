"""Where the commands of a window act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpline_app.session.timeline_state import TimelineState
    from warpline_app.timeline.widgets.view import TimelineView
    from warpline_app.window.main_window import MainWindow


@dataclass
class WindowContext:
    """Where a command of this window acts."""

    window: MainWindow

    @property
    def state(self) -> TimelineState | None:
        """The state of the capture in front."""
        page = self.window.current_page
        return page.document.state if page is not None else None

    @property
    def view(self) -> TimelineView | None:
        """The timeline in front."""
        page = self.window.current_page
        return page.view if page is not None else None
