"""Utilization curves of groups of lanes, and the figures in the header; computed in pieces when idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr, translated
from warpline.model import NOT_BUSY
from warpline.model.roles import role_of
from warpline.model.sizes import format_bytes
from warpline_app.timeline.model.core_load import shares_of_cores
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.strip import Strip

Float64Array = npt.NDArray[np.float64]

OVERVIEW_BINS = 1600
LANES_AT_ONCE = 16
GROUP_LANES = 48
"""Larger groups are computed in pieces when the view is closer than the capture's own curve."""
UNION_LIMIT = 100_000
_FEW_LANES = 8
_PROCESS_LANES = 512
"""Maximum number of lanes summed for a process."""


@dataclass(frozen=True)
class RowCurve:
    """Mean number of busy lanes in each of equal parts of ``[start_ns, stop_ns)``."""

    start_ns: int
    stop_ns: int
    values: Float64Array

    def sample(self, scale: TimeScale) -> Float64Array:
        """One value per pixel column; NaN outside."""
        n = len(self.values)
        edge = np.arange(scale.width_px) + 0.5
        relative = (scale.start_ns - self.start_ns) + edge * scale.ns_per_px
        position = relative * (n / max(1, self.stop_ns - self.start_ns))
        index = np.floor(position).astype(np.int64)
        inside = (index >= 0) & (index < n)
        return np.where(inside, self.values[np.clip(index, 0, n - 1)], np.nan)

    def covers(self, scale: TimeScale) -> bool:
        """Whether it spans the view with at most two pixels per bin."""
        if self.start_ns > scale.start_ns or self.stop_ns < scale.stop_ns or not len(self.values):
            return False
        return (self.stop_ns - self.start_ns) / len(self.values) <= 2.01 * scale.ns_per_px


def coverage(strip: Strip) -> Float64Array:
    """The mean number of busy lanes of a strip, per column."""
    total = strip.busy.sum(axis=0, dtype=np.float64)
    counted = np.flatnonzero((strip.rect_flags & int(NOT_BUSY)) == 0)
    width = strip.width_px
    pixel = (strip.stop_ns - strip.start_ns) / width
    change = np.zeros(width + 2)
    for times, sign in ((strip.rect_start[counted], 1.0), (strip.rect_stop[counted], -1.0)):
        x = np.clip((times - strip.start_ns) / pixel, 0, width)
        column = x.astype(np.int64)
        share = x - column
        change += np.bincount(column, sign * (1 - share), minlength=width + 2)[: width + 2]
        change += np.bincount(column + 1, sign * share, minlength=width + 2)[: width + 2]
    return np.asarray(total + np.cumsum(change)[:width], np.float64)


class CurveTask:
    """Computes a curve, a few lanes per step. ``step`` returns True when done."""

    def __init__(
        self, capture: Capture, lanes: tuple[int, ...], start_ns: int, stop_ns: int, bins: int
    ) -> None:
        self._capture = capture
        self._lanes = lanes
        self._range = (start_ns, max(stop_ns, start_ns + 1))
        self._bins = bins
        self._done = 0
        self._values = np.zeros(bins)

    def step(self) -> bool:
        """Add the next few lanes; returns whether all are done."""
        part = np.array(self._lanes[self._done : self._done + LANES_AT_ONCE], np.int64)
        if len(part):
            self._values += coverage(self._capture.query(part, *self._range, self._bins))
            self._done += len(part)
        return self._done >= len(self._lanes)

    @property
    def curve(self) -> RowCurve:
        """The finished curve."""
        return RowCurve(*self._range, self._values)


class GroupTask:
    """The curve of a group track, stored in the capture; takes one step."""

    def __init__(self, capture: Capture, track: int, start_ns: int, stop_ns: int, bins: int) -> None:
        self._capture = capture
        self._track = track
        self._range = (start_ns, max(stop_ns, start_ns + 1))
        self._bins = bins
        self._values = np.zeros(bins)

    def step(self) -> bool:
        """Read the curve."""
        values = self._capture.utilization(self._track, *self._range, self._bins)
        self._values = values.astype(np.float64) * self._capture.groups[self._track].capacity
        return True

    @property
    def curve(self) -> RowCurve:
        """The finished curve."""
        return RowCurve(*self._range, self._values)


