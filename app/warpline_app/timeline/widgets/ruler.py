"""The ruler: ticks, their base, marks, the length of the selected range."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QEvent, QLine, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from warpline.i18n import tr, tr_n
from warpline.model import format_duration
from warpline.model.notes import Note
from warpline_app.look.painting import contained
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, note_color, ui_font
from warpline_app.look.widgets import shows_tooltip
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.widgets.overlay import Overlay, mark_flag

HEIGHT = 28
MARK_REACH = 6
TEXT_PX = 220
LEAST_TEXT_PX = 24
"""The widest text of a note."""
_BEFORE_PX = -5.0
"""Where the flag of a range that began before the view is out of sight, and its text at the edge."""
HINT_PX = 10
ORIGIN_PX = 6
EDGE_PX = 90
"""Tick texts that start farther from the right edge are known to fit."""


class Ruler(QWidget):
    """Ticks above the canvas. Drag to select a range, double-click to add a mark, drag a mark to move it."""

    menu_wanted = Signal(QPoint, object)
    """global position and time in ns"""
    link_wanted = Signal(int)
    """row of an event outside the view, whose amber arrow was clicked"""
    mark_wanted = Signal(object)
    """time in ns of a mark to add or name"""

    def __init__(self, scene: Scene, overlay: Overlay, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = scene
        self.theme = theme
        self.event_count: int | None = None
        self._overlay = overlay
        self._from_ns: int | None = None
        self._grabbed: Note | None = None
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Ruler", "timeline"))
        state = scene.state
        for signal in (
            state.view_changed,
            state.range_selection_changed,
            state.notes_changed,
            state.origin_changed,
            state.cursor_changed,
            state.selection_changed,
            scene.resized,
        ):
            signal.connect(self._changed)

    def _changed(self, *_: object) -> None:
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.update()

    def set_event_count(self, count: int | None) -> None:
        """Set the number of visible events in the selected range."""
        if count != self.event_count:
            self.event_count = count
            self.update()

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Paint ticks, notes, and the pill with the range's length."""
        theme, scene = self.theme, self.scene
        painter.fillRect(self.rect(), theme.color("header"))
        scale = scene.scale
        selected = scene.state.range_selection
        if selected is not None:
            left, right = scale.to_px(selected[0]), scale.to_px(selected[1])
            left, right = max(left, -2.0), min(right, self.width() + 2.0)
            if right > left:
                painter.fillRect(QRectF(left, 0, right - left, self.height()), theme.color("selection", 34))
        painter.setFont(ui_font(11))
        ticks = scene.ticks()
        bottom = self.height()
        xs = scale.to_px_array(ticks.times)
        minor = xs[1] - xs[0] if len(xs) > 1 else 0.0
        painter.setPen(theme.color("muted", 110))
        if minor > 40:
            _draw_ticks(
                painter, np.add.outer(xs, np.arange(1, 5) * (minor / 5)).ravel(), bottom - 3, bottom - 1
            )
        painter.setPen(theme.color("muted"))
        _draw_ticks(painter, xs, bottom - 7, bottom - 1)
        baseline = 2 + (bottom - 8 + painter.fontMetrics().ascent() - painter.fontMetrics().descent()) // 2
        for x, text in self._tick_texts(xs, painter.fontMetrics()):
            painter.drawText(QPoint(x, baseline), text)
        self._paint_origin(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._paint_notes(painter)
        self._paint_link_hints(painter)
        if selected is not None:
            self._paint_pill(painter, scale.to_px(selected[0]), scale.to_px(selected[1]), selected)
        cursor = scene.state.cursor_ns
        if cursor is not None:
            x = round(scale.to_px(cursor))
            painter.fillRect(QRectF(x, bottom - 9, 1, 9), theme.color("text"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(QRectF(0, bottom - 1, self.width(), 1), theme.color("hairline"))

    def _paint_origin(self, painter: QPainter) -> None:
        """Mark the time origin when it was moved, so that its times are not mistaken for others."""
        state = self.scene.state
        x = round(self.scene.scale.to_px(state.origin_ns))
        if state.is_origin_moved and -ORIGIN_PX <= x <= self.width() + ORIGIN_PX:
            painter.fillRect(QRectF(x, 0, 1, self.height()), self.theme.color("selection"))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.color("selection"))
            corners = [
                QPointF(x + 0.5 - ORIGIN_PX, 0),
                QPointF(x + 0.5 + ORIGIN_PX, 0),
                QPointF(x + 0.5, ORIGIN_PX),
            ]
            painter.drawPolygon(QPolygonF(corners))

    def _tick_texts(self, xs: npt.NDArray[np.float64], metrics: QFontMetrics) -> list[tuple[int, str]]:
        """Tick texts with their positions; those that the text of a mark would cover are left out."""
        taken = [
            box
            for x, note, room in self._notes_seen()
            if (box := self._text_box(x, _first_line(note, room, metrics), metrics)) is not None
        ]
        texts = self.scene.ticks().texts
        return [
            (x, text)
            for x, text in whole_texts(xs.tolist(), texts, metrics, self.width())
            if not any(box.left() < x + metrics.horizontalAdvance(text) and x < box.right() for box in taken)
        ]

    def _notes_seen(self) -> list[tuple[float, Note, float]]:
        """Notes that may be in view, with their positions and the room for their texts before the next note."""
        placed = [(self._note_x(time_ns, note), note) for time_ns, note in self.scene.state.timed_notes]
        ends = [*(x for x, _ in placed), float("inf")][1:]
        return [
            (x, note, min(TEXT_PX, end - x - 18))
            for (x, note), end in zip(placed, ends, strict=True)
            if -TEXT_PX < x < self.width() + 10
        ]

    def _note_x(self, time_ns: int, note: Note) -> float:
        """Where a note begins; the left edge if its range began before the view and reaches into it."""
        scale = self.scene.scale
        x = scale.to_px(time_ns)
        is_in_view = note.stop_ns is not None and not note.row and scale.to_px(note.stop_ns) > 0
        return max(x, _BEFORE_PX) if is_in_view else x

    def _text_box(self, x: float, text: str, metrics: QFontMetrics) -> QRectF | None:
        """The box of a note's text; as high as tick texts, which make room for it."""
        if not text:
            return None
        return QRectF(x + 6, 2, metrics.horizontalAdvance(text) + 6, self.height() - 5)

    def _paint_notes(self, painter: QPainter) -> None:
        painter.setFont(ui_font(11))
        metrics = painter.fontMetrics()
        for x, note, room in self._notes_seen():
            color = note_color(self.theme, note.color)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawPolygon(mark_flag(round(x) + 0.5, self.height() - 1))
            if note.stop_ns is not None and not note.row:
                right = min(self.scene.scale.to_px(note.stop_ns), float(self.width()))
                painter.fillRect(QRectF(x, self.height() - 4, max(right - x, 1.0), 3), color)
            text = _first_line(note, room, metrics)
            box = self._text_box(x, text, metrics)
            if box is not None:
                painter.fillRect(box, self.theme.color("header"))
                painter.setPen(self.theme.color("text"))
                painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_link_hints(self, painter: QPainter) -> None:
        """Paint an amber arrow at a side where an end of the selection's links lies outside the view."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.color("link"))
        y = self.height() / 2
        for side, sign in (("◂", 1), ("▸", -1)):
            if any(tab.text.startswith(side) for tab in self._overlay.tabs):
                tip = QPointF(2.0 if sign > 0 else self.width() - 2.0, y)
                painter.drawPolygon(QPolygonF([tip, tip + QPointF(7 * sign, -5), tip + QPointF(7 * sign, 5)]))

    def _paint_pill(self, painter: QPainter, left: float, right: float, selected: tuple[int, int]) -> None:
        text = format_duration(selected[1] - selected[0])
        if self.event_count is not None:
            text += "  ·  " + tr_n("{count:,} event", "{count:,} events", self.event_count)
        painter.setFont(ui_font(11, bold=True))
        width = painter.fontMetrics().horizontalAdvance(text) + 22
        center = (max(left, 0.0) + min(right, float(self.width()))) / 2
        x = min(max(center - width / 2, 2.0), self.width() - width - 2)
        pill = QRectF(x, 4, width, 18)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.color("selection"))
        painter.drawRoundedRect(pill, 9, 9)
        painter.setPen(QColor(self.theme.ink_dark if self.theme.is_dark else self.theme.ink_light))
        painter.drawText(pill, int(Qt.AlignmentFlag.AlignCenter), text)

    # mouse

    def _note_at(self, x: float) -> Note | None:
        scale = self.scene.scale
        near = [(abs(scale.to_px(time_ns) - x), note) for time_ns, note in self.scene.state.timed_notes]
        near = [entry for entry in near if entry[0] <= MARK_REACH]
        return min(near, key=lambda entry: entry[0])[1] if near else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a range, or grab a mark."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        x = event.position().x()
        side = "◂" if x <= HINT_PX else "▸" if x >= self.width() - HINT_PX else ""
        hint = next((tab for tab in self._overlay.tabs if side and tab.text.startswith(side)), None)
        if hint is not None:
            self.link_wanted.emit(hint.event)
            return
        note = self._note_at(event.position().x())
        # A note on an event or a range stays with it.
        self._grabbed = note if note is not None and note.is_mark else None
        self._from_ns = None if note is not None else self.scene.scale.to_ns(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Extend the range, or move the mark."""
        state = self.scene.state
        time_ns = min(max(self.scene.scale.to_ns(event.position().x()), state.span[0]), state.span[1])
        state.set_cursor(time_ns)
        if self._grabbed is not None:
            state.put_note(replace(self._grabbed, start_ns=time_ns, changed_ns=time.time_ns()), "note")
        elif self._from_ns is not None:
            state.select_range(self._from_ns, time_ns)
        else:
            note = self._note_at(event.position().x())
            over = note is not None and note.is_mark
            self.setCursor(Qt.CursorShape.SizeHorCursor if over else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the drag."""
        self.scene.state.end_gesture()
        self._grabbed = None
        self._from_ns = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Add a mark, or name one."""
        self._from_ns = None
        self.mark_wanted.emit(self._time_at(event.position().x()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer."""
        self.scene.zoom(1.25 ** (-event.angleDelta().y() / 120), event.position().x(), "wheel")
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask the view for a menu."""
        self.menu_wanted.emit(event.globalPos(), self._time_at(event.pos().x()))

    def _time_at(self, x: float) -> int:
        """The time of the note at a position, else of the position."""
        note = self._note_at(x)
        return self.scene.scale.to_ns(x) if note is None or note.start_ns is None else note.start_ns

    def event(self, event: QEvent) -> bool:
        """Show the whole text of a note as a tooltip."""
        note = self._note_at(event.pos().x()) if isinstance(event, QHelpEvent) else None
        return shows_tooltip(self, event, lambda _at: "" if note is None else note.text) or super().event(
            event
        )


def _first_line(note: Note, room: float, metrics: QFontMetrics) -> str:
    """The beginning of a note's text that fits in ``room`` pixels; empty where hardly anything would."""
    text = note.text.split("\n", 1)[0]
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(room)) if room >= LEAST_TEXT_PX else ""


def whole_texts(
    xs: Sequence[float], texts: Sequence[str], metrics: QFontMetrics, width_px: int
) -> list[tuple[int, str]]:
    """Tick texts with their positions; one that the right edge would cut is left out."""
    positioned = [(round(x) + 5, text) for x, text in zip(xs, texts, strict=True)]
    return [
        (x, text)
        for x, text in positioned
        if x + EDGE_PX <= width_px or x + metrics.horizontalAdvance(text) <= width_px
    ]


def _draw_ticks(painter: QPainter, xs: npt.NDArray[np.float64], top: int, bottom: int) -> None:
    """Draw vertical lines in one call, from an array with the layout of `QLine`."""
    if not len(xs):
        return
    lines = np.empty((len(xs), 4), np.int32)
    lines[:, 0] = lines[:, 2] = np.round(xs)
    lines[:, 1], lines[:, 3] = top, bottom
    painter.drawLines(shiboken6.wrapInstance(lines.ctypes.data, QLine), len(lines))


class Corner(QWidget):
    """The corner left of overview and ruler: a heading, and the base of the ticks."""

    def __init__(
        self, scene: Scene, theme: Theme, overview_height: int, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.scene = scene
        self.theme = theme
        self._overview_height = overview_height
        self._painted = ""
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        for signal in (scene.state.view_changed, scene.resized):
            signal.connect(self._changed)
        scene.state.origin_changed.connect(self._origin_changed)

    def _origin_changed(self, _origin_ns: object) -> None:
        self.setToolTip(plain(self.origin_text))
        self.update()

    def _changed(self, *_: object) -> None:
        # Most pans keep the base.
        if self.base_text != self._painted:
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self.update()

    @property
    def origin_text(self) -> str:
        """Where the time origin is, unless it is the start of the capture; else empty."""
        state = self.scene.state
        if not state.is_origin_moved:
            return ""
        if state.origin_ns == state.whole_ns:
            return tr("times as in the whole capture", "timeline")
        far = state.origin_ns - state.home_ns
        return tr("origin at {time}", "timeline", time=f"{'-' if far < 0 else ''}{format_duration(abs(far))}")

    def _paint_origin(self, painter: QPainter, box: QRectF) -> None:
        text = self.origin_text
        if text:
            room = int(box.width()) - painter.fontMetrics().horizontalAdvance(f"{self._painted}  ")
            painter.setFont(ui_font(11))
            painter.setPen(self.theme.color("selection"))
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), shown)

    @property
    def base_text(self) -> str:
        """The base as displayed."""
        base = self.scene.ticks().base
        return f"{base} +" if base else ""

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Paint both texts."""
        painter.fillRect(self.rect(), self.theme.color("header"))
        painter.setFont(ui_font(11))
        painter.setPen(self.theme.color("muted"))
        top = QRectF(10, 0, self.width() - 20, self._overview_height)
        painter.drawText(top, int(Qt.AlignmentFlag.AlignVCenter), tr("Overview", "timeline"))
        painter.setPen(self.theme.color("text"))
        painter.setFont(ui_font(12))
        below = QRectF(10, self._overview_height, self.width() - 20, self.height() - self._overview_height)
        self._painted = self.base_text
        painter.drawText(below, int(Qt.AlignmentFlag.AlignVCenter), self._painted)
        self._paint_origin(painter, below)
        painter.fillRect(QRectF(self.width() - 1, 0, 1, self.height()), self.theme.color("hairline"))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), self.theme.color("hairline"))
