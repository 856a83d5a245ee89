"""Geometry shared by canvas, header, ruler and overview: tree, layout, scroll position, navigation.

The scene knows sizes in logical pixels but no widget. `TimelineState` holds what is saved; the scene derives the rest
from it and the window's size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRectF, Signal
from PySide6.QtGui import QPaintDevice

from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.state.lit import Lit
from warpline_app.state.timeline_state import Filter
from warpline_app.timeline.model.derived_rows import HEADING_KEY, DerivedGroup, derived_heading
from warpline_app.timeline.model.layout import Layout, Levels, PlacedRow, make_layout, row_is_open
from warpline_app.timeline.model.name_rows import nearest_of
from warpline_app.timeline.model.row import TimelineRow
from warpline_app.timeline.model.rows import RowTree
from warpline_app.timeline.model.ticks import Ticks, make_ticks
from warpline_app.timeline.model.time_model import AnchoredZoom, TimeScale

if TYPE_CHECKING:
    from warpline.storage import Capture

FRAME_SHARE = 0.6
"""Share of the width that a framed event takes."""


@dataclass(frozen=True)
class EventPlace:
    """An event's place in canvas pixels. ``row`` is the row that shows it, or its visible ancestor."""

    rect: QRectF
    row: PlacedRow
    is_drawn: bool