class CurveStore:
    """Two curves per row: of the whole capture, and of the last view."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._whole: dict[str, RowCurve] = {}
        self._near: dict[str, RowCurve] = {}
        self._former: list[dict[str, RowCurve]] = []
        self._group_keys = {capture.tracks[track].uri for track in capture.groups}
        self.version = 0

    def get(self, row: TimelineRow, scale: TimeScale) -> tuple[RowCurve | None, bool]:
        """The best curve available for a view, and whether it is good enough."""
        for store in (self._near, self._whole):
            curve = store.get(row.key)
            if curve is not None and curve.covers(scale):
                return curve, True
        return self._near_or_whole(row, scale) or self._former_of(row, scale), False

    def take_over(self, former: CurveStore) -> None:
        """Show the curves of a former capture of the same recording until new ones are there."""
        self._former = [
            {**older, **newer}
            for older, newer in zip(former._former or ({}, {}), (former._near, former._whole), strict=True)
        ]

    def _former_of(self, row: TimelineRow, scale: TimeScale) -> RowCurve | None:
        curves = [store[row.key] for store in self._former if row.key in store]
        near = [curve for curve in curves if curve.start_ns <= scale.start_ns < curve.stop_ns]
        return next(iter(near or curves), None)

    def _near_or_whole(self, row: TimelineRow, scale: TimeScale) -> RowCurve | None:
        near = self._near.get(row.key)
        if near is not None and near.start_ns <= scale.start_ns and near.stop_ns >= scale.stop_ns:
            return near
        return self._whole.get(row.key)

    def task(self, row: TimelineRow, scale: TimeScale, *, whole: bool) -> CurveTask | GroupTask:
        """A task for the curve of the whole capture, or of a view with half a view on each side."""
        group = self._capture.groups.get(row.track) if row.key in self._group_keys else None
        if whole:
            if group is not None:
                return GroupTask(self._capture, row.track, *self._capture.span, OVERVIEW_BINS)
            return CurveTask(self._capture, row.lanes, *self._capture.span, OVERVIEW_BINS)
        low, high = self._capture.span
        start = max(low, scale.start_ns - scale.length_ns // 2)
        stop = min(max(high, low + 1), scale.stop_ns + scale.length_ns // 2)
        bins = max(1, min(4000, -(-(stop - start) * scale.width_px // (2 * scale.length_ns))))
        if group is not None and len(group.lanes) <= GROUP_LANES:
            return GroupTask(self._capture, row.track, start, stop, bins)
        return CurveTask(self._capture, row.lanes if group is None else tuple(group.lanes), start, stop, bins)

    def put(self, row: TimelineRow, curve: RowCurve, *, whole: bool) -> None:
        """Store a finished curve."""
        self.version += 1
        (self._whole if whole else self._near)[row.key] = curve

    def has_whole(self, row: TimelineRow) -> bool:
        """Whether the curve of the whole capture is available."""
        return row.key in self._whole

    def scaled(self, row: TimelineRow, curve: RowCurve, scale: TimeScale) -> Float64Array:
        """Values 0–1 per column: share of the cores, of the GPU, or of a process's busiest moment."""
        values = curve.sample(scale)
        if row.role == "cores":
            return values / max(1, row.cores)
        if row.role == "process":
            whole = self._whole.get(row.key)
            peak = float(np.nanmax(whole.values, initial=0.0)) if whole is not None else 1.0
            return values / max(1.0, float(np.ceil(peak)))
        return np.clip(values, 0, 1)


def share_text(ratio: float) -> str:
    """A share as text: ``91 %``, ``2.1 %``, ``0 %``."""
    percent = ratio * 100
    if percent >= 99.95 or percent == 0:
        return f"{percent:.0f} %"
    return "< 0.1 %" if percent < 0.05 else f"{percent:.1f} %"


