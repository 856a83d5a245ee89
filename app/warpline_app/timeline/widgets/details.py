"""Computes details while idle: figures, curves, event counts of the range, rows with linked events."""

from __future__ import annotations

from collections.abc import Callable

from warpline_app.timeline.model.curves import (
    CurveTask,
    GroupTask,
    holds_moments_only,
    process_busy_ns,
    row_figure,
    share_text,
)
from warpline_app.timeline.model.idle import IdleWork
from warpline_app.timeline.model.layout import PlacedRow
from warpline_app.timeline.model.row import TimelineRow
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.widgets.canvas import Canvas
from warpline_app.timeline.widgets.header import Header
from warpline_app.timeline.widgets.overview import Overview
from warpline_app.timeline.widgets.ruler import Ruler

COUNTED_LANES = 4096
AnyTask = CurveTask | GroupTask


class Details:
    """Queues idle work and passes its results to the widgets."""

    def __init__(
        self, scene: Scene, canvas: Canvas, header: Header, ruler: Ruler, overview: Overview, work: IdleWork
    ) -> None:
        self._scene = scene
        self._canvas = canvas
        self._header = header
        self._ruler = ruler
        self._overview = overview
        self._work = work
        self._figures: dict[str, str] = {}

    def refresh(self) -> None:
        """Compute everything for the current view; drops work for an earlier view."""
        start, stop = self._scene.state.view
        self._work.cancel("figure:")
        self._work.cancel("curve:")
        if self._overview.row is not None and self._overview.is_outdated:
            self._submit_curve(self._overview.row, whole=True, then=self._overview_ready)
        visible = self._visible_rows()
        curves = self._canvas.renderer.curves
        for placed in visible:
            row = placed.row
            if row.lanes and not placed.lines and row.counter < 0:
                if not curves.has_whole(row):
                    self._submit_curve(row, whole=True)
                if not curves.get(row, self._device_scale())[1]:
                    self._submit_curve(row, whole=False)
        for placed in visible:
            self._submit_figure(placed.row, start, stop)
        self._work.submit("figures", self._show_figures)
        self.count_range_soon()
        self.find_linked_soon()

    def count_range_soon(self) -> None:
        """Count events for a new selected range."""
        self._work.submit("range", self._count_range)

    def find_linked_soon(self) -> None:
        """Find linked rows for a new selected event."""
        self._work.submit("linked", self._find_linked_rows)

    def _device_scale(self) -> TimeScale:
        return self._scene.device_scale(self._scene.ratio_of(self._canvas))

    def _visible_rows(self) -> tuple[PlacedRow, ...]:
        scene = self._scene
        area = scene.height_px - scene.layout.pinned_height
        return (*scene.layout.pinned, *scene.layout.between(scene.scroll_px, scene.scroll_px + area))

    def _submit_figure(self, row: TimelineRow, start_ns: int, stop_ns: int) -> None:
        if row.role == "process":
            self._add_up(row, start_ns, stop_ns, 0, 0)
            return
        self._work.submit(f"figure:{row.key}", lambda: self._find_figure(row, start_ns, stop_ns))

    def _add_up(self, row: TimelineRow, start_ns: int, stop_ns: int, done: int, busy_ns: int) -> None:
        """Compute a process's figure lane by lane: ``done`` lanes are busy for ``busy_ns`` in total."""

        def step() -> None:
            try:
                more = process_busy_ns(self._scene.capture, row, start_ns, stop_ns, done)
            except Exception as error:  # contained in its row, which shows it
                self._fail(row, error)
                return
            if more is None:
                takes_time = busy_ns or not holds_moments_only(self._scene.capture, row)
                self._figures[row.key] = (
                    share_text(busy_ns / max(1, stop_ns - start_ns)) if takes_time else ""
                )
                self._work.submit("figures", self._show_figures)
            else:
                self._add_up(row, start_ns, stop_ns, done + 1, busy_ns + more)

        self._work.submit(f"figure:{row.key}", step)

    def _find_figure(self, row: TimelineRow, start_ns: int, stop_ns: int) -> None:
        try:
            curve = self._canvas.renderer.curves.get(row, self._device_scale())[0] if row.lanes else None
            self._figures[row.key] = row_figure(self._scene.capture, row, start_ns, stop_ns, curve)
        except Exception as error:  # contained in its row, which shows it
            self._fail(row, error)

    def _fail(self, row: TimelineRow, error: Exception) -> None:
        self._canvas.renderer.failed[row.key] = str(error) or type(error).__name__
        self._figures[row.key] = "!"
        self._canvas.redraw()

    def _show_figures(self) -> None:
        self._header.set_figures(self._figures)

    def _submit_curve(
        self, row: TimelineRow, *, whole: bool, then: Callable[[AnyTask], None] | None = None
    ) -> None:
        task = self._canvas.renderer.curves.task(row, self._device_scale(), whole=whole)
        key = f"curve:{'whole' if whole else 'near'}:{row.key}"

        self._work.submit(key, lambda: self._step(key, row, task, whole, then))

    def _step(
        self,
        key: str,
        row: TimelineRow,
        task: AnyTask,
        whole: bool,
        then: Callable[[AnyTask], None] | None,
    ) -> None:
        # A function that submits itself would be a reference cycle, which keeps the task's capture in memory.
        try:
            done = task.step()
        except Exception as error:  # contained in its row, which shows it
            self._fail(row, error)
            return
        if not done:
            self._work.submit(key, lambda: self._step(key, row, task, whole, then))
        elif then is not None:
            then(task)
        else:
            self._canvas.renderer.curves.put(row, task.curve, whole=whole)
            self._canvas.redraw()

    def _overview_ready(self, task: AnyTask) -> None:
        self._overview.set_curve(task.curve)

    def _find_linked_rows(self) -> None:
        """Mark the rows that contain ends of the selection's links."""
        selected = self._scene.state.selection
        keys = set()
        for link in self._canvas.overlay.selection_links.links:
            for event in (link.from_row, link.to_row):
                place = self._scene.place_of_event(event) if event >= 0 and event != selected else None
                if place is not None:
                    keys.add(place.row.row.key)
        self._header.set_linked(frozenset(keys))

    def _count_range(self, done: int = 0, so_far: int = 0) -> None:
        """Count the events of the selected range lane by lane: ``done`` lanes have ``so_far`` events."""
        capture, selected = self._scene.capture, self._scene.state.range_selection
        count = None
        # All lanes, also hidden ones: the panels count the same.
        if selected is not None and len(capture.lanes) <= COUNTED_LANES:
            count = so_far
            if done < len(capture.lanes):
                # Reading the ends of a lane may load pages from disk: one lane per piece of work.
                count += capture.count_in([done], *selected)
                self._work.submit("range", lambda: self._count_range(done + 1, count))
                return
        self._ruler.set_event_count(count)
        self._canvas.overlay.find_related()
        self._canvas.repaint_overlay()
