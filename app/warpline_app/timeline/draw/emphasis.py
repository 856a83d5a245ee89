"""Decides which events keep their full colour and which are dimmed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.model.name_rows import NameGroup
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.model.why.chain import EventChain, among

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.strip import Strip

Int64Array = npt.NDArray[np.int64]
UInt16Array = npt.NDArray[np.uint16]
UInt8Array = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Emphasis:
    """Masks over name ids (``names``) and kind codes (``kinds``), and the only ``rows`` that pass, ascending.

    Events of ``chain`` keep their colour in any case; with a chain alone, all others are dimmed.
    """

    names: BoolArray | None = None
    kinds: BoolArray | None = None
    rows: Int64Array | None = None
    chain: EventChain | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is dimmed."""
        return not self._chooses and self.chain is None

    @property
    def _chooses(self) -> bool:
        return self.names is not None or self.kinds is not None or self.rows is not None

    def dimmed(
        self, colors: EventColors, rows: Int64Array, kind: UInt8Array, lanes: Int64Array, start_ns: Int64Array
    ) -> BoolArray:
        """Whether each event is dimmed; columns of equal length."""
        result = self.dimmed_by_kind(colors, rows, kind)
        if self.chain is not None:
            result &= ~self.chain.holds(rows, lanes, start_ns)
        return result

    def dimmed_by_kind(self, colors: EventColors, rows: Int64Array, kind: UInt8Array) -> BoolArray:
        """Like `dimmed`, without the chain."""
        result = np.full(len(rows), not self._chooses and self.chain is not None)
        if self.names is not None:
            result |= ~self.names[colors.names(rows)]
        if self.kinds is not None:
            result |= ~self.kinds[kind]
        if self.rows is not None:
            result |= ~among(rows, self.rows)
        return result

    def dimmed_marks(self, colors: EventColors, strip: Strip, lanes: Int64Array) -> BoolArray:
        """Whether each cell of a strip, for events shorter than a cell, is dimmed: bool of shape (cells,).

        A cell that contains an event of the chain is not dimmed, even if a longer event represents it.
        """
        marks = strip.mark_row.ravel()
        result = marks >= 0
        if self._chooses:
            filled = np.flatnonzero(result)
            kind = strip.mark_kind.ravel()[filled]
            result[filled] = self.dimmed_by_kind(colors, marks[filled], kind)
        if self.chain is not None:
            scale = TimeScale(strip.start_ns, strip.stop_ns, strip.width_px)
            result[_cells(self.chain, lanes, scale)] = False
            cells = result.reshape(len(lanes), strip.width_px)
            for stretch in self.chain.stretches:
                first, stop = (scale.to_px(time) for time in (stretch.start_ns, stretch.stop_ns))
                columns = slice(max(0, math.floor(first)), max(0, math.ceil(stop)))
                cells[among(lanes, stretch.lanes), columns] = False
        return result


def _cells(chain: EventChain, lanes: Int64Array, scale: TimeScale) -> Int64Array:
    """Cells of lines of ``lanes`` in which events of a chain start; a lane may have several lines."""
    first = np.searchsorted(chain.lanes, lanes, "left")
    count = np.searchsorted(chain.lanes, lanes, "right") - first
    line = np.repeat(np.arange(len(lanes)), count)
    start = chain.starts[np.arange(len(line)) + np.repeat(first - (np.cumsum(count) - count), count)]
    seen = np.flatnonzero((start >= scale.start_ns) & (start < scale.stop_ns))
    column = np.clip(scale.to_px_array(start[seen]).astype(np.int64), 0, scale.width_px - 1)
    return np.asarray(line[seen] * scale.width_px + column)


def light_groups(out: UInt16Array, groups: Sequence[NameGroup], chain: EventChain, scale: TimeScale) -> None:
    """Restore the colour of columns of dimmed groups, a line of codes each, where events of a chain start."""
    for line, group in zip(out, groups, strict=True):
        start = chain.starts_in(group)
        column = scale.to_px_array(start[(start >= scale.start_ns) & (start < scale.stop_ns)]).astype(
            np.int64
        )
        column = np.unique(np.minimum(column, scale.width_px - 1))
        variant = line[column] % codes.VARIANTS
        dim = (variant >= codes.DIM_DENSITY) & (variant < codes.DIM_DENSITY + codes.LEVELS)
        line[column[dim]] -= codes.DIM_DENSITY - codes.DENSITY


EVERYTHING = Emphasis()


def emphasis_for(
    capture: Capture,
    names: Int64Array | None,
    kinds: frozenset[str],
    rows: Int64Array | None = None,
    chain: EventChain | None = None,
) -> Emphasis:
    """Emphasis on events with these name ids (None: any), kinds (empty: any) and rows (None: any), and on the chain."""
    if names is None and not kinds and rows is None and chain is None:
        return EVERYTHING
    mask = None
    if names is not None:
        mask = np.zeros(max(1, len(capture.strings)), bool)
        mask[names[names < len(mask)]] = True
    kind_mask = None
    if kinds:
        kind_mask = np.zeros(256, bool)
        kind_mask[[table.code for name, table in capture.kinds.items() if name in kinds]] = True
    return Emphasis(mask, kind_mask, rows, chain)