def row_figure(
    capture: Capture, row: TimelineRow, start_ns: int, stop_ns: int, curve: RowCurve | None
) -> str:
    """A row's figure for the visible range: share, utilization or a counter's mean; empty for none."""
    length = max(1, stop_ns - start_ns)
    if row.role in {"core", "cores"}:
        return _figure_of_cores(capture, row, start_ns, stop_ns)
    if row.content is Content.COUNTER:
        counter = row.series or capture.counters[row.counter]
        mean = counter.query(start_ns, max(stop_ns, start_ns + 1), 1)[2][0]
        if not np.isfinite(mean):
            value = counter.value_at(start_ns)
            if value is None:
                return "–"
            mean = value
        return counter_text(float(mean), counter.unit)
    if row.group is not None and row.group.is_mixed and row.parent is not None:
        return row_figure(capture, row.parent, start_ns, stop_ns, curve)
    if row.content is Content.SUBSET and row.group is not None:
        return share_text(row.group.busy_ns(capture, start_ns, stop_ns) / length)
    if not row.lanes or row.content is Content.MORE:
        return ""
    role = role_of(row.role)
    if not role.has_busy_share or holds_moments_only(capture, row):
        return ""
    if row.content is Content.LANES:
        if role.is_nested or len(row.lanes) == 1:
            return share_text(capture.busy_ns(row.lanes[0], start_ns, stop_ns) / length)
        if capture.count_in(row.lanes, start_ns, stop_ns, UNION_LIMIT) <= UNION_LIMIT:
            return share_text(capture.union_busy_ns(row.lanes, start_ns, stop_ns) / length)
        busy = max(capture.busy_ns(lane, start_ns, stop_ns) for lane in row.lanes)
        return f"≥ {share_text(busy / length)}"
    if row.role == "process":
        parts = (process_busy_ns(capture, row, start_ns, stop_ns, lane) for lane in range(len(row.lanes)))
        return share_text(sum(part or 0 for part in parts) / length)
    if capture.count_in(row.lanes, start_ns, stop_ns, UNION_LIMIT) <= UNION_LIMIT:
        return share_text(capture.union_busy_ns(row.lanes, start_ns, stop_ns) / length)
    if curve is not None:
        scale = TimeScale(start_ns, stop_ns, 1000)
        values = np.clip(curve.sample(scale), 0, 1)
        if np.isfinite(values).any():
            return f"≈ {share_text(float(np.nanmean(values)))}"
    return ""


def holds_moments_only(capture: Capture, row: TimelineRow) -> bool:
    """Whether a row's events, such as samples, take no time; False for a row of many lanes."""
    return len(row.lanes) <= _FEW_LANES and not any(
        capture.busy_ns(lane, *capture.span) for lane in row.lanes
    )


def process_busy_ns(capture: Capture, row: TimelineRow, start_ns: int, stop_ns: int, done: int) -> int | None:
    """Busy time of lane number ``done`` of a process's row; None when all lanes are done.

    One lane at a time: loading pages of a large file can take milliseconds per lane.
    """
    if done >= min(len(row.lanes), _PROCESS_LANES):
        return None
    return capture.busy_ns(row.lanes[done], start_ns, stop_ns)


def sum_help(row: TimelineRow, figure: str) -> list[str]:
    """Explains a figure that may exceed 100 %: which times it adds up."""
    if row.role == "process":
        return [tr("sum over its threads: 100 % is one thread busy all the time, 200 % two", "timeline")]
    if row.content is Content.SUBSET and percent_of(figure) > 100:
        return [tr("concurrent events add up: 200 % is two at all times", "timeline")]
    return []


def percent_of(figure: str) -> float:
    """The number in a `share_text`, 0 for none."""
    number = figure.removesuffix("%").strip(" <≈≥")
    try:
        return float(number)
    except ValueError:
        return 0.0


def _figure_of_cores(capture: Capture, row: TimelineRow, start_ns: int, stop_ns: int) -> str:
    """The program's share of cores, and the system's if recorded."""
    shares = shares_of_cores(capture, row, start_ns, stop_ns)
    parts = [] if shares.program is None else [share_text(shares.program)]
    if shares.system is not None:
        parts.append(tr("system {share}", "timeline", share=share_text(shares.system)))
    return " · ".join(parts)


def core_help(capture: Capture, row: TimelineRow, start_ns: int, stop_ns: int) -> list[str]:
    """The shares as sentences."""
    shares = shares_of_cores(capture, row, start_ns, stop_ns)
    lines: list[str] = []
    if shares.program is not None:
        text = tr(
            "{share} of the visible range: the recorded program", "timeline", share=share_text(shares.program)
        )
        lines.append(text)
    if shares.system is not None:
        text = tr(
            "{share} of it: the whole system, all programs and the kernel",
            "timeline",
            share=share_text(shares.system),
        )
        lines.append(text)
    return lines


def counter_text(value: float, unit: str) -> str:
    """A value with its unit; bytes with binary prefixes, ratios as percent."""
    if unit in {"bytes", "B", "byte"}:
        return format_bytes(value, 3, exact_below=1024)
    if unit == "ratio":
        return share_text(value)
    if unit in {"%", "percent"}:
        return f"{value:.3g} %"
    return f"{_three_digits(value)} {translated(unit)}".rstrip()


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
