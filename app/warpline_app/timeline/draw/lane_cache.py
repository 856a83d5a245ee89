"""Turns events into lines of codes (`codes`), one per lane, and caches them while the view pans.

`StripCache` shifts cached lines and queries only the columns that came into view. Positions are device pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.derived_events import COLOR_FAMILIES, DerivedEvents
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.emphasis import EVERYTHING, Emphasis, light_groups
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.draw.lane_codes import (
    Boxes,
    color_waits,
    draw_boxes,
    draw_density,
    draw_groups,
    joined_boxes,
)
from warpline_app.timeline.model.derived_rows import DerivedGroup
from warpline_app.timeline.model.name_rows import NameGroup
from warpline_app.timeline.model.time_model import TimeScale

Int64Array = npt.NDArray[np.int64]
UInt16Array = npt.NDArray[np.uint16]

LABEL_MIN_PX = 24
"""Narrower events (logical pixels) get no label."""
NAMED_SHARE = 0.125
"""Events narrower than this share of `LABEL_MIN_PX` (3 pixels) have their kind's colour, not their name's."""
OVERSCAN_PX = 96
"""Spare columns cached on both sides of the view, so that most pans need no query."""
OVERSCAN_FROM_NS = 200_000
"""Shorter views are not widened: a nanosecond is too large a part of a pixel."""


@dataclass(frozen=True)
class LineCodes:
    """Codes of shape (lines, width) for a view, and the boxes that may carry a label."""

    codes: UInt16Array
    boxes: Boxes
    touched: int = 0


def compose_lanes(
    colors: EventColors,
    lanes: Int64Array,
    scale: TimeScale,
    *,
    bin_px: int = 1,
    phase: int = 0,
    emphasis: Emphasis = EVERYTHING,
    label_min_px: int = LABEL_MIN_PX,
) -> LineCodes:
    """Codes of lanes. ``bin_px`` 2 halves the columns (while zooming); ``phase`` keeps hatches in place."""
    out = np.empty((len(lanes), scale.width_px), np.uint16)
    boxes = _draw_lanes(colors, lanes, scale, out, bin_px, phase, emphasis, label_min_px)
    return LineCodes(out, *boxes)


def _draw_lanes(
    colors: EventColors,
    lanes: Int64Array,
    scale: TimeScale,
    out: UInt16Array,
    bin_px: int,
    phase: int,
    emphasis: Emphasis,
    label_min_px: int,
) -> tuple[Boxes, int]:
    """Write codes of lanes to ``out``; returns boxes that may carry a label, and the number of entries read."""
    columns = -(-scale.width_px // bin_px)
    strip = colors.capture.query(lanes, scale.start_ns, scale.stop_ns, columns)
    dim_marks = None if emphasis.is_everything else emphasis.dimmed_marks(colors, strip, lanes)
    draw_density(out, strip, colors.mark_codes, dim_marks, bin_px)
    color_waits(out, strip, lanes, colors, bin_px)
    color = colors.of(strip.rect_row, strip.rect_kind, strip.rect_flags)
    # Below a few pixels, name colours would only be noise.
    length = strip.rect_stop - strip.rect_start
    narrow = np.flatnonzero(length < _named_ns(scale, label_min_px))
    color[narrow] = colors.plain_colors(color[narrow], strip.rect_kind[narrow])
    dim = emphasis.dimmed(colors, strip.rect_row, strip.rect_kind, lanes[strip.rect_lane], strip.rect_start)
    boxes = Boxes(
        line=strip.rect_lane,
        row=strip.rect_row,
        start=strip.rect_start,
        stop=strip.rect_stop,
        color=color,
        dim=dim,
    )
    draw_boxes(out, boxes, strip.rect_flags, scale, phase)
    return boxes.chosen(length >= label_min_px * scale.ns_per_px), strip.touched


def _draw_groups(
    colors: EventColors,
    groups: tuple[NameGroup, ...],
    scale: TimeScale,
    out: UInt16Array,
    phase: int,
    emphasis: Emphasis,
    label_min_px: int,
) -> Boxes:
    """Write codes of groups (a kernel name or copy direction each) to ``out``, like `_draw_lanes`."""
    capture = colors.capture
    columns = [group.columns(capture) for group in groups]
    color = np.array([codes.INDEX.get(group.family, codes.INDEX["kernel"]) for group in groups], np.int32)
    is_new = np.array([isinstance(group, DerivedGroup) and group.events is not None for group in groups])
    of_group = np.zeros(len(groups), bool)
    known = np.flatnonzero(~is_new)
    first = np.array([groups[place].rows[0] for place in known.tolist()], np.int64)
    of_group[known] = emphasis.dimmed_by_kind(colors, first, capture.events.kind[first])
    below = color * codes.VARIANTS + np.where(of_group, codes.DIM_DENSITY, codes.DENSITY) - 1
    line, row, start, stop = draw_groups(out, columns, below.tolist(), scale)
    if emphasis.chain is not None:
        light_groups(out, groups, emphasis.chain, scale)
    of_box = color[line]
    has_names = np.array(
        [group.is_by_name if isinstance(group, DerivedGroup) else group.family == "range" for group in groups]
    )
    wide = has_names[line] & (stop - start >= _named_ns(scale, label_min_px))
    real = np.flatnonzero(~is_new[line])
    named = real[wide[real]]
    of_box[named] = colors.of(row[named], capture.events.kind[row[named]], capture.events.flags[row[named]])
    mixed = np.flatnonzero(np.array([group.is_mixed for group in groups])[line])
    kind = capture.events.kind[row[mixed]]
    own = colors.of(row[mixed], kind, capture.events.flags[row[mixed]])
    is_narrow = stop[mixed] - start[mixed] < _named_ns(scale, label_min_px)
    of_box[mixed] = np.where(is_narrow, colors.plain_colors(own, kind), own)
    for place in np.flatnonzero(is_new).tolist():
        group = groups[place]
        mine = np.flatnonzero(wide & (line == place))
        if isinstance(group, DerivedGroup) and group.events is not None and len(mine):
            of_box[mine] = _own_colors(colors, group.events, row[mine])
    flags, dim = np.zeros(len(row), np.uint8), np.zeros(len(row), bool)
    flags[real] = capture.events.flags[row[real]]
    dim[real] = _dimmed_rows(colors, emphasis, row[real])
    boxes = Boxes(line=line, row=row, start=start, stop=stop, color=of_box, dim=dim)
    draw_boxes(out, boxes, flags, scale, phase)
    boxes = boxes.chosen(stop - start >= label_min_px * scale.ns_per_px)
    return _with_own_names(colors, boxes, groups)


def _own_colors(colors: EventColors, events: DerivedEvents, places: Int64Array) -> npt.NDArray[np.int32]:
    """The colours of a derived row's own events: those that the query gives, else those of their names."""
    if events.color is None:
        return colors.hues_of_texts(events.names)[events.name[places]]
    hues = colors.hues_of_texts(events.colors)
    known = [codes.INDEX[text] if text in COLOR_FAMILIES else -1 for text in events.colors]
    return np.asarray(np.where(np.array(known) >= 0, known, hues)[events.color[places]], np.int32)


