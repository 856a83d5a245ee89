"""Draws the visible rows into a frame. Independent of widgets: used by the canvas, `render` and picture exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from warpline.i18n import tr
from warpline_app.look.painting import painting, saved
from warpline_app.look.theme import Theme, mix, to_rgb, ui_font
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.compositor import Bars, Frame, empty_codes, make_bars
from warpline_app.timeline.draw.emphasis import EVERYTHING, Emphasis
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.draw.frame_plan import Bar, FramePlan, Spot, make_plan
from warpline_app.timeline.draw.lane_cache import LABEL_MIN_PX, LineCodes, StripCache
from warpline_app.timeline.draw.lane_codes import Boxes
from warpline_app.timeline.draw.texts.labels import Labels
from warpline_app.timeline.model.curves import CurveStore
from warpline_app.timeline.model.layout import Layout, PlacedRow
from warpline_app.timeline.model.row import Content
from warpline_app.timeline.model.time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.counters import Counter

LABEL_BUDGET = 12
"""Number of new texts rendered per frame: about two milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Viewport:
    """The view of a frame: time scale in device pixels; scroll position and size in logical ones."""

    scale: TimeScale
    scroll_px: int
    height_px: int
    ratio: float
    ticks_ns: npt.NDArray[np.int64]
    bin_px: int = 1
    exact: bool = False
    label_budget: int = LABEL_BUDGET


@dataclass(frozen=True)
class Drawn:
    """The result of drawing a frame."""

    labels_left: bool
    curves_wanted: tuple[PlacedRow, ...]


