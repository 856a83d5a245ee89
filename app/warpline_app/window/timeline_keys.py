"""Timeline keys that work wherever the keyboard focus is, except in text fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from shiboken6 import isValid

from warpline_app.panels.frame.floating import FloatingPanel

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView


def takes_text(widget: QWidget) -> bool:
    """Whether typed letters are text in this widget."""
    # Asks Qt by name: naming the classes here would create them in Python at every window start.
    if any(widget.inherits(name) for name in ("QLineEdit", "QPlainTextEdit", "QTextEdit")):
        return not widget.property("readOnly")
    if widget.inherits("QComboBox"):
        return bool(widget.property("editable"))
    return widget.inherits("QAbstractSpinBox") or widget.inherits("QKeySequenceEdit")


class TimelineKeys(QObject):
    """Passes held keys (W A S D) from any widget of a window to the timeline in front.

    Arrows stay with the focused widget if it lists anything. Only the focused widget is watched, to cost others
    nothing.
    """

    def __init__(self, window: QWidget, view: Callable[[], TimelineView | None]) -> None:
        """``view`` is the timeline in front."""
        super().__init__(window)
        self._window = window
        self._view = view
        self._watched: QWidget | None = None
        self._moves: TimelineView | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._follow)

    def _follow(self, _old: QWidget | None, new: QWidget | None) -> None:
        self._stop()
        # A widget being destroyed loses the focus before it announces its destruction.
        if self._watched is not None and isValid(self._watched):
            self._watched.removeEventFilter(self)
            self._watched.destroyed.disconnect(self._forget)
        self._watched = None
        if new is not None and self._is_ours(new) and not takes_text(new):
            self._watched = new
            new.destroyed.connect(self._forget)
            new.installEventFilter(self)

    def _forget(self) -> None:
        self._watched = None

    def _is_ours(self, widget: QWidget) -> bool:
        top = widget.window()
        return top is self._window or (isinstance(top, FloatingPanel) and top.parentWidget() is self._window)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take presses and releases of motion keys."""
        kind = event.type()
        if kind not in {QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress, QEvent.Type.KeyRelease}:
            return False
        assert isinstance(event, QKeyEvent)
        view = self._view()
        if view is None or watched is view or not _is_motion(event, watched):
            return False
        if kind == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if kind == QEvent.Type.KeyRelease:
            return self._moves is not None and self._moves.held.release(event)
        self._moves = view
        view.key_pressed.emit(event)
        return True

    def _stop(self) -> None:
        """Stop the motion: the keys will be released elsewhere."""
        if self._moves is not None:
            self._moves.held.stop()
            self._moves = None


def _is_motion(event: QKeyEvent, widget: QObject) -> bool:
    from warpline_app.timeline.widgets.held_keys import is_arrow, verb_of

    # On buttons, arrows only move to neighbours, which Tab does too.
    return verb_of(event) is not None and (not is_arrow(event) or isinstance(widget, QAbstractButton))
