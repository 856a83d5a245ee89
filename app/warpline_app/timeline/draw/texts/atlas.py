"""Texts rendered once into a page of pixels, from which labels are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPixmap, QTextLayout

from warpline_app.look.eliding import WORD
from warpline_app.look.painting import painting

Float64Array = npt.NDArray[np.float64]

PAGE_PX = 2048
PAGE_HEIGHT_PX = 2048
_FIRST_HEIGHT_PX = 256
"""The page grows with its texts: clearing 16 MB of pixels would delay the first frame."""
LONGEST_TEXT = 160
ELLIPSIS = "…"


class _Growing:
    """Rows of integers that can be appended without copying."""

    def __init__(self, columns: int) -> None:
        self._room = np.empty((256, columns), np.int64)
        self._count = 0

    def clear(self) -> None:
        self._count = 0

    def extend(self, rows: npt.NDArray[np.int64]) -> None:
        stop = self._count + len(rows)
        if stop > len(self._room):
            room = np.empty((2 * stop, self._room.shape[1]), np.int64)
            room[: self._count] = self.rows
            self._room = room
        self._room[self._count : stop] = rows
        self._count = stop

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The rows; a view that is invalid after `clear`."""
        return self._room[: self._count]


class Atlas:
    """Texts in several inks, rendered at the device's resolution; an entry is a number. A full page starts over.

    All inks share a page and have equal sizes, so that labels of any ink are laid out and drawn together.

    `table` has columns over entries (device pixels). `end_keys` (ascending) hold the start of each glyph of each entry
    as ``entry << 16 | pixels``, so that one binary search elides all labels of a frame. Each letter is assumed to be
    one glyph.
    """

    def __init__(self, font: QFont, ratio: float, inks: Sequence[str]) -> None:
        self._font = QFont(font)
        self._font.setPixelSize(max(1, round(font.pixelSize() * ratio)))
        # Names are cut between letters: "fi" must not become one glyph.
        self._font.setFeature(QFont.Tag("liga"), 0)
        self._inks = [QColor(ink) for ink in inks]
        layout = QTextLayout("Ag", self._font)
        layout.beginLayout()
        line = layout.createLine()
        layout.endLayout()
        self.line_height = int(np.ceil(line.height())) + 1
        self.generation = 0
        self.pixmap = QPixmap()
        self._entries: dict[tuple[str, int], int] = {}
        self._columns = _Growing(5)
        self._keys = _Growing(1)
        self._words = _Growing(1)
        self._ends: list[npt.NDArray[np.int64]] = []
        self._texts: list[tuple[str, int]] = []
        self._x = self._y = 0
        self.ellipsis: npt.NDArray[np.int64] = np.empty(0, np.int64)
        """the ellipsis's entry in each ink"""

    def clear(self) -> None:
        """Remove all entries."""
        self.generation += 1
        self._entries.clear()
        self._columns.clear()
        self._keys.clear()
        self._words.clear()
        self._ends.clear()
        self._texts.clear()
        self.pixmap = _empty_page(_FIRST_HEIGHT_PX)
        self._x = self._y = 0
        self.ellipsis = np.array([self.add(ELLIPSIS, ink) for ink in range(len(self._inks))], np.int64)

    @property
    def is_nearly_full(self) -> bool:
        """Whether a frame's worth of new texts may not fit."""
        return self._y + 14 * self.line_height > PAGE_HEIGHT_PX

    def get(self, text: str, ink: int) -> int:
        """The entry of a text in an ink (an index), −1 if it is missing."""
        return self._entries.get((text, ink), -1)

    def text_of(self, entry: int) -> str:
        """The text of an entry, as displayed."""
        return self._texts[entry][0]

    def add(self, text: str, ink: int) -> int:
        """Render a text and return its entry; the middle of a very long one is cut."""
        half = LONGEST_TEXT // 2
        shown = text if len(text) <= LONGEST_TEXT else text[:half] + ELLIPSIS + text[-half:]
        layout = QTextLayout(shown, self._font)
        layout.beginLayout()
        line = layout.createLine()
        layout.endLayout()
        width = min(PAGE_PX - 2, int(np.ceil(line.naturalTextWidth())) + 1)
        if self._x + width > PAGE_PX:
            self._x = 0
            self._y += self.line_height
        self._grow()
        with painting(self.pixmap) as painter:
            painter.setPen(self._inks[ink])
            layout.draw(painter, QPointF(self._x, self._y))
        entry = len(self._texts)
        begins = np.sort([int(point.x()) for run in layout.glyphRuns() for point in run.positions()])
        self._columns.extend(np.array([[self._x, self._y, width, len(self._keys.rows), len(begins)]]))
        ends = (entry << 16) + np.clip(begins, 0, PAGE_PX).astype(np.int64)
        self._keys.extend(ends[:, None])
        self._words.extend(np.clip(_begin_of_word(shown, begins), 0, PAGE_PX)[:, None])
        self._ends.append(ends)
        self._texts.append((shown, ink))
        self._x += width + 2
        self._entries[text, ink] = entry
        return entry

    def _grow(self) -> None:
        """Make room for one more line."""
        height = self.pixmap.height()
        if self._y + self.line_height > height and height < PAGE_HEIGHT_PX:
            smaller, self.pixmap = self.pixmap, _empty_page(2 * height)
            with painting(self.pixmap) as painter:
                painter.drawPixmap(0, 0, smaller)

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """Columns x, y, width, first glyph, number of glyphs; shape (entries, 5)."""
        return self._columns.rows

    @property
    def end_keys(self) -> npt.NDArray[np.int64]:
        """Glyph starts; see the class."""
        return self._keys.rows[:, 0]

    def glyph_before(self, entries: npt.NDArray[np.int64], room: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The last border between glyphs within ``room`` pixels of each entry's left."""
        keys = self.end_keys
        wanted = (entries << 16) + np.minimum(np.maximum(room, 0), PAGE_PX).astype(np.int64)
        border = keys[np.maximum(keys.searchsorted(wanted, "right") - 1, 0)]
        return np.where(border >> 16 == entries, border & 0xFFFF, 0)

    def letter(self, entries: npt.NDArray[np.int64], index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where the letter ``index`` of each entry starts; its width past the end."""
        _x, _y, width, first, count = self.table.take(entries, 0).T
        inside = np.minimum(np.maximum(index, 0), count - 1)
        return np.asarray(np.where(index < count, self.end_keys[first + inside] & 0xFFFF, width), np.int64)

    def letter_from(self, entries: npt.NDArray[np.int64], left: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The first letter of each entry that starts at ``left`` pixels or later."""
        wanted = (entries << 16) + np.minimum(np.maximum(np.ceil(left), 0), PAGE_PX).astype(np.int64)
        return np.asarray(self.end_keys.searchsorted(wanted) - self.table[entries, 3], np.int64)

    def word(self, entries: npt.NDArray[np.int64], index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where the last word of the first ``index`` letters (at least one) of each entry starts."""
        first, count = self.table[entries, 3:5].T
        return np.asarray(self._words.rows[first + np.minimum(np.maximum(index, 1), count) - 1, 0], np.int64)

    def write(self, painter: QPainter, fragments: Float64Array) -> None:
        """Draw fragments as text, so that vector graphics stay readable and searchable."""
        table = self.table
        place = table[:, 1] * PAGE_PX + table[:, 0]
        painter.save()
        painter.setFont(self._font)
        ascent = QFontMetricsF(self._font).ascent()
        for x, y, left, top, width, height, *_, opacity in fragments.tolist():
            entry = int(np.searchsorted(place, top * PAGE_PX + left, "right")) - 1
            begins = (self._ends[entry] - (entry << 16)).tolist()
            offset = left - table[entry, 0]
            text, ink = self._texts[entry]
            painter.setPen(self._inks[ink])
            if offset or width < table[entry, 2]:
                inside = [offset <= begin < offset + width for begin in begins]
                text = "".join(letter for letter, seen in zip(text, inside, strict=False) if seen)
            painter.setOpacity(opacity)
            painter.drawText(QPointF(x - width / 2, y - height / 2 + ascent), text)
        painter.restore()


def _empty_page(height: int) -> QPixmap:
    page = QPixmap(PAGE_PX, height)
    page.fill(Qt.GlobalColor.transparent)
    return page


def _begin_of_word(text: str, begins: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The start of the word that each glyph belongs to, in pixels."""
    starts = np.zeros(max(len(text), len(begins)), np.int64)
    for word in WORD.finditer(text):
        starts[word.start() :] = word.start()
    glyph = np.minimum(starts[: len(begins)], max(0, len(begins) - 1))
    return np.asarray(begins[glyph], np.int64)