class Scene(QObject):
    """The geometry of one timeline."""

    layout_changed = Signal()
    scrolled = Signal(int)
    resized = Signal()

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.document = document
        self.capture: Capture = document.capture
        self.state = document.state
        self.tree = RowTree(self.capture)
        self.tree.index_late = self._index_late
        self._show_derived()
        self._jobs: list[Job] = []
        self._is_shown = False
        self.indexing: set[str] = set()
        """Rows whose names are being indexed."""
        self._levels = Levels(self.capture, self.state)
        self.layout: Layout = make_layout(self.tree, self.state, self._levels.depth_of)
        self.width_px = 800
        self.height_px = 400
        self.scroll_px = 0
        self.focus_key = ""
        self._zoom = AnchoredZoom()
        self._ticks: tuple[tuple[int, int, int, int], Ticks] | None = None
        self.pixel_ratio: float | None = None
        """device pixel ratio to use instead of the screen's, or None"""
        self.leader: Scene | None = None
        """the scene whose ruler this one shares while both move together"""
        state = self.state
        for signal in (
            state.pins_changed,
            state.order_changed,
            state.hidden_changed,
            state.expanded_changed,
            state.heights_changed,
        ):
            signal.connect(self.refresh_layout)
        state.filter_changed.connect(self._filter_changed)
        state.view_changed.connect(self._view_changed)
        document.derived.changed.connect(self._derived_changed)

    # layout

    def adopt(self, capture: Capture) -> None:
        """Show another capture of the same recording: rows keep their places, new ones follow them."""
        self.shut_down()
        self._jobs.clear()
        self.indexing.clear()
        self.capture = capture
        former, self.tree = self.tree, RowTree(capture)
        self.tree.keep_places(former)
        self.tree.index_late = self._index_late
        self._show_derived()
        self._levels.adopt(capture)
        self.refresh_layout()
        former.let_go()

    def _show_derived(self) -> None:
        self.tree.set_heading(HEADING_KEY, derived_heading(self.document.derived, self.state.derived_rows))

    def _derived_changed(self) -> None:
        self._show_derived()
        self.refresh_layout()

    def refresh_layout(self) -> None:
        """Lay out the rows again; the topmost row stays in place."""
        before = self.layout
        top = before.at(self.scroll_px, pinned=False)
        self.layout = make_layout(self.tree, self.state, self._levels.depth_of)
        same = self.layout.by_key.get(top.row.key) if top is not None else None
        if top is not None and same is not None and self.scroll_px:
            grown = self.layout.pinned_height - before.pinned_height
            self.scroll_px = same.top + self.scroll_px - top.top + grown
        self.scroll_px = min(max(0, self.scroll_px), self.max_scroll_px)
        self.layout_changed.emit()

    def _view_changed(self, *_view: object) -> None:
        """Add lines at once for deeper events that come into view."""
        if self._levels.is_outgrown((*self.layout.rows, *self.layout.pinned)):
            self.refresh_layout()

    def fit_levels(self) -> None:
        """Remove lines below the deepest events in view, once the view rests."""
        if self._levels.forget_idle((*self.layout.rows, *self.layout.pinned)):
            self.refresh_layout()

    def _filter_changed(self, _value: Filter) -> None:
        self.refresh_layout()

    def _index_late(self, row: TimelineRow) -> None:
        """Index the names of a large stream in a worker; its rows appear when done."""
        tree = self.tree

        def again() -> None:
            self._jobs.remove(job)
            self._index_late(row)

        job = Job(lambda _progress, is_cancelled: tree.index_names(row, is_cancelled), again=again)
        self._jobs.append(job)
        self.indexing.add(row.key)

        def done(_result: object) -> None:
            self._jobs.remove(job)
            self.indexing.discard(row.key)
            self.tree.open(row)
            self.refresh_layout()

        def failed(_error: object) -> None:
            self._jobs.remove(job)
            self.indexing.discard(row.key)
            row.make_children = None
            row.children = []
            self.refresh_layout()

        job.succeeded.connect(done)
        job.failed.connect(failed)
        if self._is_shown:
            job.launch()

    def begin_work(self) -> None:
        """Start the work postponed until the first frame was painted."""
        if not self._is_shown:
            self._is_shown = True
            for job in self._jobs:
                job.launch()

    def shut_down(self) -> None:
        """Ignore further results; a running worker ends by itself."""
        for job in self._jobs:
            job.cancel()

    def resize(self, width_px: int, height_px: int) -> None:
        """Set the size of the canvas."""
        self.width_px, self.height_px = max(1, width_px), max(1, height_px)
        self.scroll_px = min(self.scroll_px, self.max_scroll_px)
        self.resized.emit()

    @property
    def max_scroll_px(self) -> int:
        """The maximum scroll position."""
        return max(0, self.layout.height - max(1, self.height_px - self.layout.pinned_height))

    def scroll_to(self, top_px: int) -> None:
        """Scroll the rows to this position."""
        value = min(max(0, int(top_px)), self.max_scroll_px)
        if value != self.scroll_px:
            self.scroll_px = value
            self.scrolled.emit(value)

    def placed_at(self, y: float) -> PlacedRow | None:
        """The row at a height of the canvas."""
        if y < 0 or y >= self.height_px:
            return None
        if y < self.layout.pinned_height:
            return self.layout.at(int(y), pinned=True)
        return self.layout.at(int(y) - self.layout.pinned_height + self.scroll_px, pinned=False)

    def top_of(self, placed: PlacedRow) -> int:
        """A row's top on the canvas; may lie outside."""
        if placed.pinned:
            return placed.top
        return placed.top + self.layout.pinned_height - self.scroll_px

    def toggle(self, row: TimelineRow) -> None:
        """Expand or collapse a row."""
        if row.is_foldable:
            self.state.set_expanded(row.key, not row_is_open(row, self.state))

    # time

    @property
    def scale(self) -> TimeScale:
        """The scale of the view in logical pixels."""
        return TimeScale(*self.state.view, self.width_px)

    def ratio_of(self, screen: QPaintDevice) -> float:
        """The device pixel ratio of what is drawn for a screen."""
        return self.pixel_ratio or screen.devicePixelRatioF()

    def device_scale(self, ratio: float) -> TimeScale:
        """The scale of the view in device pixels."""
        return TimeScale(*self.state.view, max(1, round(self.width_px * ratio)))

    def ticks(self) -> Ticks:
        """The ruler's ticks, computed once per view; those of the leader are at the same places."""
        if self.leader is not None:
            ticks = self.leader.ticks()
            return replace(ticks, times=ticks.times + (self.state.view[0] - self.leader.state.view[0]))
        key = (*self.state.view, self.width_px, self.state.origin_ns)
        if self._ticks is None or self._ticks[0] != key:
            self._ticks = (key, make_ticks(*key))
        return self._ticks[1]

    def zoom(self, factor: float, x_px: float | None = None, gesture: str | None = None) -> None:
        """Scale the view's length by ``factor`` around a pixel of the canvas (default: the middle)."""
        fraction = 0.5 if x_px is None else min(max(x_px / self.width_px, 0.0), 1.0)
        view = self._zoom.zoom(self.state.view, self.state.span, fraction, factor)
        self.state.set_view(*view, gesture=gesture)

    def pan(self, pixels: int, gesture: str | None = None, ratio: float = 1.0) -> None:
        """Move the view by whole (device) pixels."""
        moved = self.device_scale(ratio).moved(round(pixels * ratio))
        self.state.set_view(moved.start_ns, moved.stop_ns, gesture=gesture)

    def show_range(self, start_ns: int, stop_ns: int, margin: float = 0.04) -> None:
        """Show a range with a margin."""
        air = int((stop_ns - start_ns) * margin)
        self.state.set_view(start_ns - air, max(stop_ns, start_ns + 1) + air)

    def center_on(self, time_ns: int) -> None:
        """Centre a time without zooming."""
        length = self.state.view[1] - self.state.view[0]
        self.state.set_view(time_ns - length // 2, time_ns - length // 2 + length)

    # events

    def place_of_event(self, event: int) -> EventPlace | None:
        """An event's unscrolled, unclipped place; None when no row shows it."""
        lane = self.capture.lane_of_row(event)
        start, stop = self.capture.event_span(event)
        scale = self.scale
        left = scale.to_px(start)
        width = max(scale.to_px(stop) - left, 1.0)
        for places in (self.layout.lane_place, self.layout.pinned_place):
            position = places.get(lane)
            if position is not None:
                placed, line = position
                return EventPlace(
                    QRectF(left, self.top_of(placed) + line.top, width, line.height), placed, True
                )
        row: TimelineRow | None = self.tree.row_of_track(int(self.capture.lanes.track[lane]))
        while row is not None and row.key:
            placed_row = self.layout.by_key.get(row.key)
            if placed_row is not None:
                top = self.top_of(placed_row)
                return EventPlace(QRectF(left, top + 3, width, placed_row.height - 6), placed_row, False)
            row = row.parent
        return None

    def event_at(self, x_px: float, y_px: float, reach_px: float = 3.0) -> int | None:
        """Row of the event at a point of the canvas; short events within ``reach_px`` count too."""
        placed = self.placed_at(y_px)
        if placed is None:
            return None
        inside = y_px - self.top_of(placed)
        scale = self.scale
        time_ns = scale.to_ns(x_px)
        reach_ns = max(0, int(reach_px * scale.ns_per_px))
        for line in placed.lines:
            if not line.top - 1 <= inside <= line.top + line.height:
                continue
            if line.group is None:
                hit = self.capture.event_at(line.lane, time_ns, reach_ns)
                return None if hit is None else int(hit)
            if isinstance(line.group, DerivedGroup) and line.group.events is not None:
                return None
            return nearest_of(line.group, self.capture, time_ns, reach_ns)
        return None

    def derived_event_at(
        self, x_px: float, y_px: float, reach_px: float = 3.0
    ) -> tuple[DerivedGroup, int] | None:
        """A derived row's own event at a point of the canvas: its line, and its place in ``events``."""
        placed = self.placed_at(y_px)
        inside = 0.0 if placed is None else y_px - self.top_of(placed)
        for line in () if placed is None else placed.lines:
            group = line.group
            if not isinstance(group, DerivedGroup) or group.events is None:
                continue
            if line.top - 1 <= inside <= line.top + line.height:
                reach_ns = max(0, int(reach_px * self.scale.ns_per_px))
                found = nearest_of(group, self.capture, self.scale.to_ns(x_px), reach_ns)
                return None if found is None else (group, found)
        return None

    def reveal_row(self, key: str) -> None:
        """Expand a row's ancestors, unhide it and scroll to it."""
        row = self.tree.get(key)
        if row is None:
            return
        chain = [row, *row.ancestors()]
        hidden = self.state.hidden - {above.key for above in chain}
        expanded = {**self.state.expanded, **{above.key: True for above in chain[1:]}}
        with self.state.unrecorded():
            self.state.set_hidden(hidden)
        self.state.set_all_expanded(expanded)
        placed = self.layout.by_key.get(key)
        if placed is None:
            return
        area = self.height_px - self.layout.pinned_height
        if placed.top < self.scroll_px:
            self.scroll_to(placed.top - 8)
        elif placed.bottom > self.scroll_px + area:
            self.scroll_to(placed.bottom - area + 8)

    def reveal_lit(self, lit: Lit) -> None:
        """Scroll to a row of a finding's evidence, and to an instance if none is in view."""
        rows = [row for row in map(self.tree.row_of_track, lit.tracks) if row is not None]
        placed = [self.layout.by_key[row.key] for row in rows if row.key in self.layout.by_key]
        low, high = self.scroll_px, self.scroll_px + self.height_px - self.layout.pinned_height
        if rows and not any(low <= place.top and place.bottom <= high for place in placed):
            self.reveal_row(rows[0].key)
        start, stop = self.state.view
        if len(lit) and not bool(((lit.ranges[:, 1] > start) & (lit.ranges[:, 0] < stop)).any()):
            longest = lit.ranges[int((lit.ranges[:, 1] - lit.ranges[:, 0]).argmax())]
            self.center_on(int(longest.sum()) // 2)

    def reveal_event(self, event: int) -> None:
        """Make an event visible: expand its row, scroll to it, and move the view if needed."""
        lane = self.capture.lane_of_row(event)
        row = self.tree.row_of_track(int(self.capture.lanes.track[lane]))
        if row is not None:
            if lane not in self.layout.lane_place:
                if lane in row.lanes[1:]:
                    self.state.set_expanded(row.key, True)
                self.reveal_row(row.key)
            else:
                self._scroll_to_lane(lane)
        start, stop = self.capture.event_span(event)
        view = self.state.view
        length = view[1] - view[0]
        if stop <= view[0] or start >= view[1] or (start < view[0] and stop - start < length):
            self.center_on(start + min(stop - start, length) // 2)
            if lane in self.layout.lane_place:  # the line may have appeared with the view
                self._scroll_to_lane(lane)

    def _scroll_to_lane(self, lane: int) -> None:
        placed, line = self.layout.lane_place[lane]
        top, bottom = placed.top + line.top, placed.top + line.top + line.height
        area = self.height_px - self.layout.pinned_height
        if top < self.scroll_px:
            self.scroll_to(top - 8)
        elif bottom > self.scroll_px + area:
            self.scroll_to(bottom - area + 8)

    def frame_event(self, event: int) -> None:
        """Zoom so that an event takes most of the width."""
        start, stop = self.capture.event_span(event)
        margin = int(max(stop - start, 1) * (1 / FRAME_SHARE - 1) / 2) + 1
        self.reveal_event(event)
        self.state.set_view(start - margin, stop + margin)
