"""A comparison's tab: both timelines, the waterfall, and reports row by row."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSplitter, QWidget

from warpline.analysis.compare.causes import is_wait
from warpline.analysis.compare.comparison import Side
from warpline.analysis.compare.waterfall import Contributor, TimePart
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.comparison.changes import Changes
from warpline_app.comparison.control_row import ControlRow
from warpline_app.comparison.places import lit_states, longest_event, name_ids, stretch_of, window_of
from warpline_app.comparison.row_lock import RowLock
from warpline_app.comparison.waterfall_view import WaterfallView
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.look.widgets import flat_column
from warpline_app.open.comparing import ComparedPair
from warpline_app.open.workspace import Workspace
from warpline_app.state.view_lock import LockMode
from warpline_app.timeline.widgets.canvas import SLOW_FRAME_S
from warpline_app.timeline.widgets.first_frame import FirstFrame
from warpline_app.timeline.widgets.navigator import Navigator
from warpline_app.timeline.widgets.view import TimelineView

_LEAST_CHANGE = 0.01
"""Share of the total difference below which names are not highlighted."""


class ComparisonPage(QWidget):
    """Shows a `ComparedPair` until `take_timelines_away`; the workspace closes its files."""

    def __init__(self, pair: ComparedPair, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pair = pair
        self._workspace = workspace
        self.views: tuple[TimelineView, TimelineView] = (
            TimelineView(pair.a, self),
            TimelineView(pair.b, self),
        )
        self.navigators = tuple(Navigator(view, workspace) for view in self.views)
        self.rows = RowLock(self.views[0], self.views[1], self)
        self.controls = ControlRow(pair, self)
        self.controls.rows_matched.connect(self.rows.set_on)
        self.controls.lit.connect(self.highlight_differences)
        self.waterfall = WaterfallView(pair.comparison)
        self.waterfall.part_chosen.connect(self.go_to_part)
        self.waterfall.contributor_chosen.connect(self.go_to_contributor)
        self.changes = Changes(pair, workspace)
        self.changes.names_chosen.connect(self.go_to_names)
        self.changes.run_chosen.connect(lambda path: workspace.compare(path, pair.b.source))
        for view in self.views:
            view.canvas.slow_frame_s = SLOW_FRAME_S / len(self.views)
            view.status_changed.connect(workspace.tell)
            view.state.reveal_wanted.connect(view.scene.reveal_event)
            view.state.frame_wanted.connect(view.scene.frame_event)
            view.state.row_wanted.connect(view.scene.reveal_row)
            view.search.changed.connect(lambda view=view: self._search_other(view))
            for widget in (view, *view.findChildren(QWidget)):
                widget.installEventFilter(self)
        FirstFrame(self.views[0].canvas, self).after(self.changes.begin)
        # One legend for both timelines.
        self.views[1].explained = tuple(view.document.capture for view in self.views)
        self.views[0].explained = ()
        self.views[0].legend.expect(False)
        self.views[0].legend.wanted_changed.connect(self.views[1].legend.set_wanted)
        self.views[0].legend.set_wanted(workspace.settings.shows_legend)
        pair.lock.mode_changed.connect(lambda _mode: self._share_time())
        pair.b.state.notes_changed.connect(lambda _notes: self._share_time())
        self._share_time()
        self._arrange()
        self.setFocusProxy(self.views[0])

    def _arrange(self) -> None:
        column = flat_column(self)
        column.addWidget(self.controls)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(3)
        self.splitter.setChildrenCollapsible(False)
        for letter, view, side in zip(
            "AB", self.views, (self.pair.comparison.a, self.pair.comparison.b), strict=True
        ):
            self.splitter.addWidget(_titled(letter, view, side.run.path, side.total_ns))
        below = QSplitter(Qt.Orientation.Horizontal)
        below.setHandleWidth(3)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(self.waterfall)
        below.addWidget(scroll)
        below.addWidget(self.changes)
        below.setSizes([520, 640])
        self.splitter.addWidget(below)
        self.splitter.setSizes([300, 300, 240])
        for place in (0, 1):
            self.splitter.setStretchFactor(place, 1)
        column.addWidget(self.splitter, 1)

    def _share_time(self) -> None:
        """Share one ruler and overview while the timelines move together and B has no marks of its own."""
        has_own = self.pair.lock.mode is LockMode.FREE or bool(self.pair.b.state.timed_notes)
        self.views[1].share_time(None if has_own else self.views[0].scene)

    @property
    def view(self) -> TimelineView:
        """The timeline with keyboard focus."""
        return self.views[self._side]

    @property
    def navigator(self) -> Navigator:
        """The navigator of the timeline with keyboard focus."""
        return self.navigators[self._side]

    @property
    def _side(self) -> int:
        return self.pair.documents.index(self.pair.active)

    @property
    def is_idle(self) -> bool:
        """Whether drawing and computing are finished."""
        return all(view.is_idle for view in self.views) and self.changes.is_settled

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Commands act on the timeline that was last clicked or focused."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.MouseButtonPress):
            for view in self.views:
                if watched is view or (isinstance(watched, QWidget) and view.isAncestorOf(watched)):
                    self.pair.activate(view.document)
                    self.setFocusProxy(view)
        return super().eventFilter(watched, event)

    def _search_other(self, view: TimelineView) -> None:
        """Repeat a search in the other timeline."""
        other = self._other(view)
        if view.document is self.pair.active and other.search.query != view.search.query:
            other.search.find(view.search.query)

    def _other(self, view: TimelineView) -> TimelineView:
        return self.views[1 - self.views.index(view)]

    def go_to_part(self, part: TimePart) -> None:
        """Show where the part takes most of its time on both timelines, and highlight its contributors."""
        self._go_to_stretches(part, [stretch_of(side, part.cause) for side in self._sides], None)

    def _go_to_stretches(
        self, part: TimePart, stretches: list[tuple[int, int] | None], name: str | None
    ) -> None:
        """Show a range on each side (or its counterpart), highlighting events by name, else thread states."""
        names_shown = [
            contributor.name
            for contributor in part.contributors
            if contributor.name and contributor.difference_ns
        ][:8]
        ids = self._highlight(names_shown if name is None else [name])
        first, second = self._sides
        ranges = [stretch or window_of(side) for stretch, side in zip(stretches, self._sides, strict=True)]
        if stretches[0] is None and stretches[1] is not None:
            ranges[0] = _counterpart_range(ranges[1], window_of(second), window_of(first))
        if stretches[1] is None and stretches[0] is not None:
            ranges[1] = _counterpart_range(ranges[0], window_of(first), window_of(second))
        self.pair.lock.show_pair(ranges[0], ranges[1], margin=0.35)
        events = [
            None if is_wait(part.cause) else longest_event(side, chosen, within)
            for side, chosen, within in zip(self._sides, ids, ranges, strict=True)
        ]
        if events == [None, None]:
            events = self._highlight_states(part, ranges, name)
        self._reveal(events)

    def _highlight_states(
        self, part: TimePart, ranges: list[tuple[int, int]], name: str | None
    ) -> list[int | None]:
        """Highlight the thread states of a part; the state of each side at the start of its range."""
        self._highlight([])
        comparison: list[int | None] = []
        for side, view, (start, _stop) in zip(self._sides, self.views, ranges, strict=True):
            lit = lit_states(side, part.cause, translated(part.title), name)
            view.state.set_lit(lit)
            place = -1 if lit is None else int(lit.ranges[:, 0].searchsorted(start, "right")) - 1
            comparison.append(None if lit is None or place < 0 else int(lit.row_of_range[place]))
        return comparison

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.pair.comparison.a, self.pair.comparison.b

    def _reveal(self, events: list[int | None]) -> None:
        """Select an event on each side and scroll to its row."""
        with self.rows.apart():
            for view, event in zip(self.views, events, strict=True):
                view.state.select(event)
                if event is not None:
                    view.scene.reveal_event(event)

    def go_to_contributor(self, part: TimePart, contributor: Contributor) -> None:
        """Show the longest event of a contributor on both timelines, or the range where it takes longest."""
        ids = self._ids([contributor.name])
        if any(
            longest_event(side, chosen) is not None for side, chosen in zip(self._sides, ids, strict=True)
        ):
            self.go_to_names([contributor.name])
            return
        stretches = [side.largest_stretch(part.cause, contributor.name) for side in self._sides]
        self._go_to_stretches(part, stretches, contributor.name)

    def go_to_names(self, names: list[str]) -> None:
        """Highlight the events of these names and show the longest one of each side."""
        ids = self._highlight(names)
        sides = (self.pair.comparison.a, self.pair.comparison.b)
        events = [
            longest_event(side, names_shown, with_instants=True)
            for side, names_shown in zip(sides, ids, strict=True)
        ]
        spans: list[tuple[int, int] | None] = [
            None if event is None else side.run.capture.event_span(event)
            for side, event in zip(sides, events, strict=True)
        ]
        if spans[0] is None and spans[1] is None:
            self._workspace.tell(tr("Neither capture has an event of this name in the compared range"))
            return
        first, second = spans
        window_a, window_b = window_of(self.pair.comparison.a), window_of(self.pair.comparison.b)
        range_a = first or _counterpart_range(second or window_b, window_b, window_a)
        range_b = second or _counterpart_range(first or window_a, window_a, window_b)
        self.pair.lock.show_pair(range_a, range_b, margin=1.5)
        self._reveal(events)

    def highlight_differences(self, is_on: bool) -> None:
        """Highlight events of names that are new, gone or changed, or nothing."""
        if not is_on:
            self._highlight([])
            return
        comparison = self.pair.comparison
        least = _LEAST_CHANGE * max(abs(comparison.difference_ns), 1)
        self._highlight(
            contributor.name
            for part in comparison.parts
            for contributor in part.contributors
            if contributor.name
            and (contributor.is_new or contributor.is_gone or abs(contributor.difference_ns) >= least)
        )

    def _ids(self, names: Iterable[str]) -> list[frozenset[int]]:
        names_shown = list(names)
        return [
            name_ids(side, names_shown, is_exact=self.pair.comparison.choices.is_exact)
            for side in self._sides
        ]

    def _highlight(self, names: Iterable[str]) -> list[frozenset[int]]:
        """Highlight only the events of these names; returns their ids on each side."""
        ids = self._ids(names)
        for view in self.views:
            view.state.set_lit(None)
        for view, chosen in zip(self.views, ids, strict=True):
            view.state.set_highlight(chosen)
        return ids

    def take_timelines_away(self) -> None:
        """Stop drawing and computing before the files are closed."""
        self.changes.shut_down()
        for view in self.views:
            view.shut_down()
            view.hide()


def _counterpart_range(
    range_ns: tuple[int, int], window: tuple[int, int], other: tuple[int, int]
) -> tuple[int, int]:
    """The range of the other side at the same distance from its window's start."""
    start = other[0] + range_ns[0] - window[0]
    return start, start + range_ns[1] - range_ns[0]


def _titled(letter: str, view: TimelineView, path: str, total_ns: int) -> QWidget:
    """A timeline below a strip with its letter, path and length."""
    box = QWidget()
    column = flat_column(box)
    strip = QWidget()
    strip.setObjectName("sideTitle")
    strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    row = QHBoxLayout(strip)
    row.setContentsMargins(12, 3, 12, 3)
    label = ElidedLabel(f"{letter}   {path}", mode=Qt.TextElideMode.ElideMiddle)
    label.setToolTip(plain(path))
    length = ElidedLabel(format_duration(total_ns))
    length.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    row.addWidget(label, 3)
    row.addWidget(length, 1)
    column.addWidget(strip)
    column.addWidget(view, 1)
    return box