def _with_own_names(colors: EventColors, boxes: Boxes, groups: tuple[NameGroup, ...]) -> Boxes:
    """Boxes in which a derived row's own events have the number of their name instead of a row (`OwnNames`)."""
    row = boxes.row.copy()
    for index, group in enumerate(groups):
        if isinstance(group, DerivedGroup) and group.events is not None:
            mine = np.flatnonzero(boxes.line == index)
            events = group.events
            names = [events.names[code] for code in events.name[row[mine]].tolist()]
            row[mine] = colors.own_names.numbers(names)
    return replace(boxes, row=row)


def _named_ns(scale: TimeScale, label_min_px: int) -> float:
    """The minimum duration of an event drawn in its name's colour."""
    return NAMED_SHARE * label_min_px * scale.ns_per_px


def _dimmed_rows(colors: EventColors, emphasis: Emphasis, rows: Int64Array) -> npt.NDArray[np.bool_]:
    if emphasis.is_everything:
        return np.zeros(len(rows), bool)
    capture = colors.capture
    # Use their own times: a row may show ranges projected onto a GPU.
    start = capture.event_times(rows)[0]
    return emphasis.dimmed(colors, rows, capture.events.kind[rows], capture.lanes_of_rows(rows), start)


@dataclass(frozen=True)
class _Cached:
    """Lines drawn for ``view``, extended to ``wide``: the same view with spare columns on both sides."""

    key: tuple[object, ...]
    view: TimeScale
    wide: TimeScale
    lines: LineCodes
    phase: int


