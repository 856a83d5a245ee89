"""The overview strip: the whole capture, the visible window, ticks of search results."""

from __future__ import annotations

from enum import Enum, auto

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from warpline.i18n import tr
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, mix, note_color, to_rgb
from warpline_app.timeline.draw.compositor import Frame
from warpline_app.timeline.draw.shapes import paint_frame
from warpline_app.timeline.model.curves import RowCurve
from warpline_app.timeline.model.row import TimelineRow
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.model.time_model import TimeScale

HEIGHT = 34
_REACH = 5


class _Drag(Enum):
    NONE = auto()
    MOVE = auto()
    LEFT = auto()
    RIGHT = auto()
    NEW = auto()


def overview_row(rows: list[TimelineRow]) -> TimelineRow | None:
    """The most informative row: the GPU's streams, else the cores, else the first process."""
    for role in ("gpu", "cores", "process"):
        matches = [row for row in rows if row.role == role and row.lanes]
        if matches:
            lanes = tuple(lane for row in matches for lane in row.lanes)
            return TimelineRow(
                key="#overview",
                title="",
                content=matches[0].content,
                role=matches[0].role,
                family=matches[0].family,
                lanes=lanes,
            )
    everything = tuple(lane for row in rows for lane in row.lanes[:1])
    return (
        TimelineRow(
            key="#overview",
            title="",
            content=rows[0].content,
            role="gpu",
            family=rows[0].family,
            lanes=everything,
        )
        if everything
        else None
    )


