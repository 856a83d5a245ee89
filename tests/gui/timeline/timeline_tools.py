"""Helpers for timeline tests: find a point, move, drag, scroll, read pixels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QImage,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from warpline_app.dialogs.note import NoteDialog
from warpline_app.look.theme import Theme
from warpline_app.timeline.widgets.view import TimelineView

MAIN = "process/71.1/thread/71.1"
STREAM = "gpu/0/process/71.1/context/1/stream/7"
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
NONE, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
MakeView = Callable[..., TimelineView]


def wait_idle(qtbot: QtBot, view: TimelineView) -> None:
    qtbot.waitUntil(lambda: view.is_idle, timeout=60_000)


def at(view: TimelineView, uri: str, time_ns: int, depth: int = 0) -> QPoint:
    """The point of the canvas where a lane is at a moment."""
    capture = view.document.capture
    lane = capture.track_lanes(capture.track(uri).index)[depth]
    placed, line = view.scene.layout.lane_place[lane]
    y = view.scene.top_of(placed) + line.top + line.height // 2
    return QPoint(round(view.scene.scale.to_px(time_ns)), y)


def write_note(qtbot: QtBot, view: TimelineView, text: str) -> None:
    """Types a note into the dialog that is open, and saves it with the keyboard."""
    qtbot.waitUntil(
        lambda: any(dialog.isVisible() for dialog in view.findChildren(NoteDialog)), timeout=60_000
    )
    (dialog,) = [dialog for dialog in view.findChildren(NoteDialog) if dialog.isVisible()]
    qtbot.keyClicks(dialog.text, text)
    qtbot.keyClick(dialog.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def event_of(view: TimelineView, uri: str, time_ns: int, depth: int = 0) -> int:
    capture = view.document.capture
    found = capture.event_at(capture.track_lanes(capture.track(uri).index)[depth], time_ns)
    assert found is not None
    return int(found)


def move(
    view: TimelineView,
    point: QPoint,
    target: QWidget | None = None,
    buttons: Qt.MouseButton = Qt.MouseButton.NoButton,
) -> None:
    from PySide6.QtGui import QMouseEvent

    target = target or view.canvas
    where = QPointF(point)
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        where,
        QPointF(target.mapToGlobal(point)),
        Qt.MouseButton.NoButton,
        buttons,
        NONE,
    )
    QApplication.sendEvent(target, event)


def drag(
    qtbot: QtBot,
    view: TimelineView,
    start: QPoint,
    stop: QPoint,
    *,
    modifier: Qt.KeyboardModifier = NONE,
    button: Qt.MouseButton = LEFT,
    target: QWidget | None = None,
) -> None:
    target = target or view.canvas
    qtbot.mousePress(target, button, modifier, start)
    for part in (0.3, 0.7, 1.0):
        point = QPoint(
            round(start.x() + (stop.x() - start.x()) * part), round(start.y() + (stop.y() - start.y()) * part)
        )
        move(view, point, target, button)
    qtbot.mouseRelease(target, button, modifier, stop)


def wheel(
    view: TimelineView,
    point: QPoint,
    notches: float = 0,
    modifier: Qt.KeyboardModifier = NONE,
    pixels: QPoint | None = None,
    target: QWidget | None = None,
) -> None:
    target = target or view.canvas
    event = QWheelEvent(
        QPointF(point),
        QPointF(target.mapToGlobal(point)),
        pixels or QPoint(),
        QPoint(0, round(notches * 120)),
        Qt.MouseButton.NoButton,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(target, event)


def pixels(widget: QWidget) -> np.ndarray:
    """What is painted, 0xffrrggbb, one value per logical pixel (the middle one of its device pixels)."""
    grabbed = widget.grab()
    image = grabbed.toImage().convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    step = round(grabbed.devicePixelRatio())
    return flat[step // 2 :: step, step // 2 : image.width() : step].copy()


def rgb(theme: Theme, token: str) -> int:
    return theme.rgb(token)
