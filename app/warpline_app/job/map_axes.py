"""Rank names left of a map and step numbers above it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter

from warpline.i18n import tr
from warpline.library.jobs import RankState
from warpline_app.job.map_geometry import Axis
from warpline_app.job.map_image import cells_in_view
from warpline_app.look.theme import Theme, ui_font
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.row_order import RowOrder

TEXT_PX = 11
_LINE_PX = 14
_MOST_GUTTER_PX = 190
_MEASURED = 200
_NICE = (1, 2, 5)


def label_of(board: JobBoard, row: int) -> str:
    """The label of a row: rank and host, host first if rows are sorted by host."""
    job_rank = board.map.ranks[row]
    if not job_rank.host:
        return str(job_rank.rank)
    return (
        f"{job_rank.host} · {job_rank.rank}"
        if board.order_by is RowOrder.HOST
        else f"{job_rank.rank} · {job_rank.host}"
    )


def gutter_px(board: JobBoard) -> int:
    """Width of the row labels."""
    metrics = QFontMetrics(ui_font(TEXT_PX))
    count = len(board.map.ranks)
    rows = {*range(0, count, max(1, count // _MEASURED)), *range(max(count - 1, 0), count)}
    widest = max((metrics.horizontalAdvance(label_of(board, row)) for row in rows), default=0)
    title = metrics.horizontalAdvance(tr("rank"))
    return min(max(widest, title) + 18, _MOST_GUTTER_PX)


def stride(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20 … that is at least ``least``."""
    power = 1
    while True:
        for nice in _NICE:
            if nice * power >= least:
                return nice * power
        power *= 10


def draw_rows(painter: QPainter, board: JobBoard, axis: Axis, area: QRectF, theme: Theme) -> None:
    """Draw as many row labels as fit; failed ranks are marked."""
    font = ui_font(TEXT_PX)
    painter.setFont(font)
    metrics = QFontMetrics(font)
    every = stride(_LINE_PX / axis.cell_px)
    first, last = cells_in_view(axis)
    first += -first % every
    order = board.order
    for place in range(first, last, every):
        row = int(order[place])
        top = area.top() + axis.place_of(place)
        height = max(axis.cell_px, _LINE_PX)
        middle = top + min(axis.cell_px, height) / 2
        is_computed = board.map.ranks[row].state is RankState.COMPUTED
        painter.setPen(theme.color("muted" if is_computed else "warning"))
        box = QRectF(area.left() + 4, middle - _LINE_PX / 2, area.width() - 10, _LINE_PX)
        if box.bottom() <= area.bottom() + 2:
            text = metrics.elidedText(label_of(board, row), Qt.TextElideMode.ElideMiddle, int(box.width()))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)


def draw_steps(painter: QPainter, board: JobBoard, axis: Axis, area: QRectF, theme: Theme) -> None:
    """Draw ticks and as many step numbers as fit."""
    font = ui_font(TEXT_PX)
    painter.setFont(font)
    steps = board.map.steps
    first, last = cells_in_view(axis)
    if not last:
        return
    widest = QFontMetrics(font).horizontalAdvance(str(int(steps[-1]))) + 16
    every = stride(widest / axis.cell_px)
    first += -first % every
    for place in range(first, last, every):
        left = area.left() + axis.place_of(place)
        middle = left + axis.cell_px / 2
        painter.setPen(theme.color("hairline"))
        painter.drawLine(QPointF(middle, area.bottom() - 4), QPointF(middle, area.bottom() - 1))
        painter.setPen(theme.color("muted"))
        box = QRectF(middle - widest / 2, area.top(), widest, area.height() - 4)
        if box.left() >= area.left() - widest / 2 and middle <= area.right():
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(int(steps[place])))
