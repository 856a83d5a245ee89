"""Shortens names by the prefix they share with others in their line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.kernel_names import without_prefix
from warpline_app.timeline.draw.texts.atlas import Atlas
from warpline_app.timeline.draw.texts.text_order import Int64Array, LineTexts, TextOrder

_TEXT_BITS = 24


class ShortNames:
    """Short forms and order of an atlas's texts, by entry; dropped when the atlas starts over.

    ``add`` returns the entry of a text in an ink, −1 if it must wait for a later frame.
    """

    def __init__(self, atlas: Atlas, add: Callable[[str, int], int]) -> None:
        self._atlas = atlas
        self._add = add
        self._order = TextOrder()
        self._short: Int64Array = np.empty(0, np.int64)
        self._number: Int64Array = np.empty(0, np.int64)
        self.forget()

    def forget(self) -> None:
        """Decide anew which lines are short; call it when the view changes other than by panning.

        Until then names keep their form while bars come and go.
        """
        self._short_lines: Int64Array = np.empty(0, np.int64)
        self._long_texts: Int64Array = np.empty(0, np.int64)

    def in_lines(
        self,
        lines: Int64Array,
        entries: Int64Array,
        inks: Int64Array,
        room: npt.NDArray[np.float64],
        may: npt.NDArray[np.bool_],
    ) -> Int64Array:
        """Shorter entries where ``may`` allows them, in lines where at least one gains its whole short name.

        All texts of such a line are shortened alike, except those that would become equal.
        """
        width = self._atlas.table[:, 2]
        tight = np.flatnonzero(may & (width[entries] > room))
        short = self._short_of(entries[tight], inks[tight])
        width = self._atlas.table[:, 2]
        gains = tight[(short != entries[tight]) & (width[short] <= room[tight])]
        self._short_lines = _distinct(self._short_lines, lines[gains])
        mine = np.flatnonzero(np.isin(lines, self._short_lines))
        if not len(mine):
            return entries
        allowed = mine[may[mine]]
        result = entries.copy()
        result[allowed] = self._short_of(entries[allowed], inks[allowed])
        # Different names with the same short form stay long.
        long_text = (lines[mine] << _TEXT_BITS) + self._numbers(entries[mine])
        short_text = (lines[mine] << _TEXT_BITS) + self._numbers(result[mine])
        pairs = _distinct((short_text << _TEXT_BITS) + self._numbers(entries[mine])) >> _TEXT_BITS
        alike = pairs[1:][pairs[1:] == pairs[:-1]]
        self._long_texts = _distinct(self._long_texts, long_text[np.isin(short_text, alike)])
        same = mine[np.isin(long_text, self._long_texts)]
        result[same] = entries[same]
        return result

    def line_texts(self, lines: Int64Array, entries: Int64Array) -> LineTexts:
        """These texts, sorted by line."""
        return LineTexts(self._order, lines, self._numbers(entries))

    def _short_of(self, entries: Int64Array, inks: Int64Array) -> Int64Array:
        self._short = self._long_enough(self._short)
        new = np.flatnonzero(self._short[entries] < 0)
        for entry, ink in set(zip(entries[new].tolist(), inks[new].tolist(), strict=True)):
            text = self._atlas.text_of(entry)
            rest = without_prefix(text)
            self._short[entry] = self._add(rest, ink) if rest != text else entry
        return np.where(self._short[entries] >= 0, self._short[entries], entries)

    def _numbers(self, entries: Int64Array) -> Int64Array:
        self._number = self._long_enough(self._number)
        for entry in set(entries[self._number[entries] < 0].tolist()):
            self._number[entry] = self._order.add(self._atlas.text_of(entry))
        return self._number[entries]

    def _long_enough(self, known: Int64Array) -> Int64Array:
        missing = len(self._atlas.table) - len(known)
        return np.append(known, np.full(missing + 256, -1, np.int64)) if missing > 0 else known


def _distinct(*parts: Int64Array) -> Int64Array:
    """Distinct values in order. Asked for values alone, numpy first imports its masked arrays."""
    return np.unique(np.concatenate(parts), return_counts=True)[0]
