"""Texts on bars: every name is rendered once into an atlas, a frame's labels are one draw call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPixmap, QTextLayout

from warpline.model import format_duration

from .strip import Boxes
from .time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture

Float64Array = npt.NDArray[np.float64]

PAGE_PX = 2048
PAGE_HEIGHT_PX = 2048
LONGEST_TEXT = 160
ELLIPSIS = "…"
INSET_PX = 5
GAP_PX = 9
MIDDLE_FROM_PX = 96


@dataclass(frozen=True)
class Placed:
    """A text in the atlas: left, top, width in device pixels, and where each glyph ends."""

    x: int
    y: int
    width: int
    ends: Float64Array


class Atlas:
    """Texts in one ink, rendered at the device's resolution. A full page starts over."""

    def __init__(self, font: QFont, ratio: float, ink: str) -> None:
        self._font = QFont(font)
        self._font.setPixelSize(max(1, round(font.pixelSize() * ratio)))
        self._ink = QColor(ink)
        layout = QTextLayout("Ag", self._font)
        layout.beginLayout()
        line = layout.createLine()
        layout.endLayout()
        self.line_height = int(np.ceil(line.height())) + 1
        self._texts: dict[str, Placed] = {}
        self.pixmap = QPixmap()
        self._clear()

    def _clear(self) -> None:
        self._texts.clear()
        self.pixmap = QPixmap(PAGE_PX, PAGE_HEIGHT_PX)
        self.pixmap.fill(Qt.GlobalColor.transparent)
        self._x = self._y = 0
        self.ellipsis = self.add(ELLIPSIS)

    def get(self, text: str) -> Placed | None:
        """A text that was added before."""
        return self._texts.get(text)

    def make_room(self, texts: int) -> None:
        """Starts the page over when fewer than about this many more texts fit."""
        free_lines = (PAGE_HEIGHT_PX - self._y) // self.line_height - 1
        if free_lines * (PAGE_PX // 300) < texts:
            self._clear()

    def add(self, text: str) -> Placed:
        """Renders a text; one longer than a page loses its middle."""
        if len(text) > LONGEST_TEXT:
            half = LONGEST_TEXT // 2
            shown = text[:half] + ELLIPSIS + text[-half:]
        else:
            shown = text
        layout = QTextLayout(shown, self._font)
        layout.beginLayout()
        line = layout.createLine()
        layout.endLayout()
        width = min(PAGE_PX - 2, int(np.ceil(line.naturalTextWidth())) + 1)
        if self._x + width > PAGE_PX:
            self._x = 0
            self._y += self.line_height
        if self._y + self.line_height > PAGE_HEIGHT_PX:
            self._clear()
        painter = QPainter(self.pixmap)
        painter.setPen(self._ink)
        layout.draw(painter, QPointF(self._x, self._y))
        painter.end()
        runs = layout.glyphRuns()
        ends = np.sort(np.array([point.x() for run in runs for point in run.positions()], np.float64))
        placed = Placed(self._x, self._y, width, ends)
        self._x += width + 2
        self._texts[text] = placed
        return placed


def short_name(text: str) -> str:
    """A name without what every kernel's has: the leading ``void``."""
    return text.removeprefix("void ")


def is_template(text: str) -> bool:
    """Whether the tail of a name is what tells it from its neighbours."""
    return "<" in text or "::" in text


class Labels:
    """Lays out and draws the texts of one canvas."""

    def __init__(self, capture: Capture, font: QFont, ratio: float, dark_ink: str, light_ink: str) -> None:
        self._capture = capture
        self._ratio = ratio
        self._atlases = (Atlas(font, ratio, light_ink), Atlas(font, ratio, dark_ink))
        self._names: dict[int, str] = {}
        self._reason_of = self._reasons()

    def _reasons(self) -> int:
        table = self._capture.kinds.get("thread_state")
        return table.code if table is not None and "reason" in table.attributes else -1

    def draw(
        self,
        painter: QPainter,
        boxes: Boxes,
        scale: TimeScale,
        tops: npt.NDArray[np.int64],
        heights: npt.NDArray[np.int64],
        dark: npt.NDArray[np.bool_],
        budget: int,
    ) -> bool:
        """Draws the texts of boxes; ``tops`` and ``heights`` (device pixels) are of their lines.

        At most ``budget`` texts are new to the atlas in one frame; returns whether some were left for the next.
        """
        ratio = self._ratio
        shown = ~boxes.dim & (heights[boxes.line] >= 11 * ratio)
        boxes = boxes.chosen(shown)
        if not len(boxes.row):
            return False
        left = np.maximum(scale.to_px_array(boxes.start), 0.0) + INSET_PX * ratio
        right = np.minimum(scale.to_px_array(boxes.stop), scale.width_px) - 3 * ratio
        room = right - left
        middle = tops[boxes.line] + heights[boxes.line] / 2
        fits = room >= 14 * ratio
        texts = self._texts(boxes)
        durations = (boxes.stop - boxes.start).tolist()
        inks = dark[boxes.color]
        complete = True
        for ink, atlas in enumerate(self._atlases):
            chosen = np.flatnonzero(fits & (inks == bool(ink)))
            if not len(chosen):
                continue
            atlas.make_room(min(budget, 2 * len(chosen)))
            rows: list[tuple[float, ...]] = []
            for index in chosen.tolist():
                text = texts[index]
                placed = atlas.get(text)
                if placed is None:
                    if budget <= 0:
                        complete = False
                        continue
                    budget -= 1
                    placed = atlas.add(text)
                free = float(room[index])
                x = float(round(left[index]))
                y = float(round(middle[index] - atlas.line_height / 2))
                if placed.width <= free:
                    rows.append(_fragment(atlas, placed, x, y, 0, placed.width))
                    length = format_duration(durations[index])
                    after = free - placed.width - GAP_PX * ratio
                    if after > 20 * ratio:
                        tail = atlas.get(length)
                        if tail is None and budget > 0:
                            budget -= 1
                            tail = atlas.add(length)
                        if tail is None:
                            complete = False
                        elif tail.width <= after:
                            rows.append(
                                _fragment(
                                    atlas, tail, x + placed.width + round(GAP_PX * ratio), y, 0, tail.width
                                )
                            )
                else:
                    rows.extend(_elided(atlas, placed, text, x, y, free, ratio))
            _draw(painter, atlas, rows)
        return not complete

    def _texts(self, boxes: Boxes) -> list[str]:
        names = self._capture.events.name[boxes.row].tolist()
        cache = self._names
        result = []
        for name in names:
            text = cache.get(name)
            if text is None:
                text = cache[name] = short_name(self._capture.strings[name])
            result.append(text)
        if self._reason_of >= 0:
            kinds = self._capture.events.kind[boxes.row]
            states = np.flatnonzero(kinds == self._reason_of)
            if len(states):
                table = self._capture.kinds["thread_state"]
                values, valid = table.column("reason")
                at = table.indices_of(boxes.row[states])
                for index, position in zip(states.tolist(), at.tolist(), strict=True):
                    reason = self._capture.strings[int(values[position])] if valid[position] else ""
                    if reason:
                        result[index] = f"{result[index]} · {reason}"
        return result


def _fragment(
    atlas: Atlas, placed: Placed, x: float, y: float, source: float, width: float
) -> tuple[float, ...]:
    height = atlas.line_height
    return (
        x + width / 2,
        y + height / 2,
        placed.x + source,
        placed.y,
        width,
        height,
        1.0,
        1.0,
        0.0,
        1.0,
    )


def _elided(
    atlas: Atlas, placed: Placed, text: str, x: float, y: float, free: float, ratio: float
) -> list[tuple[float, ...]]:
    """Head and ellipsis, and the tail too where names differ in their tails and there is room for both."""
    dots = atlas.ellipsis
    free -= dots.width
    if free < 10 * ratio:
        return []
    tail = 0.0
    if free >= MIDDLE_FROM_PX * ratio and is_template(text):
        begin = np.searchsorted(placed.ends, placed.width - free * 0.4, "left")
        tail = float(int(placed.width - placed.ends[begin])) if begin < len(placed.ends) else 0.0
    end = int(np.searchsorted(placed.ends, free - tail, "right")) - 1
    head = float(int(placed.ends[end])) if end > 0 else 0.0
    if head <= 0:
        return []
    parts = [_fragment(atlas, placed, x, y, 0, head), _fragment(atlas, dots, x + head, y, 0, dots.width)]
    if tail > 0:
        parts.append(_fragment(atlas, placed, x + head + dots.width, y, placed.width - tail, tail))
    return parts


def _draw(painter: QPainter, atlas: Atlas, rows: list[tuple[float, ...]]) -> None:
    if not rows:
        return
    fragments = np.array(rows, np.float64)
    pointer = shiboken6.wrapInstance(fragments.ctypes.data, QPainter.PixmapFragment)
    painter.drawPixmapFragments(pointer, len(fragments), atlas.pixmap)


def draw_text(painter: QPainter, rectangle: QRectF, text: str, color: QColor, *, right: bool = False) -> None:
    """One line of text, vertically centred, elided at the end."""
    painter.setPen(color)
    metrics = painter.fontMetrics()
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(rectangle.width()))
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    painter.drawText(rectangle, int(side | Qt.AlignmentFlag.AlignVCenter), shown)
