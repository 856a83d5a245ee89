"""Overlays on the map's cells: selection, current cell, pointer, and values in cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen

from warpline_app.job.cell_text import absence, value_text
from warpline_app.job.color_scale import ColorTable
from warpline_app.job.map_geometry import Axis
from warpline_app.job.map_image import cells_in_view
from warpline_app.job.value_range import ValueRange
from warpline_app.look.theme import Theme, contrast_ratio, to_rgb, ui_font
from warpline_app.open.job.board import Cell, JobBoard

_TEXT_PX = 11
_LEAST_TEXT_PX = (62.0, 15.0)
_LEAST_ROW_PX = 12.0
_LEAST_MARK_PX = 5.0


def cell_rect(board: JobBoard, cell: Cell, rows: Axis, steps: Axis, area: QRectF) -> QRectF:
    """The cell's rectangle on the screen."""
    return QRectF(
        area.left() + steps.place_of(cell[1]),
        area.top() + rows.place_of(board.place_of(cell[0])),
        steps.cell_px,
        rows.cell_px,
    )


def draw_absences(
    painter: QPainter, board: JobBoard, rows: Axis, steps: Axis, area: QRectF, theme: Theme
) -> None:
    """Write into rows without cells why they have none, if a line of text fits."""
    if rows.cell_px < _LEAST_ROW_PX:
        return
    painter.setFont(ui_font(_TEXT_PX))
    width = min(area.width(), steps.place_of(steps.count))
    metrics = QFontMetrics(ui_font(_TEXT_PX))
    painter.setPen(theme.color("text"))
    for place in range(*cells_in_view(rows)):
        text = absence(board.map, int(board.order[place]))
        if text:
            box = QRectF(
                area.left() + 8, area.top() + rows.place_of(place), max(width, 260) - 16, rows.cell_px
            )
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


def draw_values(
    painter: QPainter,
    board: JobBoard,
    axes: tuple[Axis, Axis],
    area: QRectF,
    value_range: ValueRange,
    colors: ColorTable,
    theme: Theme,
) -> None:
    """Write values into their cells, if they fit."""
    rows, steps = axes
    if steps.cell_px < _LEAST_TEXT_PX[0] or rows.cell_px < _LEAST_TEXT_PX[1]:
        return
    painter.setFont(ui_font(_TEXT_PX))
    column = board.map.column(board.column)
    cells = board.map.cells(board.column)
    inks = [theme.ink_dark, theme.ink_light]
    for row in (int(board.order[place]) for place in range(*cells_in_view(rows))):
        shades = value_range.shades(cells[row])
        for step in range(*cells_in_view(steps)):
            value = board.map.value(board.column, row, step)
            if value is None:
                continue
            ground = int(colors[shades[step]])
            ink = _readable(inks, ground)
            painter.setPen(QColor(ink))
            box = cell_rect(board, (row, step), rows, steps, area)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, value_text(column, value))


def _readable(inks: Sequence[str], ground: int) -> str:
    return max(inks, key=lambda ink: contrast_ratio(to_rgb(ink), ground))


def draw_marks(
    painter: QPainter, board: JobBoard, rows: Axis, steps: Axis, area: QRectF, theme: Theme
) -> None:
    """Draw the selection, the current cell, and lines through the cell under the pointer."""
    accent = theme.color("selection")
    chosen = board.chosen
    if chosen.rows:
        left = area.left() + steps.place_of(chosen.first)
        width = steps.cell_px * (chosen.last - chosen.first + 1)
        painter.setPen(QPen(accent, 1.5))
        painter.setBrush(theme.color("selection", 60))
        for first, last in _runs(sorted(map(board.place_of, chosen.rows))):
            top = area.top() + rows.place_of(first)
            painter.drawRect(QRectF(left, top, width, rows.cell_px * (last - first + 1)))
        painter.setBrush(Qt.BrushStyle.NoBrush)
    if board.hover is not None:
        box = cell_rect(board, board.hover, rows, steps, area)
        painter.setPen(theme.color("text", 110))
        # Lines run along the edges of cells; through the middle they would cross out the values.
        painter.drawLine(QPointF(area.left(), box.bottom()), box.bottomLeft())
        painter.drawLine(QPointF(box.left(), area.top()), box.topLeft())
        painter.setPen(theme.color("text"))
        painter.drawRect(_at_least(box).adjusted(0.5, 0.5, -0.5, -0.5))
    if board.current is not None:
        box = _at_least(cell_rect(board, board.current, rows, steps, area))
        painter.setPen(QPen(theme.color("canvas"), 4))
        painter.drawRect(box)
        painter.setPen(QPen(accent, 2))
        painter.drawRect(box)


def _at_least(box: QRectF) -> QRectF:
    """The rectangle enlarged to a visible minimum."""
    more_x, more_y = max(_LEAST_MARK_PX - box.width(), 0) / 2, max(_LEAST_MARK_PX - box.height(), 0) / 2
    return box.adjusted(-more_x, -more_y, more_x, more_y)


def _runs(places: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    begin = 0
    for at in range(1, len(places) + 1):
        if at == len(places) or places[at] != places[at - 1] + 1:
            yield places[begin], places[at - 1]
            begin = at
