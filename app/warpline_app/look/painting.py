"""Painting whose errors stay in one widget: Qt does not survive a painter that is still open when a picture is done."""

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

_told: WeakKeyDictionary[QWidget, str] = WeakKeyDictionary()
"""What each widget that cannot be painted said last."""


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """A painter that is closed whatever happens."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()


@contextmanager
def saved(painter: QPainter) -> Iterator[None]:
    """What is changed of a painter inside is as before afterwards, whatever happens."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()


def contained(paint: Callable[[W, QPainter, QPaintEvent], None]) -> Callable[[W, QPaintEvent], None]:
    """A ``paintEvent`` from a function that paints.

    When it raises, what it painted so far stays, the reason is written over it, and the error is told to
    `sys.excepthook`: once, not with every frame.
    """

    @functools.wraps(paint)
    def paint_event(widget: W, event: QPaintEvent) -> None:
        target = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
        try:
            with painting(target) as painter:
                paint(widget, painter, event)
        except Exception as error:  # none may leave a virtual function of Qt
            tell_once(widget, error)
            with painting(target) as painter:
                _write(painter, target, str(error) or type(error).__name__)
        else:
            _told.pop(widget, None)

    return paint_event


def tell_once(widget: QWidget, error: Exception) -> None:
    """Tell `sys.excepthook` why a widget cannot be painted, unless that is what it was told last about this widget."""
    text = repr(error)
    if _told.get(widget) != text:
        _told[widget] = text
        sys.excepthook(type(error), error, error.__traceback__)


def _write(painter: QPainter, target: QWidget, reason: str) -> None:
    painter.setFont(ui_font(11))
    painter.setPen(appearance().theme.color("warning"))
    flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
    painter.drawText(
        target.rect().adjusted(8, 0, -8, 0), flags, tr("cannot be drawn: {reason}", "timeline", reason=reason)
    )
