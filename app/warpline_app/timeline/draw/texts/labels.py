"""Labels on bars: each name is rendered once into an atlas; a frame's labels are one draw call."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import shiboken6
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from warpline.analysis.framework.kernel_names import short_kernel_name, short_kernel_names
from warpline.i18n import translated
from warpline.model import format_duration
from warpline_app.look.theme import Theme
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.lane_codes import Boxes
from warpline_app.timeline.draw.own_names import OwnNames
from warpline_app.timeline.draw.shapes import is_drawing
from warpline_app.timeline.draw.texts.atlas import Atlas
from warpline_app.timeline.draw.texts.label_layout import MIDDLE_FROM_PX, LabelPieces, Wanted
from warpline_app.timeline.draw.texts.short_names import ShortNames
from warpline_app.timeline.model.state_causes import StateCauses
from warpline_app.timeline.model.time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture

Float64Array = npt.NDArray[np.float64]

INSET_PX = 5
GAP_PX = 9
LEAST_CUT_PX = 28
"""About five letters: a shorter piece of a name says nothing."""
_MOST_KERNELS, _MOST_NAMES = 500_000, 1_000
DIM_OPACITY = 0.7
"""Opacity of labels on dimmed events."""


_SILENT = np.zeros(codes.MAX_COLORS, bool)
# Thin bars have no room for a label; colour and place identify them.
_SILENT[[codes.INDEX["running"], codes.INDEX["runnable"]]] = True
_HATCHED = np.zeros(codes.MAX_COLORS, bool)
_HATCHED[list(codes.HATCHED_COLORS)] = True
_NO_GROUNDS = np.empty((0, 4), np.int32)


def is_template(text: str) -> bool:
    """Whether a name is distinguished by its tail."""
    return "<" in text or "::" in text


class Labels:
    """Lays out and draws the labels of a canvas."""

    def __init__(
        self, capture: Capture, font: QFont, ratio: float, theme: Theme, own_names: OwnNames | None = None
    ) -> None:
        """``own_names`` are those of boxes that are no events of the capture."""
        self._capture = capture
        self._own_names = OwnNames() if own_names is None else own_names
        self._ratio = ratio
        self._atlas = Atlas(font, ratio, (theme.ink_light, theme.ink_dark))
        # Dimmed colours are half background: choose the ink that is readable there.
        self._dim_is_dark = not theme.is_dark
        size = max(1, len(capture.strings))
        self._entry_of_name = np.full((2, size), -1, np.int32)
        self._entry_of_duration: dict[tuple[int, int], int] = {}
        self._short = ShortNames(self._atlas, self._add)
        self._zoom: tuple[float, bytes] = (0.0, b"")
        self._template = np.full(size, -1, np.int8)
        state = capture.kinds.get("thread_state")
        kernel = capture.kinds.get("kernel")
        self._kernel_kind = kernel.code if kernel is not None else -1
        self._state_kind = state.code if state is not None else -1
        self._causes = StateCauses(capture)
        self._fragments: Float64Array = np.empty((0, 10))
        self._grounds = _NO_GROUNDS
        self._budget = 0
        self._complete = True

    def take_texts(self, former: Labels) -> None:
        """Use the texts that another capture's labels have drawn, in the same font, size and inks."""
        self._atlas = former._atlas
        self._short = ShortNames(self._atlas, self._add)
        # A bound method would make a reference cycle, which keeps the capture in memory until a collection.
        former._short = self._short

    def prepare(
        self,
        boxes: Boxes,
        scale: TimeScale,
        tops: npt.NDArray[np.int64],
        heights: npt.NDArray[np.int64],
        dark: npt.NDArray[np.bool_],
        budget: int,
    ) -> bool:
        """Lay out the labels of boxes; ``tops`` and ``heights`` (device pixels) are of their lines.

        At most ``budget`` texts are added to the atlas per frame; returns whether some are left for the next.
        """
        self._fragments = np.empty((0, 10))
        self._grounds = _NO_GROUNDS
        ratio, atlas = self._ratio, self._atlas
        self._budget, self._complete = budget, True
        zoom = scale.ns_per_px, tops.tobytes()
        if zoom != self._zoom:
            self._zoom = zoom
            self._short.forget()
        left = np.maximum(scale.to_px_array(boxes.start), 0.0) + INSET_PX * ratio
        right = np.minimum(scale.to_px_array(boxes.stop), scale.width_px) - 3 * ratio
        shown = ~_SILENT[boxes.color] & (heights[boxes.line] >= 11 * ratio)
        chosen = np.flatnonzero(shown & (right - left >= 14 * ratio))
        if not len(chosen):
            return False
        # The page is allocated when the first label is needed.
        if atlas.is_nearly_full or atlas.pixmap.isNull():
            atlas.clear()
            self._entry_of_name.fill(-1)
            self._entry_of_duration.clear()
            self._short = ShortNames(atlas, self._add)
        mine = boxes.chosen(chosen)
        inks = np.where(mine.dim, self._dim_is_dark, dark[mine.color]).astype(np.int64)
        entries = self._entries(mine, inks)
        known = np.flatnonzero(entries >= 0)
        if len(known) < len(entries):
            chosen, mine, entries, inks = chosen[known], mine.chosen(known), entries[known], inks[known]
        left = left[chosen]
        wanted = Wanted(
            line=mine.line,
            entry=entries,
            ink=inks,
            x=np.round(left),
            y=np.round((tops + heights / 2)[mine.line] - atlas.line_height / 2),
            room=right[chosen] - left,
            opacity=np.where(mine.dim, DIM_OPACITY, 1.0),
        )
        own = (mine.stop - mine.start) / scale.ns_per_px - (INSET_PX + 3) * ratio
        pieces = self._lay_out(mine, wanted, own)
        self._fragments, reach = pieces.rows(), pieces.reach
        ground = np.flatnonzero(_HATCHED[mine.color] & (reach > 0))
        line = mine.line[ground]
        air, top = 3 * ratio, tops[line] + 1
        bottom = top + heights[line] - 2
        edges = np.column_stack((left[ground] - air, top, reach[ground] + air - 1, bottom - 1))
        self._grounds = np.floor(edges + 0.5).astype(np.int32)
        return not self._complete

    def paint(self, painter: QPainter, ground: QColor) -> None:
        """Draw the last layout, in device pixels; labels on hatched boxes get the plain ``ground`` as background."""
        if len(self._grounds):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ground)
            painter.drawRects(shiboken6.wrapInstance(self._grounds.ctypes.data, QRect), len(self._grounds))
        if is_drawing(painter):
            self._atlas.write(painter, self._fragments)
        elif len(self._fragments):
            pointer = shiboken6.wrapInstance(self._fragments.ctypes.data, QPainter.PixmapFragment)
            painter.drawPixmapFragments(pointer, len(self._fragments), self._atlas.pixmap)

    def spans_between(self, top: float, bottom: float) -> Float64Array:
        """Horizontal extents of labels whose middle is between two heights; shape (texts, 2), device pixels."""
        middle = self._fragments[:, 1]
        near = self._fragments[(middle > top) & (middle < bottom)]
        half = near[:, 4] / 2
        return np.column_stack((near[:, 0] - half, near[:, 0] + half))

    def _entries(self, boxes: Boxes, inks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Atlas entries of box names; −1 for those that must wait for the next frame."""
        own = np.flatnonzero(boxes.row < 0)
        entries = np.empty(len(boxes.row), np.int64)
        for place in own.tolist():
            entries[place] = self._add(self._own_names.text(int(boxes.row[place])), int(inks[place]))
        known = np.flatnonzero(boxes.row >= 0)
        entries[known] = self._event_entries(boxes.row[known], inks[known])
        return entries

    def _event_entries(
        self, rows: npt.NDArray[np.int64], inks: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        of_name = self._entry_of_name
        names = np.minimum(self._capture.events.name[rows].astype(np.int64), of_name.shape[1] - 1)
        kinds = self._capture.events.kind[rows]
        entries = of_name[inks, names].astype(np.int64)
        new = np.flatnonzero(entries < 0)
        if len(new):
            self._add_names(names[new], inks[new], kinds[new])
            entries = of_name[inks, names].astype(np.int64)
        explained = np.flatnonzero(kinds == self._causes.code)
        for index, row in zip(explained.tolist(), rows[explained].tolist(), strict=True):
            cause = self._causes.text(row)
            if cause:
                entries[index] = self._add(cause, int(inks[index]))
        return entries

    def _add_names(
        self, names: npt.NDArray[np.int64], inks: npt.NDArray[np.int64], kinds: npt.NDArray[np.uint8]
    ) -> None:
        kernels = set(names[kinds == self._kernel_kind].tolist())
        # States are the only names that Warpline translates.
        states = set(names[kinds == self._state_kind].tolist())
        short = self.kernel_names if kernels else {}
        for name, ink in set(zip(names.tolist(), inks.tolist(), strict=True)):
            text = self._capture.strings[name]
            if name in kernels:
                shown = short.get(text) or short_kernel_name(text)
            else:
                shown = translated(text) if name in states else text
            self._entry_of_name[ink, name] = self._add(shown, ink)

    @cached_property
    def kernel_names(self) -> dict[str, str]:
        """Short names of all kernels, distinct as in titles and tables; empty if there are too many for a frame."""
        table = self._capture.kinds["kernel"]
        if len(table) > _MOST_KERNELS:
            return {}
        names = np.asarray(self._capture.events.name[table.index_rows], np.int64)
        is_there = np.zeros(len(self._capture.strings), bool)
        is_there[names[names < len(is_there)]] = True
        ids = np.flatnonzero(is_there)
        return short_kernel_names(self._capture.strings.get(ids.tolist())) if len(ids) <= _MOST_NAMES else {}

    def _add(self, text: str, ink: int) -> int:
        atlas = self._atlas
        entry = atlas.get(text, ink)
        if entry < 0:
            if self._budget <= 0 or atlas.is_nearly_full:
                self._complete = self._complete and self._budget > 0
                return -1
            self._budget -= 1
            entry = atlas.add(text, ink)
        return entry

    def _durations(
        self, lengths: npt.NDArray[np.int64], inks: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        known = self._entry_of_duration
        result = np.empty(len(lengths), np.int64)
        for index, key in enumerate(zip(lengths.tolist(), inks.tolist(), strict=True)):
            entry = known.get(key, -1)
            if entry < 0:
                entry = self._add(format_duration(key[0]), key[1])
                if entry >= 0:
                    known[key] = entry
            result[index] = entry
        return result

    def _lay_out(self, boxes: Boxes, wanted: Wanted, own: Float64Array) -> LabelPieces:
        """Lay out all labels and return their pieces; ``own`` holds the full width of each box."""
        ratio, atlas = self._ratio, self._atlas
        may = ~self._is_of_kind(boxes.row, self._causes.code)
        entries = self._short.in_lines(wanted.line, wanted.entry, wanted.ink, own, may)
        pieces = LabelPieces(atlas, wanted)
        width = atlas.table[entries, 2]
        whole = width <= wanted.room
        fit = np.flatnonzero(whole)
        pieces.add_whole(fit, entries[fit], wanted.x[fit])
        after = wanted.room - width - GAP_PX * ratio
        timed = np.flatnonzero(whole & (after > 24 * ratio))
        if len(timed):
            durations = self._durations((boxes.stop - boxes.start)[timed], wanted.ink[timed])
            length = np.where(durations >= 0, atlas.table[durations, 2], 1 << 20)
            fits = length <= after[timed]
            timed, durations = timed[fits], durations[fits]
            pieces.add_whole(timed, durations, pieces.reach[timed] + round(GAP_PX * ratio))
        free = wanted.room - int(atlas.table[atlas.ellipsis[0], 2])
        cut = np.flatnonzero(~whole & (free >= LEAST_CUT_PX * ratio))
        if len(cut):
            with_tail = (free[cut] >= MIDDLE_FROM_PX * ratio) & self._is_template(boxes.row[cut])
            # Only compare lines that contain a cut label.
            is_compared = np.zeros(int(wanted.line.max()) + 1, bool)
            is_compared[wanted.line[cut]] = True
            compared = np.flatnonzero(is_compared[wanted.line])
            texts = self._short.line_texts(wanted.line[compared], entries[compared])
            pieces.add_cut(cut, entries, with_tail, texts, texts.place[compared.searchsorted(cut)])
        return pieces

    def _is_template(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        result = np.zeros(len(rows), bool)
        for place in np.flatnonzero(rows < 0).tolist():
            result[place] = is_template(self._own_names.text(int(rows[place])))
        known = np.flatnonzero(rows >= 0)
        names = np.minimum(self._capture.events.name[rows[known]].astype(np.int64), len(self._template) - 1)
        for name in set(names[self._template[names] < 0].tolist()):
            self._template[name] = is_template(self._capture.strings[name])
        # The distinguishing part of a kernel comes first in its short name.
        result[known] = (self._template[names] == 1) & ~self._is_of_kind(rows[known], self._kernel_kind)
        return result

    def _is_of_kind(self, rows: npt.NDArray[np.int64], code: int) -> npt.NDArray[np.bool_]:
        """Whether rows are events of a kind; a number of a name is of none."""
        result = np.zeros(len(rows), bool)
        known = np.flatnonzero(rows >= 0)
        result[known] = self._capture.events.kind[rows[known]] == code
        return result
