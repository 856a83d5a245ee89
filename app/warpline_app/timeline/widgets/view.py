"""The timeline of a capture: overview, ruler, header, canvas, their figures and keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QFocusEvent, QImage, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QScrollBar, QWidget

from warpline.i18n import tr
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import painting
from warpline_app.look.theme import Theme
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.open.live_document import LiveDocument
from warpline_app.state.lit import Lit
from warpline_app.state.name_filter import passing_names
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.draw.emphasis import emphasis_for
from warpline_app.timeline.model.events_of_names import instances
from warpline_app.timeline.model.idle import IdleWork
from warpline_app.timeline.model.layout import PINNED_KEY
from warpline_app.timeline.model.row import TimelineRow
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.model.search import Search
from warpline_app.timeline.model.why.chain import EventChain, EventChains
from warpline_app.timeline.widgets.canvas import Canvas
from warpline_app.timeline.widgets.details import Details
from warpline_app.timeline.widgets.header import Header
from warpline_app.timeline.widgets.held_keys import HeldKeys, verb_of
from warpline_app.timeline.widgets.legend import Legend
from warpline_app.timeline.widgets.legend_entries import legend_entries, might_explain
from warpline_app.timeline.widgets.live_legend import LiveLegend
from warpline_app.timeline.widgets.overview import HEIGHT as OVERVIEW_HEIGHT
from warpline_app.timeline.widgets.overview import Overview
from warpline_app.timeline.widgets.path_lane import PathLane
from warpline_app.timeline.widgets.ruler import HEIGHT as RULER_HEIGHT
from warpline_app.timeline.widgets.ruler import Corner, Ruler

if TYPE_CHECKING:
    from warpline.storage import Capture

HEADER_WIDTH = 270
REST_ROW = 4
"""Row of the grid above the legend, empty except in pictures."""
MARK_AT_ONCE = 2_000_000
"""In larger captures, the events of highlighted names are collected in the background."""


class TimelineView(QWidget):
    """The widget between the tool row and the panels.

    ``idle`` is emitted when all drawing is done: the frame is exact, figures and curves are complete. Tests and picture
    exports wait for it.
    """

    idle = Signal()
    status_changed = Signal(str)
    """a message for the status line about an invalid filter"""
    row_menu_requested = Signal(QPoint, str)
    """global position, and the key of the row, which has the focus now"""
    event_menu_requested = Signal(QPoint, object, object)
    """global position, time in ns, and the row of the selected event there (or None)"""
    ruler_menu_requested = Signal(QPoint, object)
    """global position and time in ns"""
    mark_requested = Signal(object)
    """time in ns of a mark to add or name"""
    key_pressed = Signal(object)
    """A QKeyEvent; the handler accepts it."""

    def __init__(
        self,
        document: Document,
        parent: QWidget | None = None,
        *,
        theme: Theme | None = None,
    ) -> None:
        super().__init__(parent)
        self.document = document
        self.state: TimelineState = document.state
        self.theme: Theme = theme or appearance().theme
        if theme is None:
            appearance().theme_changed.connect(self.set_theme)
        self.scene: Scene = Scene(document, self)
        self.search: Search = Search(document, self)
        self.canvas = Canvas(self.scene, self.theme, self)
        self.header = Header(self.scene, self.theme, self)
        self.ruler = Ruler(self.scene, self.canvas.overlay, self.theme, self)
        self.overview = Overview(self.scene, self.theme, self)
        self.corner = Corner(self.scene, self.theme, OVERVIEW_HEIGHT, self)
        self.legend = Legend(self.theme, self)
        self.explained: Sequence[Capture] = (document.capture,)
        """captures the legend covers; empty if another view's legend covers this one"""
        self.path = PathLane(self.scene, self.theme, self)
        self.scroll_bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.work = IdleWork(self)
        self.details = Details(self.scene, self.canvas, self.header, self.ruler, self.overview, self.work)
        self._chains = EventChains(document.capture)
        self._chain: EventChain | None = None
        self._pointed: tuple[QPointF, str] | None = None
        self._closed = False
        self._is_idle_reported = False
        self._lit_key: str | None = None
        self._lit_rows: np.ndarray | None = None
        self._idle_check = QTimer(self)
        self._idle_check.setSingleShot(True)
        self._idle_check.timeout.connect(self._check_idle)
        self.held = HeldKeys(self.scene, self.anchor_px, self.devicePixelRatioF, self)
        self._arrange()
        self._connect()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Timeline of {title}", "timeline", title=document.title))
        self._emphasis_changed()

    def _arrange(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.corner, 0, 0, 2, 1)
        grid.addWidget(self.overview, 0, 1)
        grid.addWidget(self.ruler, 1, 1)
        grid.addWidget(self.path, 2, 0, 1, 2)
        grid.addWidget(self.header, 3, 0)
        grid.addWidget(self.canvas, 3, 1)
        grid.addWidget(self.scroll_bar, 0, 2, 4, 1)
        grid.addWidget(self.legend, REST_ROW + 1, 0, 1, 3)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(3, 1)
        self.corner.setFixedHeight(OVERVIEW_HEIGHT + RULER_HEIGHT)
        self.set_header_width(HEADER_WIDTH)
        self.setMinimumSize(360, 160)

    def _connect(self) -> None:
        scene, state = self.scene, self.state
        self.header.width_wanted.connect(self.set_header_width)
        self.header.menu_wanted.connect(self.row_menu_requested)
        self.header.link_wanted.connect(self.follow_link_of_row)
        self.ruler.link_wanted.connect(self.go_to)
        self.canvas.menu_wanted.connect(self._canvas_menu)
        self.ruler.menu_wanted.connect(self.ruler_menu_requested)
        self.ruler.mark_wanted.connect(self.mark_requested)
        self.canvas.settled.connect(self._settled)
        self.canvas.frame_drawn.connect(self._frame_drawn)
        self.work.finished.connect(self._check_idle_soon)
        self.scroll_bar.valueChanged.connect(scene.scroll_to)
        for signal in (scene.layout_changed, scene.resized, scene.scrolled):
            signal.connect(self._scroll_bar_changed)
        for signal in (state.filter_changed, state.highlight_changed):
            signal.connect(self._emphasis_changed)
        state.highlight_changed.connect(self._mark_in_overview)
        state.lit_changed.connect(self._lit_changed)
        state.selection_changed.connect(self._selection_changed)
        state.range_selection_changed.connect(self._range_changed)
        self.search.changed.connect(self._search_changed)
        self.legend.events_wanted.connect(lambda *what: state.list_events("thread_state", *what))
        self.legend.expect(might_explain(self.document.capture))
        self._live_legend: LiveLegend | None = None
        if isinstance(self.document, LiveDocument):
            self.document.grown.connect(self.adopt)
            self._live_legend = LiveLegend(self)
            self._live_legend.found.connect(
                lambda entries: self.legend.show_entries(entries, self.canvas.renderer.table)
            )

    def adopt(self) -> None:
        """Show the document's capture, which was replaced by another one of the same recording."""
        capture = self.document.capture
        self.work.cancel("")
        self.scene.adopt(capture)
        self.explained = (capture,) if self.explained else ()
        self._chains, self._chain = EventChains(capture), None
        self._lit_key = self._lit_rows = None
        self.search.adopt()
        for part in (self.overview, self.path, self.canvas):
            part.adopt()
        self._emphasis_changed()
        self._selection_changed(self.state.selection)
        self.work.submit("legend", self._explain)

    # appearance

    def set_theme(self, theme: Theme) -> None:
        """Set the colours."""
        self.theme = theme
        for part in (self.canvas, self.header, self.ruler, self.overview, self.corner, self.path):
            part.set_theme(theme)
        self.legend.set_theme(theme, self.canvas.renderer.table)

    def _explain(self) -> None:
        """Update the legend from the captures it covers."""
        document, legend = self.document, self._live_legend
        if legend is not None and isinstance(document, LiveDocument) and document.is_live:
            for capture in self.explained:
                legend.ask(capture, self.state.filter.only)
            return
        legends = (legend_entries(capture, self.state.filter.only) for capture in self.explained)
        entries = dict.fromkeys(entry for legend in legends for entry in legend)
        self.legend.show_entries(tuple(entries), self.canvas.renderer.table)

    def follow_link_of_row(self, key: str) -> None:
        """Go to the first end of the selection's links in a row."""
        for link in self.canvas.overlay.selection_links.links:
            for event in (link.from_row, link.to_row):
                place = self.scene.place_of_event(event) if event >= 0 else None
                if event != self.state.selection and place is not None and place.row.row.key == key:
                    self.go_to(event)
                    return

    def go_to(self, event: int) -> None:
        """Select an event and bring it into view."""
        self.state.select(event)
        self.scene.reveal_event(event)

    def set_header_width(self, width_px: int) -> None:
        """Set the width of the title column."""
        self.header.setFixedWidth(width_px)
        self.corner.setFixedWidth(width_px)
        self.path.title_px = width_px

    def share_time(self, leader: Scene | None) -> None:
        """Use another timeline's ruler and overview, which move in step with this one; None restores this one's own."""
        self.scene.leader = leader
        for part in (self.overview, self.ruler, self.corner):
            part.setVisible(leader is None)
        self.canvas.invalidate()

    def picture(self) -> QImage:
        """A picture of the timeline at the screen's resolution."""
        ratio = self.scene.ratio_of(self)
        image = QImage(round(self.width() * ratio), round(self.height() * ratio), QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        image.fill(self.theme.color("header"))
        with painting(image) as painter:
            self.render(painter, QPoint(0, 0))
        return image

    # idle

    @property
    def is_idle(self) -> bool:
        """Whether all drawing is done."""
        waits = self.search.is_running or bool(self.scene.indexing) or self.path.is_busy
        return self.canvas.is_settled and not self.work.is_busy and not waits

    def _frame_drawn(self) -> None:
        self.scene.begin_work()
        if not self.legend.has_entries:
            self.work.submit("legend", self._explain)
        if not self.canvas.is_settled and self.work.is_busy:
            self.work.later(30)  # the view moves again: let frames go first
        self._check_idle_soon()

    def _check_idle_soon(self) -> None:
        if not self._idle_check.isActive():
            self._idle_check.start()

    def _check_idle(self) -> None:
        """Emit once when all work is done; work begun since then ends first."""
        if not self.is_idle:
            self._is_idle_reported = False
        elif not self._is_idle_reported and not self._closed:
            self._is_idle_reported = True
            self.idle.emit()

    def _settled(self) -> None:
        if not self.held.is_moving and not self.canvas.gestures.is_active:
            self.state.end_gesture()
        self._is_idle_reported = False
        self.details.refresh()

    def _range_changed(self, _value: object) -> None:
        self.details.count_range_soon()

    # following the state

    def _emphasis_changed(self, *_: object) -> None:
        capture, wanted = self.document.capture, self.state.filter
        names = None
        try:
            names = passing_names(capture.strings, wanted)
        except re.error as error:  # an expression still being typed
            self.status_changed.emit(str(error))
        if self.state.highlight:
            chosen = np.array(sorted(self.state.highlight), np.int64)
            names = chosen if names is None else np.intersect1d(names, chosen)
        rows = None if self.state.lit is None else self.state.lit.rows
        self.canvas.set_emphasis(emphasis_for(capture, names, wanted.kinds, rows, self._chain))

    def _lit_changed(self, lit: Lit | None) -> None:
        """Another finding: dim the rest and scroll to its rows. A step within one changes no colours."""
        key, before = None if lit is None else lit.key, self._lit_key
        rows, self._lit_rows = self._lit_rows, None if lit is None else lit.rows
        if rows is not self._lit_rows:
            self._emphasis_changed()
        if key == before:
            return
        self._lit_key = key
        self._mark_in_overview()
        if lit is not None:
            self.scene.reveal_lit(lit)

    def _selection_changed(self, row: int | None) -> None:
        """Keep events related to the selection in full colour; computed once, not per frame."""
        before, self._chain = self._chain, None if row is None else self._chains.of(row)
        if before is not self._chain:
            self._emphasis_changed()
        self.details.find_linked_soon()

    def _mark_in_overview(self, *_: object) -> None:
        """Show ticks of a finding's instances, of search results, or of highlighted names."""
        names, result, lit = self.state.highlight, self.search.result, self.state.lit
        if lit is not None:
            self.overview.set_ticks(np.sort(lit.ranges[:, 0]))
            return
        if not names or names == frozenset(result.names.tolist()):
            self.overview.set_ticks(result.times)
            return
        capture = self.document.capture

        def show(answer: tuple[object, np.ndarray]) -> None:
            if self.state.highlight == names:
                self.overview.set_ticks(answer[1])

        if len(capture.events) <= MARK_AT_ONCE:
            show(instances(capture, names))
            return
        job = Job(lambda _progress, _cancelled: instances(capture, names), self)
        job.succeeded.connect(show)
        job.launch()

    def _search_changed(self) -> None:
        self._mark_in_overview()
        self._check_idle_soon()

    def _scroll_bar_changed(self, *_: object) -> None:
        bar, scene = self.scroll_bar, self.scene
        bar.blockSignals(True)
        bar.setRange(0, scene.max_scroll_px)
        bar.setPageStep(max(1, scene.height_px - scene.layout.pinned_height))
        bar.setSingleStep(22)
        bar.setValue(scene.scroll_px)
        bar.blockSignals(False)

    # keys

    def anchor_px(self) -> float | None:
        """The pixel that keys zoom around: the pointer, else the visible selected event, else the middle."""
        point = self.canvas.pointer_position()
        if point is not None:
            return point.x()
        if self.state.selection is not None:
            start, stop = self.document.capture.event_span(self.state.selection)
            x = self.scene.scale.to_px((start + stop) // 2)
            if 0 <= x <= self.scene.width_px:
                return x
        return None

    def event(self, event: QEvent) -> bool:
        """Handle keys by position before shortcuts by letter: W is where a French keyboard has Z."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and verb_of(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pass keys to listeners."""
        event.ignore()
        self.key_pressed.emit(event)
        if not event.isAccepted():
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """End the motion of a held key."""
        if not self.held.release(event):
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Stop motions: the keys will be released elsewhere."""
        self.held.stop()
        super().focusOutEvent(event)

    def _canvas_menu(self, where: QPoint, time_ns: int) -> None:
        local = self.canvas.mapFromGlobal(where)
        event = self.scene.event_at(local.x(), local.y())
        if event is not None:
            self.state.select(event)
        self.event_menu_requested.emit(where, time_ns, event)

    def focus_row(self) -> TimelineRow | None:
        """The row commands act on: under the pointer, else clicked last, else the selected event's."""
        point = self.canvas.pointer_position()
        if point is not None:
            # Rows move when one is pinned or expanded: with the pointer at rest, keep the same row.
            if self._pointed is not None and self._pointed[0] == point:
                placed = self.scene.layout.by_key.get(self._pointed[1])
                if placed is not None:
                    return placed.row
            placed = self.scene.placed_at(point.y())
            if placed is not None and placed.row.key != PINNED_KEY:
                self._pointed = (point, placed.row.key)
                return placed.row
        row = self.scene.tree.get(self.scene.focus_key) if self.scene.focus_key else None
        if row is None and self.state.selection is not None:
            row = self.scene.tree.row_of_event(self.state.selection)
        return row

    # closing

    def shut_down(self) -> None:
        """Stop all work; call before the file is closed."""
        if not self._closed:
            self._closed = True
            self.held.stop()
            self.search.shut_down()
            self.scene.shut_down()
            self.path.shut_down()
            self.work.cancel("")
            self.canvas.shut_down()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop all work."""
        self.shut_down()
        super().closeEvent(event)
