"""The overlay on the cached frame: range, marks, selection, related events, hover, links, pointer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from warpline.i18n import tr, tr_n
from warpline.model.notes import Note
from warpline_app.look.painting import saved
from warpline_app.look.theme import Theme, note_color, ui_font
from warpline_app.timeline.draw.arrows import (
    LinkPicture,
    Tab,
    TextSpans,
    link_picture,
    no_texts,
    paint_links,
)
from warpline_app.timeline.draw.lit_marks import paint_chain, paint_gap, paint_ranges
from warpline_app.timeline.draw.now_line import paint_now_line
from warpline_app.timeline.model.links import (
    NO_LINKS,
    LinkSet,
    launched_between,
    links_in_view,
    links_of_event,
    related_rows,
)
from warpline_app.timeline.model.scene import Scene

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
RELATED_DRAWN = 3000


@dataclass(frozen=True)
class Related:
    """Rows nested in the selected event, and rows launched in it."""

    nested: Int64Array
    launched: Int64Array


_NOTHING = Related(np.empty(0, np.int64), np.empty(0, np.int64))


class Overlay:
    """Paints over the frame, and knows the clickable hints."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.scene = scene
        self.theme = theme
        self.related = _NOTHING
        self.selection_links: LinkSet = NO_LINKS
        self.hover_links: LinkSet = NO_LINKS
        self.all_links: LinkSet | None = NO_LINKS
        self.tabs: tuple[Tab, ...] = ()
        self.text_spans: TextSpans = no_texts
        """where the frame below has labels"""
        self.notice = ""
        self._hovered: int | None = None
        self._selected: int | None = None
        self._related_of: tuple[int | None, tuple[int, int] | None] = (None, None)

    @property
    def capture(self) -> Capture:
        """The capture shown."""
        return self.scene.capture

    def set_selection(self, row: int | None) -> None:
        """Look up the links of the selected event."""
        self._selected = row
        self.related = _NOTHING
        self._related_of = (None, None)
        self.selection_links = NO_LINKS if row is None else links_of_event(self.capture, row)

    def find_related(self) -> None:
        """Look up events nested and launched in the selected event, else in the selected range."""
        row, between = self._selected, self.scene.state.range_selection
        if (row, between) == self._related_of:
            return
        self._related_of = row, between
        if row is not None:
            self.related = Related(*related_rows(self.capture, row))
        elif between is not None:
            self.related = Related(_NOTHING.nested, launched_between(self.capture, *between))
        else:
            self.related = _NOTHING

    def set_hover(self, row: int | None) -> None:
        """Look up the links of the hovered event."""
        self._hovered = row
        self.hover_links = NO_LINKS if row is None else links_of_event(self.capture, row)

    def find_all_links(self) -> None:
        """Look up the links of all events in view, if arrows are shown for all."""
        if self.scene.state.arrows != "all":
            self.all_links = NO_LINKS
            return
        places = self.scene.layout
        lanes = np.array(sorted({*places.lane_place, *places.pinned_place}), np.int64)
        self.all_links = links_in_view(self.capture, lanes, *self.scene.state.view)

    def tab_at(self, point: QPointF) -> Tab | None:
        """The clickable hint at a point."""
        return next((tab for tab in self.tabs if tab.rect.contains(point)), None)

    # painting

    def paint(self, painter: QPainter) -> None:
        """Paint everything except the pointer line."""
        scene, state = self.scene, self.scene.state
        if scene.document.live_edge is not None:
            paint_now_line(painter, scene, self.theme, scene.document.live_edge)
        self._paint_range(painter)
        self._paint_notes(painter)
        if scene.layout.pinned_height:
            painter.fillRect(
                QRectF(0, scene.layout.pinned_height - 1, scene.width_px, 1), self.theme.color("muted", 140)
            )
        if state.lit is not None:
            paint_ranges(painter, scene, self.theme, state.lit)
        if state.gap is not None:
            paint_gap(painter, scene, self.theme, state.gap)
        self._paint_related(painter)
        self._paint_hover(painter)
        self._paint_links(painter)
        if state.lit is not None:
            paint_chain(painter, scene, self.theme, state.lit)
        self._paint_selection(painter)
        if self.notice:
            self._paint_notice(painter, self.notice)
        elif not scene.layout.rows:
            text = tr("No row passes the filter", "timeline")
            if state.filter.is_empty:
                text = tr("This capture has no tracks", "timeline")
            painter.setPen(self.theme.color("muted"))
            painter.setFont(ui_font(13))
            painter.drawText(
                QRectF(0, 0, scene.width_px, scene.height_px), int(Qt.AlignmentFlag.AlignCenter), text
            )

    def _paint_range(self, painter: QPainter) -> None:
        selected = self.scene.state.range_selection
        if selected is None:
            return
        scale = self.scene.scale
        left = max(-2.0, scale.to_px(selected[0]))
        right = min(self.scene.width_px + 2.0, scale.to_px(selected[1]))
        if right < 0 or left > self.scene.width_px:
            return
        height, width = self.scene.height_px, self.scene.width_px
        if left > 0 or right < width:  # a range wider than the view tints nothing
            painter.fillRect(QRectF(left, 0, right - left, height), self.theme.color("selection", 34))
        for x in (left, right):
            painter.fillRect(QRectF(round(x) - 0.75, 0, 1.5, height), self.theme.color("selection"))

    def _paint_notes(self, painter: QPainter) -> None:
        scale = self.scene.scale
        for time_ns, note in self.scene.state.timed_notes:
            color = note_color(self.theme, note.color)
            if note.row:
                self._paint_row_note(painter, note, scale.to_px(time_ns), color)
                continue
            painter.setPen(QPen(color, 1, Qt.PenStyle.DashLine))
            for edge_ns in (time_ns, note.stop_ns):
                x = -2.0 if edge_ns is None else scale.to_px(edge_ns)
                if -1 <= x <= self.scene.width_px + 1:
                    painter.drawLine(
                        QPointF(round(x) + 0.5, 0), QPointF(round(x) + 0.5, self.scene.height_px)
                    )

    def _paint_row_note(self, painter: QPainter, note: Note, x: float, color: QColor) -> None:
        """A corner at the start of the note's event, where its row is in view."""
        placed = self.scene.layout.by_key.get(note.row)
        if placed is None or not -1 <= x <= self.scene.width_px + 1:
            return
        top = self.scene.top_of(placed)
        if not placed.pinned and top < self.scene.layout.pinned_height:
            return
        left = round(x)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([QPointF(left, top), QPointF(left + 9, top), QPointF(left, top + 9)]))

    def _paint_related(self, painter: QPainter) -> None:
        """Underline related events in the accent colour, in one call."""
        rows = np.concatenate([self.related.nested, self.related.launched])
        if not len(rows):
            return
        scene = self.scene
        start, stop = self.capture.event_times(rows)
        view = scene.state.view
        seen = (stop >= view[0]) & (start < view[1])
        rows, start, stop = rows[seen], start[seen], stop[seen]
        lanes = self.capture.lanes_of_rows(rows)
        marks: list[tuple[int, int, int, int]] = []
        scale = scene.scale
        for lane in np.unique(lanes).tolist():
            position = scene.layout.lane_place.get(lane)
            if position is None:
                continue
            placed, line = position
            bottom = scene.top_of(placed) + line.top + line.height - 1
            if not scene.layout.pinned_height <= bottom <= scene.height_px + 2:
                continue
            mine = np.flatnonzero(lanes == lane)
            left = np.clip(scale.to_px_array(start[mine]), -1, scene.width_px).astype(np.int64)
            right = np.clip(scale.to_px_array(stop[mine]), 0, scene.width_px).astype(np.int64)
            # One mark per pixel column, however many events it contains.
            _, first = np.unique(left, return_index=True)
            marks += [
                (x, bottom - 1, max(x, r - 1), bottom)
                for x, r in zip(left[first].tolist(), right[first].tolist(), strict=True)
            ]
        if marks:
            corners = np.array(marks[:RELATED_DRAWN], np.int32)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.color("selection"))
            painter.drawRects(shiboken6.wrapInstance(corners.ctypes.data, QRect), len(corners))

    def _clip_of(self, pinned: bool) -> QRectF:
        top = 0 if pinned else self.scene.layout.pinned_height
        return QRectF(0, top, self.scene.width_px, self.scene.height_px - top)

    def _paint_hover(self, painter: QPainter) -> None:
        if self._hovered is None or self._hovered == self.scene.state.selection:
            return
        place = self.scene.place_of_event(self._hovered)
        if place is None or not place.is_drawn:
            return
        self._ring(painter, place.rect, place.row.pinned, QPen(self.theme.color("text", 200), 1), 0.5)

    def _paint_selection(self, painter: QPainter) -> None:
        row = self.scene.state.selection
        if row is None:
            return
        place = self.scene.place_of_event(row)
        if place is not None and place.is_drawn:
            self._ring(painter, place.rect, place.row.pinned, QPen(self.theme.color("selection"), 2), 1.0)

    def _ring(self, painter: QPainter, rect: QRectF, pinned: bool, pen: QPen, out: float) -> None:
        clip = self._clip_of(pinned)
        left = min(max(round(rect.left()), -8), self.scene.width_px + 8)
        right = min(max(round(rect.right()), -8), self.scene.width_px + 8)
        ring = QRectF(left, rect.top(), max(3, right - left), rect.height()).adjusted(-out, -out, out, out)
        if ring.bottom() < clip.top() or ring.top() > clip.bottom():
            return
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        with saved(painter):
            painter.setClipRect(clip)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(pen)
            painter.drawRect(ring)

    def _paint_links(self, painter: QPainter) -> None:
        mode = self.scene.state.arrows
        self.tabs = ()
        self.notice = ""
        if mode == "off":
            return
        with saved(painter):
            self._paint_links_of(painter, mode)

    def _paint_links_of(self, painter: QPainter, mode: str) -> None:
        if mode == "all":
            if self.all_links is None:
                self.notice = tr("Too many events in view to draw all links: zoom in", "timeline")
            elif self.all_links.links:
                picture = link_picture(self.scene, self.all_links.links, None)
                paint_links(painter, picture, self.theme, curved=False)
                if self.all_links.is_cut:
                    self.notice = tr_n(
                        "{shown:,} of {count:,} link drawn: zoom in to see all",
                        "{shown:,} of {count:,} links drawn: zoom in to see all",
                        self.all_links.total,
                        "timeline",
                        shown=len(self.all_links.links),
                    )
        if self._hovered is not None and self._hovered != self._selected and self.hover_links.links:
            picture = link_picture(self.scene, self.hover_links.links, None)
            painter.setOpacity(0.7)
            paint_links(painter, LinkPicture(picture.arrows, ()), self.theme, curved=True)
            painter.setOpacity(1.0)
        if self._selected is not None and self.selection_links.links:
            picture = link_picture(self.scene, self.selection_links.links, self._selected, self.text_spans)
            paint_links(painter, picture, self.theme, curved=True)
            self.tabs = picture.tabs
            if self.selection_links.is_cut and not self.notice:
                self.notice = tr_n(
                    "{shown:,} of {count:,} link of the selection drawn",
                    "{shown:,} of {count:,} links of the selection drawn",
                    self.selection_links.total,
                    "timeline",
                    shown=len(self.selection_links.links),
                )

    def _paint_notice(self, painter: QPainter, text: str) -> None:
        painter.setFont(ui_font(11))
        width = painter.fontMetrics().horizontalAdvance(text) + 20
        rect = QRectF(self.scene.width_px - width - 8, self.scene.height_px - 28, width, 20)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(self.theme.color("hairline"), 1))
        painter.setBrush(self.theme.color("header", 235))
        painter.drawRoundedRect(rect, 4, 4)
        painter.setPen(self.theme.color("text"))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def paint_pointer(self, painter: QPainter, x: float) -> None:
        """Paint the line at the pointer."""
        painter.fillRect(QRectF(round(x), 0, 1, self.scene.height_px), self.theme.color("text", 90))


def mark_flag(x: float, bottom: float) -> QPolygonF:
    """The flag of a mark on the ruler."""
    return QPolygonF([QPointF(x, bottom), QPointF(x - 4, bottom - 6), QPointF(x + 4, bottom - 6)])