def side_by_side(columns: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Group ascending columns into adjacent runs [first, stop)."""
    heads = np.flatnonzero(np.diff(columns, prepend=-2) > 1)
    tails = np.append(heads, len(columns))[1:] - 1
    return list(zip(columns[heads].tolist(), (columns[tails] + 1).tolist(), strict=True))


class Overview(QWidget):
    """The whole capture. Drag the window to move it, its edges to resize it, elsewhere to select a new one."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = scene
        self.theme = theme
        self.row = overview_row(scene.tree.root.children) if scene.tree.root.children else None
        self._curve: RowCurve | None = None
        self.is_outdated = True
        """Whether the curve is still to be computed for the row"""
        self._picture: Frame | None = None
        self._pictured = (0, 0)
        """the time span of the cached picture"""
        self._ticks_ns: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._columns: tuple[int, npt.NDArray[np.int64]] | None = None
        self._drag = _Drag.NONE
        self._from = 0.0
        self._view_from = (0, 1)
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Overview", "timeline"))
        for signal in (
            scene.state.view_changed,
            scene.state.range_selection_changed,
            scene.state.notes_changed,
            scene.resized,
        ):
            signal.connect(self._changed)

    def _changed(self, *_: object) -> None:
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        self._picture = None
        self.update()

    def adopt(self) -> None:
        """Show the scene's new capture; the old curve stays until the new one is computed."""
        rows = self.scene.tree.root.children
        self.row = overview_row(rows) if rows else None
        self.is_outdated = True
        self.update()

    def set_curve(self, curve: RowCurve) -> None:
        """Set the utilization of the whole capture."""
        self._curve = curve
        self.is_outdated = False
        self._picture = None
        self.update()

    @property
    def curve(self) -> RowCurve | None:
        """The utilization drawn, or None."""
        return self._curve

    def set_ticks(self, times_ns: npt.NDArray[np.int64]) -> None:
        """Set the times of search result ticks."""
        self._ticks_ns = times_ns
        self._columns = None
        self.update()

    @property
    def tick_columns(self) -> npt.NDArray[np.int64]:
        """Columns with a tick."""
        if not len(self._ticks_ns):
            return np.empty(0, np.int64)
        if self._columns is None or self._columns[0] != self.width():
            # Search for column borders, not for hits: there may be millions, in time order.
            scale = self._scale()
            borders = np.array([scale.to_ns(x) for x in range(self.width() + 1)], np.int64)
            borders[-1] += 1
            filled = np.flatnonzero(np.diff(np.searchsorted(self._ticks_ns, borders, "left")) > 0)
            self._columns = (self.width(), filled)
        return self._columns[1]

    def _scale(self) -> TimeScale:
        return TimeScale(*self.scene.state.span, max(1, self.width()))

    def _frame(self) -> Frame:
        ratio = self.scene.ratio_of(self)
        width, height = round(self.width() * ratio), round(self.height() * ratio)
        known = self._picture
        if (
            known is None
            or (known.width, known.height) != (width, height)
            or self._pictured != self.scene.state.span
        ):
            self._pictured = self.scene.state.span
            frame = Frame(width, height, ratio)
            background = self.theme.rgb("canvas")
            frame.fill(0, height, background)
            if self._curve is not None and self.row is not None:
                values = self._curve.sample(TimeScale(*self.scene.state.span, width))
                values = np.r_[values[:1], values]
                limit = len(self.row.lanes) if self.row.role == "cores" else 1.0
                if self.row.role == "process":
                    limit = max(1.0, float(np.nanmax(values, initial=1.0)))
                ink = to_rgb(self.theme.family(self.row.family))
                air = round(3 * ratio)
                frame.area(
                    values / limit,
                    air,
                    height - air - round(ratio),
                    mix(background, ink, 0.7),
                    ink,
                    0,
                    step=max(1, int(ratio)),
                )
            frame.image.setDevicePixelRatio(ratio)
            self._picture = known = frame
        return known

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """Paint the curve, the window, ticks and marks."""
        paint_frame(painter, self._frame())
        scale, state, theme = self._scale(), self.scene.state, self.theme
        if state.range_selection is not None:
            left, right = (scale.to_px(edge) for edge in state.range_selection)
            painter.fillRect(
                QRectF(left, 0, max(1.5, right - left), self.height()), theme.color("selection", 60)
            )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("text"))
        top = self.height() - 8
        painter.drawRects(
            [QRect(first, top, stop - first, 7) for first, stop in side_by_side(self.tick_columns)]
        )
        for time_ns, note in state.timed_notes:
            painter.fillRect(
                QRectF(round(scale.to_px(time_ns)), 0, 1, self.height()), note_color(theme, note.color)
            )
        if state.view != state.span:
            left, right = self._window()
            shade = theme.color("canvas", 120)
            painter.fillRect(QRectF(0, 0, left, self.height()), shade)
            painter.fillRect(QRectF(right, 0, self.width() - right, self.height()), shade)
            painter.fillRect(QRectF(left, 0, right - left, self.height()), theme.color("selection", 28))
            for x in (left, right - 1.5):
                painter.fillRect(QRectF(x, 0, 1.5, self.height()), theme.color("selection"))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), theme.color("hairline"))

    def _window(self) -> tuple[float, float]:
        scale = self._scale()
        left, right = (scale.to_px(edge) for edge in self.scene.state.view)
        if right - left < 3:
            middle = min(max((left + right) / 2, 1.5), self.width() - 1.5)
            return middle - 1.5, middle + 1.5
        return left, right

    # mouse

    def _what(self, x: float) -> _Drag:
        left, right = self._window()
        if self.scene.state.view == self.scene.state.span:
            return _Drag.NEW
        if right - left > 12:
            if abs(x - left) <= _REACH:
                return _Drag.LEFT
            if abs(x - right) <= _REACH:
                return _Drag.RIGHT
        return _Drag.MOVE if left - _REACH <= x <= right + _REACH else _Drag.NEW

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grab the window or one of its edges."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._from = event.position().x()
            self._drag = self._what(self._from)
            self._view_from = self.scene.state.view

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move or resize the window."""
        x = event.position().x()
        scale, state = self._scale(), self.scene.state
        start, stop = self._view_from
        if self._drag is _Drag.NONE:
            shape = {
                _Drag.LEFT: Qt.CursorShape.SplitHCursor,
                _Drag.RIGHT: Qt.CursorShape.SplitHCursor,
                _Drag.MOVE: Qt.CursorShape.OpenHandCursor,
            }.get(self._what(x), Qt.CursorShape.CrossCursor)
            self.setCursor(shape)
            return
        if self._drag is _Drag.MOVE:
            by = round((x - self._from) * scale.ns_per_px)
            state.set_view(start + by, stop + by, gesture="overview")
        elif self._drag is _Drag.LEFT:
            state.set_view(min(scale.to_ns(x), stop - 1), stop, gesture="overview")
        elif self._drag is _Drag.RIGHT:
            state.set_view(start, max(scale.to_ns(x), start + 1), gesture="overview")
        elif abs(x - self._from) > 3:
            low, high = sorted((scale.to_ns(self._from), scale.to_ns(x)))
            state.set_view(low, max(high, low + 1), gesture="overview")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click outside the window centres it there."""
        if self._drag is _Drag.NEW and abs(event.position().x() - self._from) <= 3:
            self.scene.center_on(self._scale().to_ns(event.position().x()))
        self._drag = _Drag.NONE
        self.scene.state.end_gesture()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around the middle of the view."""
        self.scene.zoom(1.25 ** (-event.angleDelta().y() / 120), None, "wheel")
        event.accept()
