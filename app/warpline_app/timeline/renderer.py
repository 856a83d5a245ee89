"""Draws the visible rows into a frame. Knows no widget: the canvas, `render` and picture exports use it alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from warpline.i18n import tr
from warpline_app.theme import Theme, mix, to_rgb, ui_font

from .codes import ColorTable
from .compositor import Frame, grid_codes
from .curves import CurveStore
from .labels import Labels
from .layout import Layout, Line, PlacedRow
from .name_index import NameGroup
from .painters import Painter
from .rows import Content
from .strip import EVERYTHING, LABEL_MIN_PX, Emphasis, Lines, StripCache
from .time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture

LABEL_BUDGET = 60
"""Texts that may be rendered anew in one frame: about two milliseconds."""


@dataclass(frozen=True)
class View:
    """What a frame shows: the time scale in device pixels, the scroll position and size in logical ones."""

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
    """What a frame turned out to be."""

    labels_left: bool
    curves_wanted: tuple[PlacedRow, ...]


class Renderer:
    """Frames of one capture in one theme."""

    def __init__(self, capture: Capture, theme: Theme, ratio: float) -> None:
        self.capture = capture
        self.theme = theme
        self.ratio = ratio
        self.table = ColorTable(theme)
        self.painter = Painter(capture, self.table)
        self.cache = StripCache(self.painter)
        self.curves = CurveStore(capture)
        self.labels = Labels(capture, ui_font(11), ratio, theme.ink_dark, theme.ink_light)
        self.emphasis: Emphasis = EVERYTHING
        self._grid = theme.rgb("grid")
        self._drawn: tuple[object, ...] = ()
        self.failed: dict[str, str] = {}
        """Rows that cannot be drawn, by key, with the reason."""

    def set_emphasis(self, emphasis: Emphasis) -> None:
        """Dim what does not pass."""
        self.emphasis = emphasis
        self.cache.clear()

    def draw(self, frame: Frame, layout: Layout, view: View) -> Drawn:
        """Draws all visible rows; a row that fails is left out and named in `failed`."""
        placed = self._placed(layout, view)
        lines, order = self._lines(placed, view)
        shift = self.cache.shift_px
        same = (id(frame), id(layout), view.scroll_px, _tick_step(view), self.curves.version)
        if shift and same == self._drawn and not self.failed:
            frame.shift(shift)
        else:
            frame.limit(0, frame.width)
        self._drawn = same
        self._backgrounds(frame, placed)
        grid = np.unique(np.floor(view.scale.to_px_array(view.ticks_ns)).astype(np.int64))
        grid = grid[(grid >= 0) & (grid < frame.width)]
        frame.columns(grid, self._grid)
        paused = self._paused(view.scale)
        wanted: list[PlacedRow] = []
        tops = np.zeros(max(1, len(order)), np.int64)
        heights = np.ones(max(1, len(order)), np.int64)
        for row, top, clip, background in placed:
            try:
                if not self._draw_curve(frame, row, top, clip, background, view):
                    wanted.append(row)
            except Exception as error:  # contained in its row, which says so
                self.failed[row.row.key] = str(error) or type(error).__name__
        grid = grid[(grid >= frame.first) & (grid < frame.stop)]
        paused = paused[(paused >= frame.first) & (paused < frame.stop)]
        for index, (_row, line, top, clip, background) in enumerate(order):
            bar_top, bar = top + self._px(line.top), self._px(line.height)
            tops[index], heights[index] = bar_top, bar
            codes_line = grid_codes(lines.codes[index], grid, paused)
            frame.line(self.table, codes_line, bar_top, bar, background, clip)
        left = self._lay_out_labels(lines, view, tops, heights, order)
        self._draw_failures(frame, placed)
        return Drawn(left, tuple(wanted))

    def paint_labels(self, painter: QPainter) -> None:
        """Draws the texts of the last frame over it, on a painter in logical pixels."""
        painter.save()
        painter.scale(1 / self.ratio, 1 / self.ratio)
        self.labels.paint(painter, self.theme.color("canvas", 215))
        painter.restore()

    # parts

    def _px(self, logical: float) -> int:
        return round(logical * self.ratio)

    def _placed(self, layout: Layout, view: View) -> list[tuple[PlacedRow, int, int, int]]:
        """Visible rows with their top on the frame, the border they are clipped at, and their background."""
        result = [
            (row, self._px(row.top), 0, self._background(row, 0))
            for row in layout.pinned
            if row.top < view.height_px
        ]
        area = layout.pinned_height
        offset = area - view.scroll_px
        result += [
            (row, self._px(row.top + offset), self._px(area), self._background(row, layout_index(row)))
            for row in layout.between(view.scroll_px, view.scroll_px + view.height_px - area)
        ]
        return result

    def _background(self, row: PlacedRow, index: int) -> int:
        if row.row.is_group:
            return self.theme.rgb("group")
        return self.theme.rgb("alternate" if index % 2 else "canvas")

    def _backgrounds(self, frame: Frame, placed: Sequence[tuple[PlacedRow, int, int, int]]) -> None:
        """One fill for each run of rows with the same background."""
        runs: list[list[int]] = []
        for row, top, clip, background in placed:
            first, last = max(top, clip), min(top + self._px(row.height), frame.height)
            if runs and runs[-1][2] == background and runs[-1][1] >= first:
                runs[-1][1] = last
            else:
                runs.append([first, last, background])
        reached = 0
        for first, last, background in runs:
            if first > reached:
                frame.fill(reached, first, self.theme.rgb("canvas"))
            frame.fill(first, last, background)
            reached = max(reached, last)
        frame.fill(reached, frame.height, self.theme.rgb("canvas"))
        hairline, thin = self.theme.rgb("hairline"), max(1, int(self.ratio))
        for row, top, clip, _background in placed:
            if row.row.is_group and top >= clip:
                frame.fill(top, top + thin, hairline)

    def _lines(
        self, placed: Sequence[tuple[PlacedRow, int, int, int]], view: View
    ) -> tuple[Lines, list[tuple[PlacedRow, Line, int, int, int]]]:
        """Codes of all visible lines from one query, lanes first, and which line is where."""
        lanes: list[int] = []
        groups: list[NameGroup] = []
        of_lanes: list[tuple[PlacedRow, Line, int, int, int]] = []
        of_groups: list[tuple[PlacedRow, Line, int, int, int]] = []
        height = self._px(view.height_px)
        for row, top, clip, background in placed:
            if row.row.key in self.failed:
                continue
            for line in row.lines:
                first = top + self._px(line.top)
                if first >= height or first + self._px(line.height) <= clip:
                    continue
                if line.group is not None:
                    groups.append(line.group)
                    of_groups.append((row, line, top, clip, background))
                else:
                    lanes.append(line.lane)
                    of_lanes.append((row, line, top, clip, background))
        order = of_lanes + of_groups
        try:
            lines = self.cache.lines(
                tuple(lanes),
                tuple(groups),
                view.scale,
                bin_px=view.bin_px,
                emphasis=self.emphasis,
                label_min_px=round(LABEL_MIN_PX * self.ratio),
                exact=view.exact,
            )
        except Exception as error:  # one bad row must not take the others with it
            if not self._find_failing(order, view):
                raise error
            return self._lines(placed, view)
        return lines, order

    def _find_failing(self, order: Sequence[tuple[PlacedRow, Line, int, int, int]], view: View) -> bool:
        found = False
        for row, line, *_ in order:
            probe = StripCache(self.painter)
            lanes = () if line.group is not None else (line.lane,)
            groups = () if line.group is None else (line.group,)
            try:
                probe.lines(lanes, groups, view.scale)
            except Exception as error:  # this is the one
                self.failed[row.row.key] = str(error) or type(error).__name__
                found = True
        return found

    def _paused(self, scale: TimeScale) -> npt.NDArray[np.int64]:
        pauses = self.capture.pauses
        if not len(pauses):
            return np.empty(0, np.int64)
        first = np.clip(np.floor(scale.to_px_array(pauses[:, 0])), 0, scale.width_px).astype(np.int64)
        last = np.clip(np.ceil(scale.to_px_array(pauses[:, 1])), 0, scale.width_px).astype(np.int64)
        parts = [np.arange(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        return np.unique(np.concatenate(parts))

    def _draw_curve(
        self, frame: Frame, placed: PlacedRow, top: int, clip: int, background: int, view: View
    ) -> bool:
        """Draws a curve or counter; False when a better curve should be computed."""
        row = placed.row
        height = self._px(placed.height)
        if row.content is Content.COUNTER:
            self._draw_counter(frame, placed, top, clip, background, view)
            return True
        if row.content is not Content.CURVE or not row.lanes:
            return True
        curve, is_good = self.curves.get(row, view.scale)
        if curve is not None:
            ink = to_rgb(self.theme.family(row.family))
            values = self.curves.scaled(row, curve, _part(view.scale, frame))
            air = self._px(3)
            frame.area(
                values,
                top + air,
                height - air - 1,
                mix(background, ink, 0.30),
                mix(background, ink, 0.75),
                clip,
                step=max(1, int(self.ratio)),
            )
        return is_good

    def _draw_counter(
        self, frame: Frame, placed: PlacedRow, top: int, clip: int, background: int, view: View
    ) -> None:
        counter = self.capture.counters[placed.row.counter]
        scale = _part(view.scale, frame)
        low, high, mean = counter.query(scale.start_ns, scale.stop_ns, scale.width_px)
        if counter.interpolation == "step":
            values = _held(mean, counter.value_at(scale.start_ns))
        else:
            values = _connected(mean)
        # A value does not last beyond the last sample.
        times = counter.recorded_times
        if len(times):
            end = scale.to_px(int(times[-1]) - counter.offset_ns)
            values[np.arange(len(values)) > end + 1] = np.nan
        top_value = counter_limit(self.capture, placed.row.counter)
        ink = to_rgb(self.theme.family(placed.row.family))
        air = self._px(3)
        bar_top, bar = top + air, self._px(placed.height) - 2 * air
        step = max(1, int(self.ratio))
        fill, outline = mix(background, ink, 0.28), mix(background, ink, 0.85)
        # Where a column holds several samples, a paler band shows the range they cover.
        if np.any(high > low):
            peak = np.where(np.isfinite(high), high, values) / top_value
            frame.area(peak, bar_top, bar, mix(background, ink, 0.5), None, clip, step=step)
            floor = np.where(np.isfinite(low), low, values) / top_value
            frame.area(floor, bar_top, bar, fill, None, clip, step=step)
            frame.trace(values / top_value, bar_top, bar, outline, clip, step=step)
        else:
            frame.area(values / top_value, bar_top, bar, fill, outline, clip, step=step)

    def _lay_out_labels(
        self,
        lines: Lines,
        view: View,
        tops: npt.NDArray[np.int64],
        heights: npt.NDArray[np.int64],
        order: Sequence[tuple[PlacedRow, Line, int, int, int]],
    ) -> bool:
        boxes = lines.boxes
        if len(order):
            clips = np.array([clip for *_, clip, _ in order], np.int64)
            boxes = boxes.chosen((tops >= clips)[boxes.line])
        return self.labels.prepare(
            boxes, view.scale, tops, heights, self.table.wants_dark_ink(), view.label_budget
        )

    def _draw_failures(self, frame: Frame, placed: Sequence[tuple[PlacedRow, int, int, int]]) -> None:
        broken = [entry for entry in placed if entry[0].row.key in self.failed]
        if not broken:
            return
        painter = QPainter(frame.image)
        # The image knows its ratio: this painter counts logical pixels.
        painter.scale(1 / self.ratio, 1 / self.ratio)
        painter.setFont(ui_font(max(1, self._px(11))))
        painter.setPen(self.theme.color("warning"))
        for row, top, _clip, _background in broken:
            text = tr("cannot be drawn: {reason}", "timeline", reason=self.failed[row.row.key])
            where = QRectF(self._px(8), top, frame.width - self._px(16), self._px(row.height))
            painter.drawText(where, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


def _part(scale: TimeScale, frame: Frame) -> TimeScale:
    """The scale of the columns that are drawn and of the one before."""
    first = frame.first - 1
    start = scale.start_ns + round(first * scale.length_ns / scale.width_px)
    stop = scale.start_ns + round(frame.stop * scale.length_ns / scale.width_px)
    return TimeScale(start, max(stop, start + 1), frame.stop - first)


def _tick_step(view: View) -> int:
    ticks = view.ticks_ns
    return int(ticks[1] - ticks[0]) if len(ticks) > 1 else 0


def layout_index(row: PlacedRow) -> int:
    """A number that alternates from lane row to lane row: counted among siblings, so it stays when others open."""
    parent = row.row.parent
    if parent is None:
        return 0
    return parent.children.index(row.row)


def counter_limit(capture: Capture, index: int) -> float:
    """The value at the top of a counter's row: 100 for percent, 1 for ratios, else the largest of the capture."""
    counter = capture.counters[index]
    if counter.unit in {"%", "percent"}:
        return 100.0
    low, high = capture.span
    peaks = counter.query(low, max(high, low + 1) + 1, 64)[1]
    peak = float(np.nanmax(peaks)) if np.isfinite(peaks).any() else 1.0
    if counter.unit == "ratio" and peak <= 1.0:
        return 1.0
    return peak if peak > 0 else 1.0


def _held(values: npt.NDArray[np.float64], before: float | None) -> npt.NDArray[np.float64]:
    """Each value holds until the next one."""
    known = np.isfinite(values)
    index = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
    result = np.where(index >= 0, values[np.maximum(index, 0)], np.nan if before is None else before)
    return np.asarray(result, np.float64)


def _connected(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Straight lines between neighbouring values."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return values
    x = np.arange(len(values))
    return np.where((x >= known[0]) & (x <= known[-1]), np.interp(x, known, values[known]), np.nan)