class StripCache:
    """Lines of the last view and some spare columns. A pan by whole pixels queries new columns only now and then.

    Any other change composes all lines anew.
    """

    def __init__(self, colors: EventColors) -> None:
        self._colors = colors
        self._cached: _Cached | None = None
        self.shift_px: int | None = None
        """Pixels by which the last lines moved; None when they were composed anew."""

    @property
    def phase(self) -> int:
        """The texture phase in the view's first column (`codes.PHASES`)."""
        cached = self._cached
        return 0 if cached is None else (cached.phase + _offset_px(cached.wide, cached.view)) % codes.PHASES

    def clear(self) -> None:
        """Drop the cache (another theme or filter)."""
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
    ) -> LineCodes:
        """Codes for lanes, then groups. ``exact`` composes everything anew."""
        key = (lanes, tuple(id(group) for group in groups), bin_px, emphasis, label_min_px)
        cached = self._cached
        self.shift_px = None
        spare = OVERSCAN_PX if scale.length_ns >= OVERSCAN_FROM_NS and bin_px == 1 else 0
        if cached is not None and cached.key == key and not exact:
            shift = cached.view.shift_px(scale)
            if shift is not None and abs(shift) < scale.width_px * 3 // 4:
                self.shift_px = shift
                moved = self._moved(cached, lanes, groups, scale, spare, emphasis, label_min_px)
                self._cached = moved
                return self._cut(moved, spare)
        wide = _widened(scale, spare)
        # Textures stay in place when the same view is composed anew.
        phase = (self.phase - _offset_px(wide, scale)) % codes.PHASES
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
        """The cache, extended to cover the view ``scale``."""
        offset = _offset_px(cached.wide, scale)
        if 0 <= offset <= 2 * spare:
            return _Cached(cached.key, scale, cached.wide, cached.lines, cached.phase)
        shift = offset - spare
        wide = cached.wide.moved(shift)
        lines = self._shifted(cached, lanes, groups, wide, shift, emphasis, label_min_px)
        return _Cached(cached.key, scale, wide, lines, (cached.phase + shift) % codes.PHASES)

    @staticmethod
    def _cut(kept: _Cached, spare: int) -> LineCodes:
        """The part of the cache inside the view."""
        if not spare:
            return kept.lines
        first = min(max(_offset_px(kept.wide, kept.view), 0), 2 * spare)
        boxes = kept.lines.boxes
        seen = (boxes.stop > kept.view.start_ns) & (boxes.start < kept.view.stop_ns)
        return LineCodes(
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
    ) -> LineCodes:
        n = len(lanes)
        out = np.zeros((n + len(groups), scale.width_px), np.uint16)
        boxes, touched = _draw_lanes(
            self._colors, np.array(lanes, np.int64), scale, out[:n], bin_px, phase, emphasis, label_min_px
        )
        if groups:
            more = _draw_groups(self._colors, groups, scale, out[n:], phase, emphasis, label_min_px)
            boxes = joined_boxes([boxes, replace(more, line=more.line + n)])
        return LineCodes(out, boxes, touched)

    def _shifted(
        self,
        cached: _Cached,
        lanes: tuple[int, ...],
        groups: tuple[NameGroup, ...],
        scale: TimeScale,
        shift: int,
        emphasis: Emphasis,
        label_min_px: int,
    ) -> LineCodes:
        width = scale.width_px
        first, stop = (max(0, width - shift), width) if shift > 0 else (0, min(width, -shift))
        part = TimeScale(_column_ns(scale, first), _column_ns(scale, stop), stop - first)
        phase = (cached.phase + shift + first) % codes.PHASES
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
        return LineCodes(out, joined_boxes([kept.chosen(seen), fresh.boxes.chosen(new)]), fresh.touched)


def _widened(scale: TimeScale, spare: int) -> TimeScale:
    """The view with ``spare`` more columns on both sides, at the same scale."""
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
