"""Positions of a frame's labels: pieces cut from an atlas page, in device pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline_app.timeline.draw.texts.atlas import Atlas
from warpline_app.timeline.draw.texts.elision import PARTS, Cut, shown_parts
from warpline_app.timeline.draw.texts.text_order import Int64Array, LineTexts

Float64Array = npt.NDArray[np.float64]

MIDDLE_FROM_PX = 96
"""Minimum room for showing the tail of a name beside its head."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Requested labels: atlas entries, line, left and top of each, available room, opacity."""

    line: Int64Array
    entry: Int64Array
    ink: Int64Array
    x: Float64Array
    y: Float64Array
    room: Float64Array
    opacity: Float64Array


class LabelPieces:
    """Pieces of labels, collected to be made at once; and each label's extent, 0 for none."""

    def __init__(self, atlas: Atlas, wanted: Wanted) -> None:
        self._atlas = atlas
        self._wanted = wanted
        self._gathered: list[tuple[Int64Array, Int64Array, Float64Array, Int64Array, Int64Array]] = []
        self.reach: Float64Array = np.zeros(len(wanted.x))

    def add(
        self, which: Int64Array, entry: Int64Array, x: Float64Array, begin: Int64Array, width: Int64Array
    ) -> None:
        """Show ``width`` pixels of texts from ``begin`` on, at ``x``, for the labels ``which``."""
        if len(which):
            self._gathered.append((which, entry, x, begin, width))
            self.reach[which] = x + width

    def add_whole(self, which: Int64Array, entry: Int64Array, x: Float64Array) -> None:
        """Show whole texts."""
        self.add(which, entry, x, np.zeros(len(which), np.int64), self._atlas.table[entry, 2])

    def add_cut(
        self,
        which: Int64Array,
        entries: Int64Array,
        with_tail: npt.NDArray[np.bool_],
        texts: LineTexts,
        place: Int64Array,
    ) -> None:
        """Show the distinguishing parts of texts wider than their room, with dots for the rest.

        ``place`` is the position of each of ``which`` among ``texts``.
        """
        atlas, wanted = self._atlas, self._wanted
        room = wanted.room[which]
        entries = entries[which]
        shown = shown_parts(atlas, Cut(entries, room, place), with_tail, texts)
        dots = atlas.ellipsis[wanted.ink[which]]
        dots_px = int(atlas.table[atlas.ellipsis[0], 2])
        x, seen = wanted.x[which], np.zeros(len(which), np.int64)
        for part in range(PARTS):
            begin, end = shown[:, part, 0], shown[:, part, 1]
            there = end > begin
            gap = np.flatnonzero(there & (begin > seen))
            self.add_whole(which[gap], dots[gap], x[gap])
            x[gap] += dots_px
            some = np.flatnonzero(there)
            length = (end - begin)[some]
            self.add(which[some], entries[some], x[some], begin[some], length)
            x[some] += length
            seen[some] = end[some]
        rest = np.flatnonzero((seen > 0) & (seen < atlas.table[entries, 2]))
        self.add_whole(which[rest], dots[rest], x[rest])

    def rows(self) -> Float64Array:
        """All pieces as rows of QPainter.PixmapFragment: centre, source rectangle, scale, rotation, opacity."""
        atlas, wanted = self._atlas, self._wanted
        if not self._gathered:
            return np.empty((0, 10))
        which, entry, x, begin, width = (
            np.concatenate(column) for column in zip(*self._gathered, strict=True)
        )
        result = np.empty((len(which), 10), np.float64)
        table = atlas.table
        result[:, 0] = x + width / 2
        result[:, 1] = wanted.y[which] + atlas.line_height / 2
        result[:, 2] = table[entry, 0] + begin
        result[:, 3] = table[entry, 1]
        result[:, 4] = width
        result[:, 5] = atlas.line_height
        result[:, 6:8] = 1.0
        result[:, 8] = 0.0
        result[:, 9] = wanted.opacity[which]
        return result
