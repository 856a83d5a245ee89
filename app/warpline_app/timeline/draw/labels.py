"""Texts on bars: every name is rendered once into an atlas, a frame's labels are one draw call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QPainter

from warpline.i18n import translated
from warpline.model import format_duration
from warpline_app.look.theme import Theme
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.atlas import Atlas
from warpline_app.timeline.draw.lane_codes import Boxes
from warpline_app.timeline.draw.shapes import is_drawing
from warpline_app.timeline.model.kernel_names import short_kernel_name
from warpline_app.timeline.model.state_causes import StateCauses
from warpline_app.timeline.model.time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture

Float64Array = npt.NDArray[np.float64]

INSET_PX = 5
GAP_PX = 9
MIDDLE_FROM_PX = 96
DIM_OPACITY = 0.7
"""Of the texts on what is dimmed."""


_SILENT = np.zeros(codes.MAX_COLORS, bool)
# Thin bars have no room for a text; their colour and place say it.
_SILENT[[codes.INDEX["running"], codes.INDEX["runnable"]]] = True
_HATCHED = np.zeros(codes.MAX_COLORS, bool)
_HATCHED[list(codes.HATCHED_COLORS)] = True


def is_template(text: str) -> bool:
    """Whether the tail of a name is what tells it from its neighbours."""
    return "<" in text or "::" in text


class Labels:
    """Lays out and draws the texts of one canvas."""

    def __init__(self, capture: Capture, font: QFont, ratio: float, theme: Theme) -> None:
        self._capture = capture
        self._ratio = ratio
        self._atlases = (Atlas(font, ratio, theme.ink_light), Atlas(font, ratio, theme.ink_dark))
        # Half of the background is in what is dimmed: the ink that is read there suits that.
        self._dim_is_dark = not theme.is_dark
        size = max(1, len(capture.strings))
        self._entry_of_name = [np.full(size, -1, np.int32) for _ in self._atlases]
        self._entry_of_duration: list[dict[int, int]] = [{}, {}]
        self._generations = [atlas.generation for atlas in self._atlases]
        self._template = np.full(size, -1, np.int8)
        state = capture.kinds.get("thread_state")
        kernel = capture.kinds.get("kernel")
        self._kernel_kind = kernel.code if kernel is not None else -1
        self._state_kind = state.code if state is not None else -1
        self._causes = StateCauses(capture)
        self._batches: list[tuple[Atlas, Float64Array]] = []
        self._grounds: list[QRectF] = []
        self._budget = 0
        self._complete = True

    def prepare(
        self,
        boxes: Boxes,
        scale: TimeScale,
        tops: npt.NDArray[np.int64],
        heights: npt.NDArray[np.int64],
        dark: npt.NDArray[np.bool_],
        budget: int,
    ) -> bool:
        """Lays out the texts of boxes; ``tops`` and ``heights`` (device pixels) are of their lines.

        At most ``budget`` texts are new to the atlas in one frame; returns whether some were left for the next.
        """
        self._batches = []
        self._grounds = []
        ratio = self._ratio
        self._budget, self._complete = budget, True
        left = np.maximum(scale.to_px_array(boxes.start), 0.0) + INSET_PX * ratio
        right = np.minimum(scale.to_px_array(boxes.stop), scale.width_px) - 3 * ratio
        shown = ~_SILENT[boxes.color] & (heights[boxes.line] >= 11 * ratio)
        shown &= right - left >= 14 * ratio
        is_dark = np.where(boxes.dim, self._dim_is_dark, dark[boxes.color])
        for ink, atlas in enumerate(self._atlases):
            chosen = np.flatnonzero(shown & (is_dark == bool(ink)))
            if not len(chosen):
                continue
            # A page takes its memory when the first text in its ink is wanted.
            if atlas.is_nearly_full or atlas.pixmap.isNull():
                atlas.clear()
            if atlas.generation != self._generations[ink]:
                self._generations[ink] = atlas.generation
                self._entry_of_name[ink].fill(-1)
                self._entry_of_duration[ink].clear()
            mine = boxes.chosen(chosen)
            entries = self._entries(ink, atlas, mine)
            known = np.flatnonzero(entries >= 0)
            fragments, reach = self._lay_out(
                ink,
                atlas,
                mine.chosen(known),
                entries[known],
                np.round(left[chosen][known]),
                (right - left)[chosen][known],
                np.round((tops + heights / 2)[mine.line[known]] - atlas.line_height / 2),
            )
            hatched = np.flatnonzero(_HATCHED[mine.color[known]] & (reach > 0))
            for index in hatched.tolist():
                line, x = mine.line[known[index]], left[chosen[known[index]]] - 3 * ratio
                width = reach[index] - x + 3 * ratio
                self._grounds.append(QRectF(x, tops[line] + 1, width, heights[line] - 2))
            self._batches.append((atlas, np.ascontiguousarray(np.concatenate(fragments))))
        return not self._complete

    def paint(self, painter: QPainter, ground: QColor) -> None:
        """Draws what was laid out last, in device pixels; text on a hatched box gets the plain ``ground`` behind it."""
        for rectangle in self._grounds:
            painter.fillRect(rectangle, ground)
        as_text = is_drawing(painter)
        for atlas, fragments in self._batches:
            if as_text:
                atlas.write(painter, fragments)
            elif len(fragments):
                pointer = shiboken6.wrapInstance(fragments.ctypes.data, QPainter.PixmapFragment)
                painter.drawPixmapFragments(pointer, len(fragments), atlas.pixmap)

    def _entries(self, ink: int, atlas: Atlas, boxes: Boxes) -> npt.NDArray[np.int64]:
        """Entries of the names of boxes; −1 for those that must wait for the next frame."""
        of_name = self._entry_of_name[ink]
        names = np.minimum(self._capture.events.name[boxes.row].astype(np.int64), len(of_name) - 1)
        is_new = of_name[names] < 0
        kernels = set(names[is_new & self._is_kernel(boxes.row)].tolist())
        # States are the only names that are ours.
        states = set(names[is_new & (self._capture.events.kind[boxes.row] == self._state_kind)].tolist())
        for name in set(names[is_new].tolist()):
            text = self._capture.strings[name]
            shown = (
                short_kernel_name(text) if name in kernels else translated(text) if name in states else text
            )
            of_name[name] = self._add(atlas, shown)
        entries = of_name[names].astype(np.int64)
        explained = np.flatnonzero(self._capture.events.kind[boxes.row] == self._causes.code)
        for index, row in zip(explained.tolist(), boxes.row[explained].tolist(), strict=True):
            cause = self._causes.text(row)
            if cause:
                entries[index] = self._add(atlas, cause)
        return entries

    def _add(self, atlas: Atlas, text: str) -> int:
        entry = atlas.get(text)
        if entry < 0:
            if self._budget <= 0 or atlas.is_nearly_full:
                self._complete = self._complete and self._budget > 0
                return -1
            self._budget -= 1
            entry = atlas.add(text)
        return entry

    def _durations(self, ink: int, atlas: Atlas, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        known = self._entry_of_duration[ink]
        result = np.empty(len(lengths), np.int64)
        for index, length in enumerate(lengths.tolist()):
            entry = known.get(length, -1)
            if entry < 0:
                entry = self._add(atlas, format_duration(length))
                if entry >= 0:
                    known[length] = entry
            result[index] = entry
        return result

    def _lay_out(
        self,
        ink: int,
        atlas: Atlas,
        boxes: Boxes,
        entries: npt.NDArray[np.int64],
        x: Float64Array,
        room: Float64Array,
        y: Float64Array,
    ) -> tuple[list[Float64Array], Float64Array]:
        """Fragments of all labels, and how far each reaches (0 for none)."""
        ratio = self._ratio
        width = atlas.table[entries, 2]
        whole = width <= room
        fit = np.flatnonzero(whole)
        reach = np.zeros(len(entries))
        opacity = np.where(boxes.dim, DIM_OPACITY, 1.0)
        parts = [_fragments(atlas, entries[fit], x[fit], y[fit], 0, width[fit], opacity[fit])]
        reach[fit] = x[fit] + width[fit]
        after = room - width - GAP_PX * ratio
        told = np.flatnonzero(whole & (after > 24 * ratio))
        if len(told):
            durations = self._durations(ink, atlas, (boxes.stop - boxes.start)[told])
            length = np.where(durations >= 0, atlas.table[durations, 2], 1 << 20)
            fits = length <= after[told]
            told, durations, length = told[fits], durations[fits], length[fits]
            at = reach[told] + round(GAP_PX * ratio)
            parts.append(_fragments(atlas, durations, at, y[told], 0, length, opacity[told]))
            reach[told] = at + length
        cut = np.flatnonzero(~whole)
        dots = int(atlas.table[atlas.ellipsis, 2])
        free = room[cut] - dots
        cut, free = cut[free >= 10 * ratio], free[free >= 10 * ratio]
        if len(cut):
            middle = (free >= MIDDLE_FROM_PX * ratio) & self._is_template(boxes.row[cut])
            # The tail begins at the first glyph after what it may take.
            begin = atlas.glyph_before(entries[cut], width[cut] - free * 0.4)
            tail = np.where(middle, width[cut] - begin, 0)
            too_wide = tail > free * 0.6
            tail = np.where(too_wide, 0, tail)
            head = atlas.glyph_before(entries[cut], free - tail)
            some = head > 0
            cut, head, tail, begin = cut[some], head[some], tail[some], begin[some]
            parts.append(_fragments(atlas, entries[cut], x[cut], y[cut], 0, head, opacity[cut]))
            all_dots = np.full(len(cut), atlas.ellipsis)
            wide = np.full(len(cut), dots)
            parts.append(_fragments(atlas, all_dots, x[cut] + head, y[cut], 0, wide, opacity[cut]))
            ends = np.flatnonzero(tail > 0)
            parts.append(
                _fragments(
                    atlas,
                    entries[cut[ends]],
                    x[cut[ends]] + head[ends] + dots,
                    y[cut[ends]],
                    begin[ends],
                    tail[ends],
                    opacity[cut[ends]],
                )
            )
            reach[cut] = x[cut] + head + dots + tail
        return parts, reach

    def _is_template(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        names = np.minimum(self._capture.events.name[rows].astype(np.int64), len(self._template) - 1)
        for name in set(names[self._template[names] < 0].tolist()):
            self._template[name] = is_template(self._capture.strings[name])
        # What tells a kernel stands first in its short name.
        return np.asarray((self._template[names] == 1) & ~self._is_kernel(rows), bool)

    def _is_kernel(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        return np.asarray(self._capture.events.kind[rows] == self._kernel_kind, bool)


def _fragments(
    atlas: Atlas,
    entries: npt.NDArray[np.int64],
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    source: npt.NDArray[Any] | int,
    width: npt.NDArray[Any],
    opacity: Float64Array,
) -> Float64Array:
    """Rows of QPainter.PixmapFragment: centre, source rectangle, scale, rotation, opacity."""
    result = np.empty((len(entries), 10), np.float64)
    table = atlas.table
    result[:, 0] = x + width / 2
    result[:, 1] = y + atlas.line_height / 2
    result[:, 2] = table[entries, 0] + source
    result[:, 3] = table[entries, 1]
    result[:, 4] = width
    result[:, 5] = atlas.line_height
    result[:, 6:8] = 1.0
    result[:, 8] = 0.0
    result[:, 9] = opacity
    return result
