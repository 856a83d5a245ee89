"""The base of panels: views of one open capture that follow its state and work only while visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from warpline_app.look.appearance import appearance
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import single_shot

if TYPE_CHECKING:
    from warpline.model.frames import StackFrame
    from warpline_app.open.document import Document
    from warpline_app.panels.frame.row_target import RowTarget
    from warpline_app.state.timeline_state import TimelineState


class Panel(QWidget):
    """Base of panels that show a capture.

    Connect the signals of ``self.state`` that matter to `mark_stale`, and do the work in `refresh`. It runs once for
    any number of signals, and only when the panel is visible. Work longer than a frame belongs in a `background.Job`.
    """

    scope_changed = Signal(str)
    """What the numbers cover; shown at the right of the panel's tab."""
    badge_changed = Signal(str)
    """A short figure after the title, such as the number of findings."""
    events_wanted = Signal(object)
    """A `RowTarget` whose events should be listed in the panel that lists events."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.document = document
        self._scope = ""
        self._badge = ""
        self._stale = True
        self._timer = single_shot(self, 0, self._refresh_if_stale)
        appearance().theme_changed.connect(self._theme_changed)

    @property
    def state(self) -> TimelineState:
        """The view and selection of the capture."""
        return self.document.state

    @property
    def scope(self) -> str:
        """What the numbers cover."""
        return self._scope

    def set_scope(self, text: str) -> None:
        """Set what the numbers cover."""
        if text != self._scope:
            self._scope = text
            self.scope_changed.emit(text)

    @property
    def badge(self) -> str:
        """The figure after the title."""
        return self._badge

    def set_badge(self, text: str) -> None:
        """Show a figure after the title; empty for none."""
        if text != self._badge:
            self._badge = text
            self.badge_changed.emit(text)

    @property
    def is_busy(self) -> bool:
        """Whether background work is running; overridden by panels that have any."""
        return False

    @property
    def is_settled(self) -> bool:
        """Whether the panel shows the current state."""
        return not self._stale and not self.is_busy

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return appearance().theme

    def mark_stale(self, *_values: object) -> None:
        """Schedule a refresh. Ignores the values that signals pass."""
        self._stale = True
        if self.isVisible():
            self._timer.start()

    def refresh(self) -> None:
        """Show the current state; overridden by panels."""

    def show_events_of(self, target: RowTarget) -> None:
        """List the events of another panel's row; overridden by the panel that lists events."""

    def show_source(self, frame: StackFrame) -> None:
        """Show a line of a source file; overridden by the panel that shows source."""

    def apply_theme(self, theme: Theme) -> None:
        """Update colours; overridden by panels that store colours."""

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh if the state changed while hidden."""
        super().showEvent(event)
        if self._stale:
            self._timer.start()

    def _refresh_if_stale(self) -> None:
        if self._stale and self.isVisible():
            self._stale = False
            self.refresh()

    def _theme_changed(self, theme: Theme) -> None:
        self.apply_theme(theme)
        self.update()