class Renderer:
    """Draws frames of a capture in a theme."""

    def __init__(self, capture: Capture, theme: Theme, ratio: float, table: ColorTable | None = None) -> None:
        """``table`` is that of a renderer in the same theme and at the same resolution."""
        self.capture = capture
        self.theme = theme
        self.ratio = ratio
        self.table = ColorTable(theme, ratio) if table is None else table
        self.colors = EventColors(capture, self.table)
        self.cache = StripCache(self.colors)
        self.curves = CurveStore(capture)
        self.labels = Labels(capture, ui_font(11), ratio, theme, self.colors.own_names)
        self.emphasis: Emphasis = EVERYTHING
        self._grid = theme.rgb("grid")
        self._drawn: tuple[object, ...] = ()
        self._plan: FramePlan | None = None
        self._plan_key: tuple[int, int, int] = (0, 0, 0)
        self._bars: tuple[FramePlan, int, Bars] | None = None
        self._labelled: tuple[Boxes, Viewport, FramePlan] | None = None
        self._limits: dict[int, float] = {}
        self.failed: dict[str, str] = {}
        """Rows that cannot be drawn, by key, with the reason."""

    def set_emphasis(self, emphasis: Emphasis) -> None:
        """Dim events that do not pass."""
        self.emphasis = emphasis
        self.cache.clear()

    def draw(self, frame: Frame, layout: Layout, view: Viewport) -> Drawn:
        """Draw all visible rows; a failing row is left out and recorded in `failed`."""
        lines, plan = self._lines(layout, view)
        shift = self.cache.shift_px
        same = (frame, id(plan), _grid_of(view), self.curves.version)
        if shift and same == self._drawn and not self.failed:
            frame.shift(shift)
        else:
            frame.limit(0, frame.width)
        self._drawn = same if frame.is_own else ()
        grid = np.floor(view.scale.to_px_array(view.ticks_ns)).astype(np.int64)
        grid = grid[(grid >= 0) & (grid < frame.width)]
        frame.bands(plan.bands, grid, self._grid)
        wanted: list[PlacedRow] = []
        for place in plan.curves:
            try:
                if not self._draw_curve(frame, place, view):
                    wanted.append(place.row)
            except Exception as error:  # contained in its row, which shows it
                self.failed[place.row.row.key] = str(error) or type(error).__name__
        empty = empty_codes(frame.width, grid, self._paused(view.scale), self.cache.phase)
        frame.bars(self._bars_of(plan), lines.codes, empty)
        boxes = lines.boxes
        if plan.bars and len(boxes.row):
            boxes = boxes.chosen(plan.whole[boxes.line])
        self._labelled = (boxes, view, plan)
        left = self.label_again()
        self._draw_failures(frame, plan.spots)
        return Drawn(left, tuple(wanted))

    def label_again(self) -> bool:
        """Lay out the last frame's labels with more new texts; returns whether some are still missing."""
        if self._labelled is None:
            return False
        boxes, view, plan = self._labelled
        return self.labels.prepare(
            boxes, view.scale, plan.tops, plan.heights, self.table.wants_dark_ink(), view.label_budget
        )

    def paint_labels(self, painter: QPainter) -> None:
        """Draw the last frame's labels over it, on a painter in logical pixels."""
        with saved(painter):
            painter.scale(1 / self.ratio, 1 / self.ratio)
            self.labels.paint(painter, self.theme.color("canvas", 215))

    def text_spans(self, top: float, bottom: float) -> npt.NDArray[np.float64]:
        """Extents of the last frame's labels between two heights (`TextSpans`), in logical pixels."""
        return self.labels.spans_between(top * self.ratio, bottom * self.ratio) / self.ratio

    # parts

    def _px(self, logical: float) -> int:
        return round(logical * self.ratio)

    def _plan_of(self, layout: Layout, view: Viewport) -> FramePlan:
        key = (view.scroll_px, view.height_px, len(self.failed))
        if self._plan is None or self._plan.layout is not layout or key != self._plan_key:
            self._plan = make_plan(
                layout, view.scroll_px, view.height_px, self.ratio, self.theme, self.failed
            )
            self._plan_key = key
        return self._plan

    def _bars_of(self, plan: FramePlan) -> Bars:
        """The plan's bars with their tables; cached until the plan or the colours change."""
        known = self._bars
        if known is None or known[0] is not plan or known[1] != self.table.version:
            known = self._bars = (plan, self.table.version, make_bars(self.table, plan.bars))
        return known[2]

    def _lines(self, layout: Layout, view: Viewport) -> tuple[LineCodes, FramePlan]:
        """Codes of all visible lines from one query, and the line's rows."""
        plan = self._plan_of(layout, view)
        try:
            lines = self.cache.lines(
                plan.lanes,
                plan.groups,
                view.scale,
                bin_px=view.bin_px,
                emphasis=self.emphasis,
                label_min_px=round(LABEL_MIN_PX * self.ratio),
                exact=view.exact,
            )
        except Exception as error:  # one bad row must not affect the others
            if not self._find_failing(plan.bars, view):
                raise error
            return self._lines(layout, view)
        return lines, plan

    def _find_failing(self, bars: Sequence[Bar], view: Viewport) -> bool:
        has_failed = False
        for bar in bars:
            line = bar.line
            probe = StripCache(self.colors)
            lanes = () if line.group is not None else (line.lane,)
            groups = () if line.group is None else (line.group,)
            try:
                probe.lines(lanes, groups, view.scale)
            except Exception as error:  # the failing row
                self.failed[bar.row.row.key] = str(error) or type(error).__name__
                has_failed = True
        return has_failed

    def _paused(self, scale: TimeScale) -> npt.NDArray[np.int64]:
        pauses = self.capture.pauses
        if not len(pauses):
            return np.empty(0, np.int64)
        first = np.clip(np.floor(scale.to_px_array(pauses[:, 0])), 0, scale.width_px).astype(np.int64)
        last = np.clip(np.ceil(scale.to_px_array(pauses[:, 1])), 0, scale.width_px).astype(np.int64)
        parts = [np.arange(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        return np.concatenate(parts)

    def _draw_curve(self, frame: Frame, place: Spot, view: Viewport) -> bool:
        """Draw a curve or counter; False when a better curve should be computed."""
        row = place.row.row
        if row.content is Content.COUNTER:
            self._draw_counter(frame, place, view)
            return True
        if not row.lanes:
            return True
        curve, is_good = self.curves.get(row, view.scale)
        if curve is not None:
            ink = to_rgb(self.theme.family(row.family))
            values = self.curves.scaled(row, curve, _part(view.scale, frame))
            air = self._px(3)
            frame.area(
                values,
                place.top + air,
                place.height - air - 1,
                mix(place.background, ink, 0.30),
                mix(place.background, ink, 0.75),
                place.clip,
                step=max(1, int(self.ratio)),
            )
        return is_good

    def _draw_counter(self, frame: Frame, place: Spot, view: Viewport) -> None:
        row, clip, background = place.row.row, place.clip, place.background
        counter = row.series or self.capture.counters[row.counter]
        scale = _part(view.scale, frame)
        low, high, mean = counter.query(scale.start_ns, scale.stop_ns, scale.width_px)
        if counter.interpolation == "step":
            values = _held(mean, counter.value_at(scale.start_ns))
        else:
            values = _connected(mean)
        # The last value does not extend past the last sample.
        times = counter.recorded_times
        if len(times):
            end = scale.to_px(int(times[-1]) - counter.offset_ns)
            values[np.arange(len(values)) > end + 1] = np.nan
        top_value = self._limit_of(counter)
        ink = to_rgb(self.theme.family(place.row.row.family))
        air = self._px(3)
        bar_top, bar = place.top + air, place.height - 2 * air
        step = max(1, int(self.ratio))
        fill, outline = mix(background, ink, 0.28), mix(background, ink, 0.85)
        # In columns with several samples, a paler band shows their range.
        if np.any(high > low):
            peak = np.where(np.isfinite(high), high, values) / top_value
            frame.area(peak, bar_top, bar, mix(background, ink, 0.5), None, clip, step=step)
            floor = np.where(np.isfinite(low), low, values) / top_value
            frame.area(floor, bar_top, bar, fill, None, clip, step=step)
            frame.area(values / top_value, bar_top, bar, None, outline, clip, step=step)
        else:
            frame.area(values / top_value, bar_top, bar, fill, outline, clip, step=step)

    def _limit_of(self, counter: Counter) -> float:
        if counter.index < 0:  # of a derived row, which comes and goes
            return limit_of(counter, self.capture.span)
        if counter.index not in self._limits:
            self._limits[counter.index] = limit_of(counter, self.capture.span)
        return self._limits[counter.index]

    def _draw_failures(self, frame: Frame, spots: Sequence[Spot]) -> None:
        broken = [place for place in spots if place.row.row.key in self.failed]
        if not broken:
            return
        with painting(frame.image) as painter:
            # The image has a device pixel ratio; this painter uses device pixels.
            painter.scale(1 / self.ratio, 1 / self.ratio)
            painter.setFont(ui_font(max(1, self._px(11))))
            painter.setPen(self.theme.color("warning"))
            for place in broken:
                text = tr("cannot be drawn: {reason}", "timeline", reason=self.failed[place.row.row.key])
                where = QRectF(self._px(8), place.top, frame.width - self._px(16), place.height)
                painter.drawText(where, Qt.AlignmentFlag.AlignVCenter, text)


def _part(scale: TimeScale, frame: Frame) -> TimeScale:
    """The scale of the columns to draw and the one before."""
    first = frame.first - 1
    start = scale.start_ns + round(first * scale.length_ns / scale.width_px)
    stop = scale.start_ns + round(frame.stop * scale.length_ns / scale.width_px)
    return TimeScale(start, max(stop, start + 1), frame.stop - first)


def _grid_of(view: Viewport) -> tuple[int, int]:
    """The spacing of the ticks' grid, and its start."""
    ticks = view.ticks_ns
    if len(ticks) < 2:
        return 0, 0
    step = int(ticks[1] - ticks[0])
    return step, int(ticks[0]) % step


def counter_limit(capture: Capture, index: int) -> float:
    """The top of a counter's row: 100 for percent, 1 for ratios, else the capture's maximum."""
    return limit_of(capture.counters[index], capture.span)


def limit_of(counter: Counter, span: tuple[int, int]) -> float:
    """The top of the row of a counter, in a capture from ``span[0]`` to ``span[1]``; see `counter_limit`."""
    if counter.unit in {"%", "percent"}:
        return 100.0
    low, high = span
    peaks = counter.query(low, max(high, low + 1) + 1, 64)[1]
    peak = float(np.nanmax(peaks)) if np.isfinite(peaks).any() else 1.0
    if counter.unit == "ratio" and peak <= 1.0:
        return 1.0
    return peak if peak > 0 else 1.0


def _held(values: npt.NDArray[np.float64], before: float | None) -> npt.NDArray[np.float64]:
    """Each value, held until the next one."""
    known = np.isfinite(values)
    index = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
    result = np.where(index >= 0, values[np.maximum(index, 0)], np.nan if before is None else before)
    return np.asarray(result, np.float64)


def _connected(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Values interpolated linearly."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return values
    x = np.arange(len(values))
    return np.where((x >= known[0]) & (x <= known[-1]), np.interp(x, known, values[known]), np.nan)
