"""Elides texts that have too little room, keeping the part that distinguishes them from others in their line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline_app.timeline.draw.texts.atlas import Atlas
from warpline_app.timeline.draw.texts.text_order import Int64Array, LineTexts

Float64Array = npt.NDArray[np.float64]

PARTS = 2
"""Maximum number of pieces shown of a text, with dots in between."""


class Cut(NamedTuple):
    """Texts wider than their room: atlas entries, pixels, places among the texts of their lines."""

    entries: Int64Array
    room: Float64Array
    place: Int64Array

    def chosen(self, index: Int64Array) -> Cut:
        """The texts at these positions."""
        return Cut(self.entries[index], self.room[index], self.place[index])


def shown_parts(atlas: Atlas, cut: Cut, with_tail: npt.NDArray[np.bool_], texts: LineTexts) -> Int64Array:
    """Pieces of texts, as pixels from their left, of shape (texts, PARTS, 2); a piece without width is empty.

    They are the head of a text, and its tail if ``with_tail``, as long as the head distinguishes it from all others in
    its line. Otherwise they are the piece where it differs from the most similar ones, after as much of its head as
    fits.
    """
    entries, room, place = cut
    free, width = np.maximum(room - _dots(atlas), 0.0), atlas.table[entries, 2]
    begin = width
    if with_tail.any():
        # The tail starts at the first glyph within its share of the room.
        begin = atlas.glyph_before(entries, width - free * 0.4)
        begin = np.where(with_tail & (width - begin <= free * 0.6), begin, width)
    head = atlas.glyph_before(entries, free - (width - begin))
    parts = _two_parts(np.zeros_like(head), head, begin, width)
    closest = texts.closest(place)
    differs = atlas.letter(entries, closest)
    unclear = np.flatnonzero((closest > 0) & (head <= differs))
    if len(unclear):
        pieces, fits = _distinct_parts(atlas, cut.chosen(unclear), texts)
        parts[unclear[fits]] = pieces[fits]
    return parts


def _dots(atlas: Atlas) -> int:
    return int(atlas.table[atlas.ellipsis[0], 2])


def _two_parts(start: Int64Array, stop: Int64Array, begin: Int64Array, end: Int64Array) -> Int64Array:
    parts = np.empty((len(start), PARTS, 2), np.int64)
    parts[:, 0, 0], parts[:, 0, 1], parts[:, 1, 0], parts[:, 1, 1] = start, stop, begin, end
    return parts


def _distinct_parts(atlas: Atlas, cut: Cut, texts: LineTexts) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Pieces that contain what distinguishes a text from similar ones, and whether there is room for them."""
    entries, room, place = cut
    dots, width = _dots(atlas), atlas.table[entries, 2]
    free = np.maximum(room - dots, 0.0)
    closest = texts.closest(place)
    last = np.minimum(closest, atlas.table[entries, 4] - 1)
    after = atlas.letter(entries, last + 1)
    # Dots before the piece, and after it unless it is the end.
    span = np.where(after >= width, free, np.maximum(free - dots, 0.0))
    least = atlas.letter_from(entries, after - span)
    fits = least <= last
    branch, below = texts.branches(place, np.minimum(least, closest))
    at, word = atlas.letter(entries, np.minimum(branch, last)), atlas.word(entries, branch)
    is_tail = width - at <= free
    begin = np.where(
        width - word <= free,
        word,
        np.where(
            is_tail,
            atlas.letter(entries, atlas.letter_from(entries, width - free)),
            np.where(after - word <= span, word, at),
        ),
    )
    end = np.where(is_tail, width, atlas.glyph_before(entries, begin + free - dots))
    start, stop = _head(atlas, entries, np.where(is_tail, free - (width - begin), 0.0), below, dots)
    return _two_parts(start, stop, begin, end), fits


def _head(
    atlas: Atlas, entries: Int64Array, room: Float64Array, below: Int64Array, dots: int
) -> tuple[Int64Array, Int64Array]:
    """The start of the piece before a tail: the text's start, or where it differs from more of its line if that is
    later.
    """
    stop = atlas.glyph_before(entries, room)
    at = atlas.letter(entries, np.maximum(below, 0))
    later = atlas.glyph_before(entries, at + np.maximum(room - dots, 0.0))
    is_later = (below > 0) & (stop <= at) & (later > at)
    return np.where(is_later, at, 0), np.where(is_later, later, stop)
