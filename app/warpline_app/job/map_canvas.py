"""The heat map of a job: one row per rank, one column per step, painted from one image."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.i18n import tr
from warpline_app.job.color_scale import color_table
from warpline_app.job.map_axes import TEXT_PX, draw_rows, draw_steps, gutter_px
from warpline_app.job.map_geometry import Axis
from warpline_app.job.map_image import (
    Float32Array,
    cells_in_view,
    colored,
    ordered_cells,
    values_image,
    with_outliers_marked,
)
from warpline_app.job.map_marks import cell_rect, draw_absences, draw_marks, draw_values
from warpline_app.job.value_range import ValueRange, value_range
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font
from warpline_app.open.job.board import Cell, JobBoard

AXIS_PX = 24
MOST_ROW_PX, MOST_STEP_PX = 30.0, 180.0
_EDGE_PX = 10
_SEEN_PX, _MOST_MARKED = 1.5, 200
"""Up to this many outliers are enlarged when cells are smaller than this."""


class JobMapCanvas(QWidget):
    """Paints a `JobBoard` and tracks the cells in view; `MapInput` handles input."""

    view_changed = Signal()
    """Different rows or steps are in view."""

    def __init__(self, board: JobBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.board = board
        self.setAccessibleName(tr("Map of ranks and steps"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(240, 96)
        rows, steps = board.map.shape
        self._gutter_px = gutter_px(board)
        self.rows = Axis.whole(rows, 100.0, MOST_ROW_PX)
        self.steps = Axis.whole(steps, 100.0, MOST_STEP_PX)
        self.range: ValueRange | None = None
        self._theme: Theme | None = None
        self._cells: Float32Array | None = None
        self._image: tuple[Any, QImage] | None = None
        self._ratio = 1.0
        for signal in (board.column_changed, board.order_changed, board.range_changed):
            signal.connect(self._contents_changed)
        for signal in (board.current_changed, board.hover_changed, board.chosen_changed):
            signal.connect(self._repaint)
        board.current_changed.connect(self._reveal)
        appearance().theme_changed.connect(self._repaint)
        self._measure_range()

    @property
    def theme(self) -> Theme:
        """The window's theme, or that of a picture being made."""
        return self._theme or appearance().theme

    def set_theme(self, theme: Theme | None) -> None:
        """Paint in this theme instead of the window's; None restores the window's."""
        self._theme = theme
        self.update()

    @property
    def area(self) -> QRectF:
        """The rectangle of the cells."""
        return QRectF(
            self._gutter_px,
            AXIS_PX,
            max(self.width() - self._gutter_px - _EDGE_PX, 1),
            max(self.height() - AXIS_PX - 4, 1),
        )

    def set_view(self, rows: Axis | None = None, steps: Axis | None = None) -> None:
        """Show these rows, these steps, or both."""
        rows, steps = rows or self.rows, steps or self.steps
        if (rows, steps) != (self.rows, self.steps):
            self.rows, self.steps = rows, steps
            self.view_changed.emit()
            self.update()

    def fit(self) -> None:
        """Show all."""
        rows, steps = self.board.map.shape
        area = self.area
        self.set_view(
            Axis.whole(rows, area.height(), MOST_ROW_PX), Axis.whole(steps, area.width(), MOST_STEP_PX)
        )

    def frame_chosen(self) -> None:
        """Show the selection; everything if nothing is selected or the selection is already in view."""
        chosen = self.board.chosen
        if not chosen.rows:
            self.fit()
            return
        places = sorted(map(self.board.place_of, chosen.rows))
        rows = self.rows.between(places[0], places[-1])
        steps = self.steps.between(chosen.first, chosen.last)
        if (rows, steps) == (self.rows, self.steps):
            self.fit()
        else:
            self.set_view(rows, steps)

    def cell_at(self, point: QPointF) -> Cell | None:
        """The cell at a point of the widget; None beside the cells."""
        area = self.area
        place = self.rows.cell_at(point.y() - area.top())
        step = self.steps.cell_at(point.x() - area.left())
        return None if place is None or step is None else (int(self.board.order[place]), step)

    def nearest_cell(self, point: QPointF) -> Cell | None:
        """The cell at a point, or the nearest one; None if there are no cells."""
        area = self.area
        (top, bottom), (left, right) = cells_in_view(self.rows), cells_in_view(self.steps)
        if top >= bottom or left >= right:
            return None
        place = int(self.rows.start + (point.y() - area.top()) / self.rows.cell_px)
        step = int(self.steps.start + (point.x() - area.left()) / self.steps.cell_px)
        return int(self.board.order[min(max(place, top), bottom - 1)]), min(max(step, left), right - 1)

    def rect_of(self, cell: Cell) -> QRectF:
        """The cell's rectangle on the widget."""
        return cell_rect(self.board, cell, self.rows, self.steps, self.area)

    def _reveal(self, cell: Cell | None) -> None:
        if cell is not None:
            self.set_view(self.rows.showing(self.board.place_of(cell[0])), self.steps.showing(cell[1]))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the same cells in view."""
        super().resizeEvent(event)
        area = self.area
        self.set_view(self.rows.resized(area.height()), self.steps.resized(area.width()))

    def sizeHint(self) -> QSize:
        return QSize(800, int(min(max(len(self.board.map.ranks), 3) * MOST_ROW_PX, 420)) + AXIS_PX + 8)

    def _repaint(self, _value: object) -> None:
        self.update()

    def _contents_changed(self, _value: object) -> None:
        self._cells = None
        self._gutter_px = gutter_px(self.board)
        self._measure_range()
        self.rows = self.rows.resized(self.area.height())
        self.steps = self.steps.resized(self.area.width())
        self.view_changed.emit()
        self.update()

    def _measure_range(self) -> None:
        self._image = None
        name = self.board.column
        cells = self.board.map.cells(name) if name else None
        self.range = None if cells is None else value_range(cells, is_full=self.board.is_full_range)

    def _shown_cells(self) -> Float32Array:
        if self._cells is None:
            self._cells = ordered_cells(self.board.map.cells(self.board.column), self.board.order)
        return self._cells

    def forget_image(self) -> None:
        """Redraw the image of the cells at the next frame."""
        self._image = None

    def image(self, ratio: float) -> QImage | None:
        """The cells in view as an image, ``ratio`` screen pixels per widget pixel; None without cells."""
        if self.range is None:
            return None
        self._ratio = ratio
        area, theme = self.area, self.theme
        across = max(round(area.width() * ratio), 1)
        down = max(round(area.height() * ratio), 1)
        key = (self.rows, self.steps, across, down, theme.name, id(self._shown_cells()))
        if self._image is None or self._image[0] != key:
            values, is_tall, is_wide = values_image(
                self._shown_cells(), self.rows, self.steps, (across, down)
            )
            if (is_tall and is_wide) or min(self.rows.cell_px, self.steps.cell_px) < _SEEN_PX:
                values = with_outliers_marked(values, self.range.high, _MOST_MARKED)
            pixels = colored(values, self.range, color_table(theme))
            height, width = pixels.shape
            # Copied: QImage does not keep numpy's memory alive.
            image = QImage(pixels.tobytes(), width, height, 4 * width, QImage.Format.Format_RGB32).copy()
            self._image = (key, image)
        return self._image[1]

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        painter.fillRect(event.rect(), self.theme.color("canvas"))
        self.draw(painter, self.devicePixelRatioF())

    def draw(self, painter: QPainter, ratio: float) -> None:
        """Draw on any device with ``ratio`` pixels per widget pixel."""
        board, area, theme = self.board, self.area, self.theme
        image = self.image(ratio)
        painter.save()
        painter.setClipRect(area.adjusted(-1, -1, 1, 1))
        if image is not None and self.range is not None:
            painter.drawImage(self._target(), image)
            self._draw_grid(painter, theme)
            draw_values(painter, board, (self.rows, self.steps), area, self.range, color_table(theme), theme)
        draw_absences(painter, board, self.rows, self.steps, area, theme)
        draw_marks(painter, board, self.rows, self.steps, area, theme)
        painter.restore()
        if image is None:
            return
        painter.setFont(ui_font(TEXT_PX))
        painter.setPen(theme.color("muted"))
        corner = QRectF(4, 0, self._gutter_px - 10, AXIS_PX - 4)
        painter.drawText(corner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, tr("step"))
        draw_rows(painter, board, self.rows, QRectF(0, area.top(), self._gutter_px, area.height()), theme)
        draw_steps(painter, board, self.steps, QRectF(area.left(), 0, area.width(), AXIS_PX), theme)

    def _target(self) -> QRectF:
        """Target rectangle of the image: whole pixels where cells share pixels, else the cells' place."""
        area = self.area
        left, width = area.left(), area.width()
        top, height = area.top(), area.height()
        if self.steps.stop - self.steps.start <= self._pixels(width):
            first, last = cells_in_view(self.steps)
            left, width = left + self.steps.place_of(first), (last - first) * self.steps.cell_px
        if self.rows.stop - self.rows.start <= self._pixels(height):
            first, last = cells_in_view(self.rows)
            top, height = top + self.rows.place_of(first), (last - first) * self.rows.cell_px
        return QRectF(left, top, width, height)

    def _pixels(self, length: float) -> int:
        return max(round(length * self._ratio), 1)

    def _draw_grid(self, painter: QPainter, theme: Theme) -> None:
        """Draw lines between cells that are large enough."""
        area = self.area
        target = self._target()
        painter.setPen(theme.color("canvas"))
        if self.rows.cell_px >= 8:
            for place in range(*cells_in_view(self.rows)):
                y = area.top() + self.rows.place_of(place + 1)
                painter.drawLine(QPointF(target.left(), y), QPointF(target.right(), y))
        if self.steps.cell_px >= 8:
            for step in range(*cells_in_view(self.steps)):
                x = area.left() + self.steps.place_of(step + 1)
                painter.drawLine(QPointF(x, target.top()), QPointF(x, target.bottom()))

    def leaveEvent(self, event: QEvent) -> None:
        self.board.set_hover(None)
        super().leaveEvent(event)
