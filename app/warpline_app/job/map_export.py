"""Exports a job's map as a picture, as CSV, and to the clipboard."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPointF, QRect
from PySide6.QtGui import QGuiApplication, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from warpline.i18n import tr
from warpline.interchange.export.output_files import replacing
from warpline_app.job.cell_text import column_title
from warpline_app.job.controls import summary_text
from warpline_app.job.map_canvas import JobMapCanvas
from warpline_app.job.scale_legend import ScaleLegend
from warpline_app.look.theme import ui_font
from warpline_app.look.widgets import ask_for_file
from warpline_app.open.background import Job
from warpline_app.open.job.board import Chosen, JobBoard
from warpline_app.open.messages import MessageTarget
from warpline_app.open.written_files import show_written
from warpline_app.panels.charts.picture_saving import ask_and_save, save_picture

_HEAD_PX, _LEGEND_PX = 28, 26
_SCALE = 2


def map_lines(board: JobBoard, chosen: Chosen) -> Iterator[list[str]]:
    """A header, then rank, host and the steps' values of each row; times in ns.

    Missing values are empty. An empty `Chosen` selects everything.
    """
    job_map = board.map
    first, last = (chosen.first, chosen.last + 1) if chosen.rows else (0, len(job_map.steps))
    yield ["rank", "host", *map(str, job_map.steps[first:last].tolist())]
    if not board.column:
        return
    cells = board.job.steps.values(board.column).T
    place_of = {rank: place for place, rank in enumerate(board.job.steps.ranks.tolist())}
    for row in board.order.tolist():
        if chosen.rows and row not in chosen.rows:
            continue
        rank = job_map.ranks[row]
        place = place_of.get(rank.rank)
        values = [np.nan] * (last - first) if place is None else cells[place, first:last].tolist()
        yield [str(rank.rank), rank.host, *("" if math.isnan(value) else f"{value:.15g}" for value in values)]


def write_csv(board: JobBoard, path: Path) -> None:
    """Write the map to a file. Raises OSError if it cannot be written."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(map_lines(board, Chosen()))


def copy_cells(board: JobBoard) -> None:
    """Copy the selected values as TSV with a header; without a selection the current cell, else everything."""
    chosen, current = board.chosen, board.current
    if not chosen.rows and current is not None:
        chosen = Chosen(frozenset({current[0]}), current[1], current[1])
    QGuiApplication.clipboard().setText("\n".join(map("\t".join, map_lines(board, chosen))))


@dataclass(frozen=True)
class MapPicture:
    """The widgets a picture of a map is drawn from."""

    board: JobBoard
    canvas: JobMapCanvas
    legend: ScaleLegend


def draw_picture(shown: MapPicture, painter: QPainter) -> None:
    """Draw the map as shown, with a title above and the legend below."""
    board, canvas, legend = shown.board, shown.canvas, shown.legend
    theme = canvas.theme
    painter.setFont(ui_font(13, bold=True))
    painter.setPen(theme.color("text"))
    title = f"{board.title} — {column_title(board.map.column(board.column))} · {summary_text(board)}"
    painter.drawText(QPointF(10, 19), title)
    painter.save()
    painter.translate(0, _HEAD_PX)
    canvas.draw(painter, float(_SCALE))
    painter.translate(10, canvas.height() + 2)
    legend.draw(painter)
    painter.restore()


def picture_area(shown: MapPicture) -> QRect:
    """Size of a picture of the map."""
    return QRect(0, 0, shown.canvas.width(), shown.canvas.height() + _HEAD_PX + _LEGEND_PX)


def copy_picture(shown: MapPicture) -> None:
    """Copy a picture of the map at twice its size."""
    area = picture_area(shown)
    picture = QPixmap(area.size() * _SCALE)
    picture.setDevicePixelRatio(_SCALE)
    picture.fill(shown.canvas.theme.color("canvas"))
    painter = QPainter(picture)
    draw_picture(shown, painter)
    painter.end()
    QGuiApplication.clipboard().setPixmap(picture)


def export_picture(shown: MapPicture, path: Path) -> None:
    """Save a picture of the map: SVG if the name ends in .svg, else PNG at twice its size."""
    ground = shown.canvas.theme.color("canvas")
    save_picture(path, picture_area(shown), ground, lambda painter: draw_picture(shown, painter))


def save_picture_as(shown: MapPicture, owner: QWidget, messages: MessageTarget) -> None:
    """Ask for a file and save a picture of the map."""
    ask_and_save(owner, "job", lambda path: export_picture(shown, path), messages)


def save_csv_as(board: JobBoard, owner: QWidget, messages: MessageTarget) -> None:
    """Ask for a file and write the map to it."""

    def write(path: Path) -> None:
        job = Job(lambda _progress, _cancelled: write_csv(board, path), owner)
        job.succeeded.connect(lambda _written: show_written(messages, path))
        job.failed.connect(
            lambda error: messages.show(tr("The table could not be written: {error}", error=error))
        )
        job.launch()

    ask_for_file(owner, tr("Export map as CSV"), ["CSV (*.csv)"], f"{board.column or 'job'}.csv", write)
