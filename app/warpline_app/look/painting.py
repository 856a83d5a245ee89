"""Keeps paint errors inside one widget: Qt crashes if a painter is still open when painting ends."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintDevice, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from warpline.i18n import tr
from warpline_app.look.appearance import appearance
from warpline_app.look.theme import ui_font

W = TypeVar("W", bound=QWidget)

_last_errors: WeakKeyDictionary[QWidget, str] = WeakKeyDictionary()
"""The last error reported for each widget that failed to paint."""


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """A painter that is always closed."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()


@contextmanager
def saved(painter: QPainter) -> Iterator[None]:
    """Save the painter's state and always restore it."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()


def contained(paint: Callable[[W, QPainter, QPaintEvent], None]) -> Callable[[W, QPaintEvent], None]:
    """Turn a paint function into a ``paintEvent`` that never raises.

    On an error it keeps what was painted, writes the reason over it, and reports to `sys.excepthook` once, not at
    every frame.
    """

    @functools.wraps(paint)
    def paint_event(widget: W, event: QPaintEvent) -> None:
        target = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
        try:
            with painting(target) as painter:
                paint(widget, painter, event)
        except Exception as error:  # no exception may leave a virtual function of Qt
            report_once(widget, error)
            with painting(target) as painter:
                _write(painter, target, str(error) or type(error).__name__)
        else:
            _last_errors.pop(widget, None)

    return paint_event


def report_once(widget: QWidget, error: Exception) -> None:
    """Report a paint error to `sys.excepthook` unless it was the last one reported for this widget."""
    text = repr(error)
    if _last_errors.get(widget) != text:
        _last_errors[widget] = text
        sys.excepthook(type(error), error, error.__traceback__)


def _write(painter: QPainter, target: QWidget, reason: str) -> None:
    painter.setFont(ui_font(11))
    painter.setPen(appearance().theme.color("warning"))
    flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
    painter.drawText(
        target.rect().adjusted(8, 0, -8, 0),
        flags,
        tr("cannot be drawn: {reason}", "timeline", reason=reason),
    )
