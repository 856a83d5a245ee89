"""From events to lines of codes (`codes`), one line per lane, and keeping them while the view pans.

`StripCache` shifts the lines it has and asks only for the columns that came into view. All positions here are
device pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.model import Flag

from . import codes
from .name_index import NameGroup
from .painters import Painter
from .time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
UInt16Array = npt.NDArray[np.uint16]

LABEL_MIN_PX = 24
"""Events narrower than this (logical pixels) carry no text."""
NAMED_SHARE = 0.125
"""Events narrower than this share of `LABEL_MIN_PX` (3 pixels) have the colour of their kind, not of their name."""
HAIR_PX = 1 / 64
OVERSCAN_PX = 96
"""Columns kept on both sides of the view, so that a pan asks for more only now and then."""
OVERSCAN_FROM_NS = 200_000
"""In shorter views a nanosecond is too much of a pixel to widen them."""
_HATCHED = np.zeros(codes.MAX_COLORS, bool)
_HATCHED[list(codes.HATCHED_COLORS)] = True


@dataclass(frozen=True)
class Boxes:
    """Rectangles: line, event row, start and stop (int64 ns), colour number, and whether dimmed."""

    line: Int64Array
    row: Int64Array
    start: Int64Array
    stop: Int64Array
    color: npt.NDArray[np.int32]
    dim: BoolArray

    def chosen(self, keep: BoolArray | Int64Array) -> Boxes:
        """Those where ``keep`` is true, or those at the positions it holds."""
        return Boxes(*(getattr(self, name)[keep] for name in _BOX_FIELDS))

    def joined(self, other: Boxes) -> Boxes:
        """Both, behind each other."""
        return joined_boxes([self, other])


def joined_boxes(parts: Sequence[Boxes]) -> Boxes:
    """All of them, behind each other; at least one."""
    some = [part for part in parts if len(part.row)]
    if len(some) <= 1:
        return some[0] if some else parts[0]
    return Boxes(*(np.concatenate([getattr(part, name) for part in some]) for name in _BOX_FIELDS))


NO_BOXES = Boxes(
    line=np.empty(0, np.int64),
    row=np.empty(0, np.int64),
    start=np.empty(0, np.int64),
    stop=np.empty(0, np.int64),
    color=np.empty(0, np.int32),
    dim=np.empty(0, bool),
)
_BOX_FIELDS = ("line", "row", "start", "stop", "color", "dim")


@dataclass(frozen=True)
class Lines:
    """Codes of shape (lines, width) for one view, and the boxes that may carry a text."""

    codes: UInt16Array
    boxes: Boxes
    touched: int = 0


@dataclass(frozen=True, eq=False)
class Emphasis:
    """Which events keep their full colour. ``names`` and ``kinds`` are masks over name ids and kind codes."""

    names: BoolArray | None = None
    kinds: BoolArray | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is dimmed."""
        return self.names is None and self.kinds is None

    def dimmed(self, painter: Painter, rows: Int64Array, kind: npt.NDArray[np.uint8]) -> BoolArray:
        """For each event whether it is dimmed."""
        result = np.zeros(len(rows), bool)
        if self.names is not None:
            result |= ~self.names[painter.names(rows)]
        if self.kinds is not None:
            result |= ~self.kinds[kind]
        return result


EVERYTHING = Emphasis()


