"""Draws the evidence of a finding on the timeline: instances on their rows, the current one, the chain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from warpline_app.look.painting import saved
from warpline_app.look.theme import Theme, ui_font
from warpline_app.state.evidence_state import Gap
from warpline_app.state.lit import Lit
from warpline_app.timeline.draw.arrows import link_picture, paint_links
from warpline_app.timeline.model.layout import PlacedRow
from warpline_app.timeline.model.links import Link
from warpline_app.timeline.model.scene import Scene

Int64Array = npt.NDArray[np.int64]
CHAIN = "finding"
"""Kind of the links between a chain's hops."""
_DISC_PX = 8.0
_HOPS_DRAWN = 12


def paint_ranges(painter: QPainter, scene: Scene, theme: Theme, lit: Lit) -> None:
    """Mark instances on the rows of their tracks, merged where they share pixels."""
    rows = tuple(_rows(scene, lit))
    columns = merged_columns(scene, lit.ranges)
    wash, edge = theme.color("selection", 70), theme.color("selection")
    with saved(painter):
        painter.setPen(Qt.PenStyle.NoPen)
        for placed in rows:
            top, height = scene.top_of(placed), placed.height
            painter.setClipRect(_clip(scene, placed))
            boxes = np.empty((len(columns), 4), np.int32)
            boxes[:, 0], boxes[:, 2] = columns[:, 0], columns[:, 1] - 1
            for first, last, color in (
                (top + 1, top + height - 2, wash),
                (top + 1, top + 2, edge),
                (top + height - 3, top + height - 2, edge),
            ):
                boxes[:, 1], boxes[:, 3] = first, last
                _fill(painter, boxes, color)
        if lit.instance is not None:
            _paint_instance(painter, scene, theme, lit.instance, rows)


def merged_columns(scene: Scene, ranges: Int64Array) -> Int64Array:
    """The pixel columns that ranges cover, as disjoint [first, last) in ascending order: int64 [n, 2]."""
    start, stop = scene.state.view
    seen = ranges[(ranges[:, 1] > start) & (ranges[:, 0] < stop)]
    if not len(seen):
        return np.empty((0, 2), np.int64)
    scale = scene.scale
    first = np.clip(np.floor(scale.to_px_array(seen[:, 0])), -2, scene.width_px).astype(np.int64)
    last = np.clip(np.ceil(scale.to_px_array(seen[:, 1])), -1, scene.width_px + 2).astype(np.int64)
    last = np.maximum.accumulate(np.maximum(last, first + 1))
    begins = np.flatnonzero(np.r_[True, first[1:] > last[:-1]])
    ends = np.r_[begins[1:] - 1, len(first) - 1]
    return np.column_stack((first[begins], last[ends]))


def _fill(painter: QPainter, boxes: npt.NDArray[np.int32], color: QColor) -> None:
    if len(boxes):
        painter.setBrush(color)
        painter.drawRects(shiboken6.wrapInstance(boxes.ctypes.data, QRect), len(boxes))


def _rows(scene: Scene, lit: Lit) -> Iterator[PlacedRow]:
    """The visible rows of the evidence's tracks, or the collapsed rows above them; each once."""
    done: set[tuple[str, bool]] = set()
    pinned = {placed.row.key: placed for placed in scene.layout.pinned}
    for track in lit.tracks:
        row = scene.tree.row_of_track(track)
        while row is not None and row.key:
            for places, is_pinned in ((scene.layout.by_key, False), (pinned, True)):
                placed = places.get(row.key)
                if placed is not None and (row.key, is_pinned) not in done:
                    done.add((row.key, is_pinned))
                    yield placed
            row = None if row.key in scene.layout.by_key else row.parent


def _clip(scene: Scene, placed: PlacedRow) -> QRectF:
    top = 0 if placed.pinned else scene.layout.pinned_height
    return QRectF(0, top, scene.width_px, scene.height_px - top)


def _paint_instance(
    painter: QPainter, scene: Scene, theme: Theme, instance: tuple[int, int], rows: tuple[PlacedRow, ...]
) -> None:
    """A ring around the current instance."""
    left = min(max(scene.scale.to_px(instance[0]), -8.0), scene.width_px + 8.0)
    right = min(max(scene.scale.to_px(instance[1]), -8.0), scene.width_px + 8.0)
    pen = QPen(theme.color("selection"), 2)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen)
    for placed in rows:
        painter.setClipRect(_clip(scene, placed))
        top = scene.top_of(placed)
        painter.drawRect(QRectF(round(left) - 1, top + 1, max(round(right - left), 2) + 2, placed.height - 2))


def paint_gap(painter: QPainter, scene: Scene, theme: Theme, gap: Gap) -> None:
    """A ring around the selected idle gap."""
    pinned = [placed for placed in scene.layout.pinned if placed.row.key == gap.key]
    placed = scene.layout.by_key.get(gap.key)
    rows = (*pinned, *([placed] if placed is not None else []))
    with saved(painter):
        _paint_instance(painter, scene, theme, (gap.start_ns, gap.stop_ns), rows)


def paint_chain(painter: QPainter, scene: Scene, theme: Theme, lit: Lit) -> None:
    """Arrows from each waiting event to what it waited for, with numbers."""
    hops = [hop.row for hop in lit.hops[:_HOPS_DRAWN]]
    known = [(number, row) for number, row in enumerate(hops, 1) if row >= 0]
    links = [Link(row, other, CHAIN) for (_number, row), (_next, other) in pairwise(known) if row != other]
    with saved(painter):
        paint_links(painter, link_picture(scene, links, None), theme, curved=True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setFont(ui_font(10, bold=True))
        ink = QColor(theme.ink_dark if theme.is_dark else theme.ink_light)
        for number, row in known if len(known) > 1 else ():
            _paint_number(painter, scene, theme, number, row, ink)


def _paint_number(painter: QPainter, scene: Scene, theme: Theme, number: int, row: int, ink: QColor) -> None:
    place = scene.place_of_event(row)
    if place is None:
        return
    top = 0 if place.row.pinned else scene.layout.pinned_height
    middle = place.rect.center().y()
    is_seen = place.rect.right() >= 0 and place.rect.left() <= scene.width_px
    if not (is_seen and top <= middle <= scene.height_px):
        return
    x = min(max(place.rect.left(), _DISC_PX + 2), scene.width_px - _DISC_PX - 2)
    box = QRectF(x - _DISC_PX, middle - _DISC_PX, 2 * _DISC_PX, 2 * _DISC_PX)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("link"))
    painter.drawEllipse(QPointF(x, middle), _DISC_PX, _DISC_PX)
    painter.setPen(ink)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), str(number))
