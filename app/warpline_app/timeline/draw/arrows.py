"""Geometry and painting of link arrows, and of tabs at the edge for ends outside the view."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from warpline.i18n import translated
from warpline.model import format_duration
from warpline.model.links import LAUNCH
from warpline_app.look.theme import Theme, ui_font
from warpline_app.timeline.model.links import Link, delay_of_launch
from warpline_app.timeline.model.scene import EventPlace, Scene

if TYPE_CHECKING:
    from warpline.storage import Capture

Float64Array = npt.NDArray[np.float64]
TextSpans = Callable[[float, float], Float64Array]
"""Horizontal extents of texts centred between two heights: float64 [n, 2], canvas pixels."""

TAB_HEIGHT = 16.0
_TAB_GAP = 3.0
_TAB_LIFT = TAB_HEIGHT / 2 + 6.5
_TEXT_HALF = 5.0
_HEAD = 7.0


@dataclass(frozen=True)
class Tab:
    """A tab at the edge of the canvas: a click selects ``event``, which is outside the view."""

    rect: QRectF
    text: str
    event: int


@dataclass(frozen=True)
class Arrow:
    """A curve from ``start`` to ``stop``; ``straight`` ones are thin lines."""

    start: QPointF
    stop: QPointF
    link: Link


@dataclass(frozen=True)
class LinkPicture:
    """The drawing of some links."""

    arrows: tuple[Arrow, ...]
    tabs: tuple[Tab, ...]


def no_texts(_top: float, _bottom: float) -> Float64Array:
    """No text extents."""
    return np.empty((0, 2))


def link_picture(
    scene: Scene, links: Iterable[Link], about: int | None, texts: TextSpans = no_texts
) -> LinkPicture:
    """Arrows and tabs of links. Only links of the event ``about`` get tabs, placed beside ``texts``."""
    arrows: list[Arrow] = []
    tabs: list[Tab] = []
    for link in links:
        ends = [scene.place_of_event(row) if row >= 0 else None for row in (link.from_row, link.to_row)]
        if ends[0] is None or ends[1] is None:
            continue
        start = _anchor(ends[0], ends[1], leaving=True)
        stop = _anchor(ends[1], ends[0], leaving=False)
        low, high = sorted((start.x(), stop.x()))
        if about is None and (high < -4 or low > scene.width_px + 4):
            continue
        if about is not None:
            other = link.from_row if about == link.to_row else link.to_row
            place = ends[0] if about == link.to_row else ends[1]
            tab = _tab(scene, link, place, other, about, tabs, texts)
            if tab is not None:
                tabs.append(tab)
                # The curve starts at the tab, to show which one it belongs to.
                hook = QPointF(
                    min(max(tab.rect.center().x(), 12.0), scene.width_px - 12.0), tab.rect.bottom()
                )
                start, stop = (hook, stop) if about == link.to_row else (start, hook)
        arrows.append(Arrow(_clamped(start, scene), _clamped(stop, scene), link))
    return LinkPicture(tuple(arrows), tuple(tabs))


def _clamped(point: QPointF, scene: Scene) -> QPointF:
    """Move a point far outside the canvas to just outside, so that the curve stays near the other end."""
    reach = 120.0
    x = min(max(point.x(), -reach), scene.width_px + reach)
    y = min(max(point.y(), -reach), scene.height_px + reach)
    return QPointF(x, y)


def _anchor(place: EventPlace, other: EventPlace, *, leaving: bool) -> QPointF:
    """Where a curve touches an event: it leaves near the event's start and arrives at its start."""
    rect = place.rect
    x = rect.left() + min(rect.width() / 2, 6.0) if leaving else rect.left()
    down = other.rect.center().y() > rect.center().y()
    if leaving:
        return QPointF(x, rect.bottom() if down else rect.top())
    return QPointF(x, rect.center().y())