def compose_lanes(
    painter: Painter,
    lanes: Int64Array,
    scale: TimeScale,
    *,
    bin_px: int = 1,
    phase: int = 0,
    emphasis: Emphasis = EVERYTHING,
    label_min_px: int = LABEL_MIN_PX,
) -> Lines:
    """Codes of lanes. ``bin_px`` 2 asks for half as many columns (while zooming), ``phase`` keeps hatches in place."""
    width = scale.width_px
    columns = -(-width // bin_px)
    strip = painter.capture.query(lanes, scale.start_ns, scale.stop_ns, columns)
    out = np.zeros(strip.busy.shape, np.uint16)
    filled = np.flatnonzero((strip.mark_row.ravel() >= 0) | (strip.busy.ravel() > 0))
    if len(filled):
        busy = strip.busy.ravel()[filled]
        mark = strip.mark_row.ravel()[filled]
        kind, flags = strip.mark_kind.ravel()[filled], strip.mark_flags.ravel()[filled]
        color = painter.mark_colors(kind, flags)
        level = np.clip(np.ceil(busy * codes.LEVELS), 2, codes.LEVELS).astype(np.int32)
        instant = (busy == 0) & (mark >= 0)
        level[instant] = codes.LEVELS // 2
        variant = codes.DENSITY - 1 + level
        if not emphasis.is_everything:
            dim = emphasis.dimmed(painter, np.maximum(mark, 0), kind)
            variant[dim] += codes.DIM_DENSITY - codes.DENSITY
        out.ravel()[filled] = color * codes.VARIANTS + variant
    if bin_px > 1:
        out = np.repeat(out, bin_px, axis=1)[:, :width]
    out = np.ascontiguousarray(out)
    color = painter.colors(strip.rect_row, strip.rect_kind, strip.rect_flags)
    # Names have no colour below a few pixels: a rainbow would tell nothing.
    narrow = np.flatnonzero(strip.rect_stop - strip.rect_start < NAMED_SHARE * label_min_px * scale.ns_per_px)
    color[narrow] = painter.plain_colors(color[narrow], strip.rect_kind[narrow])
    dim = emphasis.dimmed(painter, strip.rect_row, strip.rect_kind)
    boxes = Boxes(strip.rect_lane, strip.rect_row, strip.rect_start, strip.rect_stop, color, dim)
    draw_boxes(out, boxes, strip.rect_flags, scale, phase)
    wide = (boxes.stop - boxes.start) >= label_min_px * scale.ns_per_px
    return Lines(out, boxes.chosen(wide), strip.touched)


def compose_group(
    painter: Painter,
    group: NameGroup,
    line: int,
    out: UInt16Array,
    scale: TimeScale,
    *,
    emphasis: Emphasis = EVERYTHING,
) -> Boxes:
    """Some events of a track (one kernel name, one direction): writes what is shorter than a pixel to ``out[line]``.

    Returns the rectangles of the others, which are not drawn yet.
    """
    start, duration, _prefix, longest = group.columns(painter.capture)
    low = int(np.searchsorted(start, scale.start_ns - longest, "left"))
    high = int(np.searchsorted(start, scale.stop_ns, "left"))
    if low == high:
        return NO_BOXES
    begin, length = start[low:high], duration[low:high]
    color_number = codes.INDEX.get(group.family, codes.INDEX["kernel"])
    dim_all = False
    if not emphasis.is_everything and len(begin):
        first = group.rows[:1]
        dim_all = bool(emphasis.dimmed(painter, first, np.asarray(painter.capture.events.kind[first]))[0])
    pixel = scale.ns_per_px
    is_box = length >= pixel
    small = np.flatnonzero(~is_box & (begin >= scale.start_ns))
    if len(small):
        column = np.minimum(((begin[small] - scale.start_ns) / pixel).astype(np.int64), scale.width_px - 1)
        busy = np.bincount(column, length[small], minlength=scale.width_px) / pixel
        marked = np.bincount(column, minlength=scale.width_px) > 0
        level = np.clip(np.ceil(busy * codes.LEVELS), 2, codes.LEVELS).astype(np.int32)
        base = codes.DIM_DENSITY if dim_all else codes.DENSITY
        out[line] = np.where(marked, color_number * codes.VARIANTS + base - 1 + level, 0)
    chosen = np.flatnonzero(is_box & (begin + length > scale.start_ns))
    rows = group.rows[low:high][chosen]
    return Boxes(
        np.full(len(chosen), line, np.int64),
        rows,
        begin[chosen],
        begin[chosen] + length[chosen],
        np.full(len(chosen), color_number, np.int32),
        np.full(len(chosen), dim_all),
    )


def draw_boxes(
    out: UInt16Array, boxes: Boxes, flags: npt.NDArray[np.uint8], scale: TimeScale, phase: int
) -> None:
    """Writes exact rectangles as runs of codes, with a darker leading edge where there is room for it."""
    if not len(boxes.row):
        return
    width = scale.width_px
    # A hair to the right: what begins at a pixel's edge stays in that pixel when a pan rounds a nanosecond away.
    low = np.floor(scale.to_px_array(boxes.start) + HAIR_PX).astype(np.int64)
    high = np.maximum(np.floor(scale.to_px_array(boxes.stop) + HAIR_PX).astype(np.int64), low + 1)
    first, last = np.clip(low, 0, width), np.clip(high, 0, width)
    n = last - first
    total = int(n.sum())
    if not total:
        return
    flat = out.ravel()
    origin = boxes.line * width + first
    position = np.repeat(origin - (np.cumsum(n) - n), n) + np.arange(total)
    hatched = _HATCHED[boxes.color] & ~boxes.dim
    estimated = (flags & Flag.ESTIMATED) != 0
    variant = np.where(boxes.dim, codes.DIM, np.where(estimated & ~hatched, codes.ESTIMATED, codes.SOLID))
    code = np.repeat(boxes.color * codes.VARIANTS + variant, n)
    if hatched.any():
        inside = np.repeat(hatched, n)
        code[inside] += codes.HATCH + (position[inside] % width + phase) % codes.HATCH_PHASES
    flat[position] = code
    base = boxes.color * codes.VARIANTS
    edged = np.flatnonzero((n >= 3) & (low >= 0) & ~hatched)
    flat[origin[edged]] = base[edged] + np.where(boxes.dim[edged], codes.DIM_EDGE, codes.EDGE)
    cut = np.flatnonzero((flags & (Flag.CUT_START | Flag.CUT_END)) != 0)
    for index in cut[n[cut] >= 8].tolist():
        torn = base[index] + codes.CUT
        if flags[index] & Flag.CUT_START and low[index] >= 0:
            flat[origin[index] : origin[index] + 4] = torn
        if flags[index] & Flag.CUT_END and high[index] <= width:
            flat[origin[index] + n[index] - 4 : origin[index] + n[index]] = torn


@dataclass(frozen=True)
class _Cached:
    """Lines of ``wide``, a view with some columns to spare on both sides, and the view they were made for."""

    key: tuple[object, ...]
    view: TimeScale
    wide: TimeScale
    lines: Lines
    phase: int


class StripCache:
    """Lines of the last view and a little more. A pan by whole pixels costs only the new columns, now and then.

    Anything else is composed anew.
    """

    def __init__(self, painter: Painter) -> None:
        self._painter = painter
        self._cached: _Cached | None = None
        self.shift_px: int | None = None
        """Pixels by which the last lines moved against those before; None when they were composed anew."""

    def clear(self) -> None:
        """Forget what is kept (another theme, another filter)."""
        self._cached = None

    def lines(
        self,
        lanes: tuple[int, ...],
        groups: tuple[NameGroup, ...],
        scale: TimeScale,
        *,
        bin_px: int = 1,
        emphasis: Emphasis = EVERYTHING,
        label_min_px: int = LABEL_MIN_PX,
        exact: bool = False,
    ) -> Lines:
        """Codes for lanes, then groups, in this order. ``exact`` composes everything anew."""
        key = (lanes, tuple(id(group) for group in groups), bin_px, emphasis, label_min_px)
        cached = self._cached
        self.shift_px = None
        spare = OVERSCAN_PX if scale.length_ns >= OVERSCAN_FROM_NS and bin_px == 1 else 0
        if cached is not None and cached.key == key and not exact:
            shift = cached.view.shift_px(scale)
            if shift is not None and abs(shift) < scale.width_px * 3 // 4:
                self.shift_px = shift
                kept = self._moved(cached, lanes, groups, scale, spare, emphasis, label_min_px)
                self._cached = kept
                return self._cut(kept, spare)
        wide = _widened(scale, spare)
        phase = cached.phase if cached is not None else 0
        lines = self._compose(lanes, groups, wide, bin_px, phase, emphasis, label_min_px)
        self._cached = _Cached(key, scale, wide, lines, phase)
        return self._cut(self._cached, spare)

    def _moved(
        self,
        cached: _Cached,
        lanes: tuple[int, ...],
        groups: tuple[NameGroup, ...],
        scale: TimeScale,
        spare: int,
        emphasis: Emphasis,
        label_min_px: int,
    ) -> _Cached:
        """What is kept, so that it reaches over the view ``scale``."""
        offset = _offset_px(cached.wide, scale)
        if 0 <= offset <= 2 * spare:
            return _Cached(cached.key, scale, cached.wide, cached.lines, cached.phase)
        shift = offset - spare
        wide = cached.wide.moved(shift)
        lines = self._shifted(cached, lanes, groups, wide, shift, emphasis, label_min_px)
        return _Cached(cached.key, scale, wide, lines, (cached.phase + shift) % codes.HATCH_PHASES)

    @staticmethod
    def _cut(kept: _Cached, spare: int) -> Lines:
        """The view's part of what is kept."""
        if not spare:
            return kept.lines
        first = min(max(_offset_px(kept.wide, kept.view), 0), 2 * spare)
        boxes = kept.lines.boxes
        seen = (boxes.stop > kept.view.start_ns) & (boxes.start < kept.view.stop_ns)
        return Lines(
            kept.lines.codes[:, first : first + kept.view.width_px], boxes.chosen(seen), kept.lines.touched
        )

    def _compose(
        self,
        lanes: tuple[int, ...],
        groups: tuple[NameGroup, ...],
        scale: TimeScale,
        bin_px: int,
        phase: int,
        emphasis: Emphasis,
        label_min_px: int,
    ) -> Lines:
        drawn = compose_lanes(
            self._painter,
            np.array(lanes, np.int64),
            scale,
            bin_px=bin_px,
            phase=phase,
            emphasis=emphasis,
            label_min_px=label_min_px,
        )
        if not groups:
            return drawn
        out = np.zeros((len(lanes) + len(groups), scale.width_px), np.uint16)
        out[: len(lanes)] = drawn.codes
        parts = [
            compose_group(self._painter, group, len(lanes) + number, out, scale, emphasis=emphasis)
            for number, group in enumerate(groups)
        ]
        boxes = joined_boxes(parts)
        draw_boxes(out, boxes, np.asarray(self._painter.capture.events.flags[boxes.row]), scale, phase)
        wide = boxes.stop - boxes.start >= label_min_px * scale.ns_per_px
        return Lines(out, drawn.boxes.joined(boxes.chosen(wide)), drawn.touched)

    def _shifted(
        self,
        cached: _Cached,
        lanes: tuple[int, ...],
        groups: tuple[NameGroup, ...],
        scale: TimeScale,
        shift: int,
        emphasis: Emphasis,
        label_min_px: int,
    ) -> Lines:
        width = scale.width_px
        first, stop = (max(0, width - shift), width) if shift > 0 else (0, min(width, -shift))
        part = TimeScale(_column_ns(scale, first), _column_ns(scale, stop), stop - first)
        phase = (cached.phase + shift + first) % codes.HATCH_PHASES
        fresh = self._compose(lanes, groups, part, 1, phase, emphasis, label_min_px)
        old = cached.lines.codes
        out = np.empty_like(old)
        if shift > 0:
            out[:, :first] = old[:, shift:]
            new = fresh.boxes.start >= part.start_ns
        else:
            out[:, stop:] = old[:, :shift]
            new = fresh.boxes.stop <= part.stop_ns
        out[:, first:stop] = fresh.codes
        kept = cached.lines.boxes
        seen = (kept.stop > scale.start_ns) & (kept.start < scale.stop_ns)
        return Lines(out, kept.chosen(seen).joined(fresh.boxes.chosen(new)), fresh.touched)


def _widened(scale: TimeScale, spare: int) -> TimeScale:
    """The view with ``spare`` columns more on both sides, of the same length per pixel."""
    if not spare:
        return scale
    air = round(spare * scale.length_ns / scale.width_px)
    width = scale.width_px + 2 * spare
    start = scale.start_ns - air
    return TimeScale(start, start + round(width * scale.length_ns / scale.width_px), width)


def _offset_px(wide: TimeScale, view: TimeScale) -> int:
    return round((view.start_ns - wide.start_ns) * view.width_px / view.length_ns)


def _column_ns(scale: TimeScale, column: int) -> int:
    return scale.start_ns + round(column * scale.length_ns / scale.width_px)


def emphasis_for(capture: Capture, names: Int64Array | None, kinds: frozenset[str]) -> Emphasis:
    """Keeps events with these name ids (None: any) and of these kinds (empty: any)."""
    mask = None
    if names is not None:
        mask = np.zeros(max(1, len(capture.strings)), bool)
        mask[names[names < len(mask)]] = True
    kind_mask = None
    if kinds:
        kind_mask = np.zeros(256, bool)
        kind_mask[[table.code for name, table in capture.kinds.items() if name in kinds]] = True
    return Emphasis(mask, kind_mask)
