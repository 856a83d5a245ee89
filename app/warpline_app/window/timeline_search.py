"""Connects the search box to the search of the timeline in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QLabel

from warpline.i18n import tr
from warpline_app.window.tool_row import SearchBox

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView

TYPING_MS = 120


class TimelineSearch(QObject):
    """Searches while the user types, steps with Return, and shows the number of results.

    Each timeline has its own search; the box shows that of the tab in front.
    """

    def __init__(self, box: SearchBox, label: QLabel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._box = box
        self._label = label
        self._view: TimelineView | None = None
        self._texts: dict[int, str] = {}
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_MS)
        self._typing.timeout.connect(self.search_now)
        box.textChanged.connect(self._typed)
        box.next_requested.connect(lambda: self.step(1))
        box.previous_requested.connect(lambda: self.step(-1))

    def follow(self, view: TimelineView | None) -> None:
        """Search in this timeline from now on."""
        if self._view is not None:
            self._view.search.changed.disconnect(self._show)
            self._view.search.failed.disconnect(self._label.setText)
            self._view.state.selection_changed.disconnect(self._show)
            self._texts[id(self._view)] = self._box.text()
        self._view = view
        self._typing.stop()
        self._box.blockSignals(True)
        self._box.setText(self._texts.pop(id(view), "") if view is not None else "")
        self._box.blockSignals(False)
        if view is not None:
            view.search.changed.connect(self._show)
            view.search.failed.connect(self._label.setText)
            view.state.selection_changed.connect(self._show)
        self._show()

    def _typed(self, text: str) -> None:
        if text:
            self._typing.start()
        else:
            self.search_now()

    def search_now(self) -> None:
        """Search now, without waiting for more typing."""
        self._typing.stop()
        if self._view is not None:
            self._label.clear()
            self._view.search.find_text(self._box.text())
            if self._view.search.is_running:
                self._label.setText(tr("searching…"))
            elif not self._label.text():
                self._show()

    def step(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) result."""
        if self._view is None:
            return
        if self._typing.isActive():
            self.search_now()
        row = self._view.search.step(direction)
        if row is not None:
            self._view.state.reveal(row)

    def _show(self, *_values: object) -> None:
        self._label.setText(self._view.search.text() if self._view is not None and self._box.text() else "")