def _tab(
    scene: Scene,
    link: Link,
    place: EventPlace,
    other: int,
    about: int,
    taken: list[Tab],
    texts: TextSpans,
) -> Tab | None:
    rect = place.rect
    left, right = rect.right() < 0, rect.left() > scene.width_px
    top_edge = 0 if place.row.pinned else scene.layout.pinned_height
    above, below = rect.bottom() < top_edge, rect.top() > scene.height_px
    if not (left or right or above or below):
        return None
    sign = "◂" if left else "▸" if right else "▴" if above else "▾"
    what = translated(link.kind.replace("_", " ") or "link")
    away = _away_ns(scene.capture, link, other, about) if left or right else None
    text = f"{sign} {what}" if away is None else f"{sign} {what} {format_duration(away)}"
    side = "left" if left else "right" if right else ""
    y = min(max(rect.center().y() - TAB_HEIGHT / 2, top_edge + 2.0), scene.height_px - TAB_HEIGHT - 2)
    # If names leave no room, the arrow sign alone covers least of them.
    for shown in (text, sign):
        width = QFontMetricsF(ui_font(11, bold=True)).horizontalAdvance(shown) + (14 if shown is text else 6)
        last = scene.width_px - width - _TAB_GAP
        x = _TAB_GAP if side == "left" else last if side == "right" else min(max(rect.left(), _TAB_GAP), last)
        at_edge = QRectF(x, y, width, TAB_HEIGHT)
        free = _clear_of_texts(at_edge, texts, scene, top_edge, to_left=side == "right")
        if free is not None:
            break
    candidate = free or at_edge
    if any(tab.rect.intersects(candidate) for tab in taken):
        return None
    return Tab(candidate, shown, other)


def _clear_of_texts(
    wanted: QRectF, texts: TextSpans, scene: Scene, top_edge: float, *, to_left: bool
) -> QRectF | None:
    """The nearest place that covers no text: under or over the row's texts, or beside them."""
    for lower in (0.0, _TAB_LIFT, -_TAB_LIFT):
        moved = wanted.translated(0, lower)
        if lower and not (top_edge <= moved.top() and moved.bottom() <= scene.height_px):
            continue
        if _beside(_spans_at(moved, texts), moved, scene.width_px, to_left=to_left) == moved:
            return moved
    return _beside(_spans_at(wanted, texts), wanted, scene.width_px, to_left=to_left)


def _spans_at(rect: QRectF, texts: TextSpans) -> Float64Array:
    return texts(rect.top() - _TEXT_HALF, rect.bottom() + _TEXT_HALF)


def _beside(spans: Float64Array, wanted: QRectF, width_px: int, *, to_left: bool) -> QRectF | None:
    """The first place free of texts from the wanted one towards the middle, or None."""
    if to_left:
        mirror = QRectF(width_px - wanted.right(), wanted.top(), wanted.width(), wanted.height())
        free = _beside(width_px - spans[:, ::-1], mirror, width_px, to_left=False)
        return None if free is None else wanted.translated(mirror.left() - free.left(), 0)
    x, width = wanted.left(), wanted.width()
    for begin, end in spans[spans[:, 0].argsort()].tolist():
        if begin >= x + width + _TAB_GAP:
            break
        if end > x - _TAB_GAP:
            x = end + _TAB_GAP
    is_near = x == wanted.left() or x + width <= width_px / 2
    return wanted.translated(x - wanted.left(), 0) if is_near else None


def _away_ns(capture: Capture, link: Link, other: int, about: int) -> int | None:
    """Distance to the other end: the delay for launches, if known; else from start to start."""
    if link.kind == LAUNCH:
        return delay_of_launch(capture, link.from_row, link.to_row)
    return abs(capture.event_span(other)[0] - capture.event_span(about)[0])


def curve(arrow: Arrow) -> QPainterPath:
    """A smooth curve that leaves and arrives horizontally."""
    start, stop = arrow.start, arrow.stop
    path = QPainterPath(start)
    bend = max(24.0, min(160.0, abs(stop.x() - start.x()) / 2))
    lift = (stop.y() - start.y()) * 0.35
    path.cubicTo(QPointF(start.x() + 4, start.y() + lift), QPointF(stop.x() - bend, stop.y()), stop)
    return path


def paint_links(painter: QPainter, picture: LinkPicture, theme: Theme, *, curved: bool) -> None:
    """Draw arrows, then tabs; straight thin lines when there are many."""
    color = theme.color("link")
    if curved:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color, 1.6))
        for arrow in picture.arrows:
            painter.drawPath(curve(arrow))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        for arrow in picture.arrows:
            tip = arrow.stop
            painter.drawPolygon(
                QPolygonF([tip, tip + QPointF(-_HEAD, -_HEAD * 0.55), tip + QPointF(-_HEAD, _HEAD * 0.55)])
            )
    else:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(theme.color("link", 170), 1))
        for arrow in picture.arrows:
            painter.drawLine(arrow.start, arrow.stop)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setFont(ui_font(11, bold=True))
    ink = QColor(theme.ink_dark if theme.is_dark else theme.ink_light)
    for tab in picture.tabs:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRoundedRect(tab.rect, 4, 4)
        painter.setPen(ink)
        painter.drawText(tab.rect, Qt.AlignmentFlag.AlignCenter, tab.text)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
