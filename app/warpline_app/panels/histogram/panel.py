"""The distribution of durations of one name, with the selected event marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QCheckBox, QWidget

from warpline.analysis.framework.kernel_names import short_kernel_name
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import tr, tr_n
from warpline.model.progress import IsCancelled
from warpline.model.times import format_duration
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import muted_label
from warpline_app.open.document import Document
from warpline_app.panels.charts.chart import (
    Chart,
    duration_text,
    duration_ticks,
    linear_ticks,
    log_ticks,
    whole_ticks,
)
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.scope import scope_suffix, selected_tracks
from warpline_app.timeline.draw.name_colors import NameColors
from warpline_app.timeline.model.events_of_names import instances

Int64Array = npt.NDArray[np.int64]
BINS = 80


@dataclass(frozen=True)
class HistogramRequest:
    """Durations of one name in a range, on some tracks and those below (None: all); ``is_log`` spaces bins by ratio."""

    name: int
    range_ns: tuple[int, int] | None
    is_log: bool
    tracks: frozenset[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A histogram and its statistics: ``edges`` float64 ns, one more than ``counts``."""

    edges: npt.NDArray[np.float64]
    counts: Int64Array
    count: int
    median: float
    p90: float
    low: int
    high: int
    rows: Int64Array
    durations: Int64Array
    is_log: bool = False


def is_wide(low: int, high: int) -> bool:
    """Whether durations differ so much that logarithmic bins are more useful."""
    return high > 4 * max(low, 1)


def spread_of(rows: Int64Array, durations: Int64Array, is_log: bool, bins: int = BINS) -> Spread:
    """The histogram of durations (int64 ns). Every duration is in exactly one bin."""
    if not len(durations):
        empty = np.empty(0, np.int64)
        return Spread(
            edges=np.zeros(1),
            counts=empty,
            count=0,
            median=0.0,
            p90=0.0,
            low=0,
            high=0,
            rows=empty,
            durations=empty,
        )
    low, high = int(durations.min()), int(durations.max())
    is_log = is_log and high > low
    if is_log:
        edges = np.geomspace(max(low, 1), high, bins + 1)
        edges[0] = min(edges[0], low)
    else:
        edges = np.linspace(low, max(high, low + 1), bins + 1)
    edges[-1] = max(edges[-1], high)
    counts, _ = np.histogram(durations, edges)
    return Spread(
        edges=edges,
        counts=counts.astype(np.int64),
        count=len(durations),
        median=float(np.median(durations)),
        p90=float(np.quantile(durations, 0.9)),
        low=low,
        high=high,
        rows=rows,
        durations=durations,
        is_log=is_log,
    )


class HistogramPanel(ComputedPanel):
    """Shows the durations of the highlighted name, or of the selected event's."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.title = ElidedLabel()
        self.log = QCheckBox(tr("Logarithmic"))
        self.log.setChecked(True)
        self.log.toggled.connect(self.mark_stale)
        self.facts = muted_label()
        self.chart = Chart(self.theme, document.messages)
        self.chart.export_name = f"{document.path.stem}-histogram"
        self.chart.clicked.connect(self._bar_clicked)
        self.arrange((self.title, self.facts, self.log), self.chart, self.title)
        self.spread: Spread | None = None
        self.state.highlight_changed.connect(self.mark_stale)
        self.state.selection_changed.connect(self._selection_changed)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.track_selection_changed.connect(self.mark_stale)

    def _name(self) -> int | None:
        if len(self.state.highlight) == 1:
            return next(iter(self.state.highlight))
        if self.state.selection is not None:
            return int(self.document.capture.events.name[self.state.selection])
        return None

    def request(self) -> HistogramRequest:
        """The name and the range; −1 if nothing is selected."""
        name = self._name()
        return HistogramRequest(
            -1 if name is None else name,
            self.state.range_selection,
            self.log.isChecked(),
            selected_tracks(self.document.capture, self.state),
        )

    def compute(self, request: HistogramRequest, is_cancelled: IsCancelled) -> Spread:
        """Compute the histogram."""
        capture = self.document.capture
        if request.name < 0:
            empty = np.empty(0, np.int64)
            return spread_of(empty, empty, request.is_log)
        rows, starts = instances(capture, frozenset((request.name,)))
        durations = capture.events.duration[rows].astype(np.int64)
        if request.range_ns is not None:
            is_inside = (starts < request.range_ns[1]) & (
                starts + np.maximum(durations, 1) > request.range_ns[0]
            )
            rows, durations = rows[is_inside], durations[is_inside]
        if request.tracks is not None:
            view = View(capture, Selection(tracks=request.tracks))
            is_inside = np.isin(view.track_of(rows), list(view.tracks))
            rows, durations = rows[is_inside], durations[is_inside]
        is_log = request.is_log and len(durations) > 0 and is_wide(int(durations.min()), int(durations.max()))
        return spread_of(rows, durations, is_log)

    def show_result(self, request: HistogramRequest, result: Spread) -> None:
        """Draw the bars."""
        self.spread = result
        self.chart.begin()
        self._draw(request, result)
        self.chart.end()

    def _draw(self, request: HistogramRequest, result: Spread) -> None:
        self.chart.show_axes(result.count > 0)
        for widget in (self.title, self.facts, self.log):
            widget.setVisible(request.name >= 0)
        if request.name < 0:
            self.say_missing(tr("Select an event or a table row to see the durations of its name."))
            return
        self.show_content()
        name = self.document.capture.strings[request.name]
        kind = self._kind()
        self.title.setText(short_kernel_name(name) if kind == "kernel" else name)
        self.title.setToolTip(plain(name))
        where = tr("in the whole capture") if request.range_ns is None else tr("in the selected range")
        events = tr_n("{count:,} event", "{count:,} events", result.count)
        self.set_scope(f"{events} {where}" + scope_suffix(self.document.capture, self.state))
        if not result.count:
            where = tr("none on this track") if request.tracks is not None else tr("none in this range")
            self.facts.setText(where)
            return
        self.facts.setText(
            tr(
                "median {median} · 90 % below {p90} · {low} … {high}",
                median=format_duration(round(result.median), 3),
                p90=format_duration(round(result.p90), 3),
                low=format_duration(result.low, 3),
                high=format_duration(result.high, 3),
            )
        )
        edges = np.log10(np.maximum(result.edges, 1)) if result.is_log else result.edges
        self.chart.x_axis.text = lambda v: duration_text(10**v)
        self.chart.x_axis.ticks = log_ticks if result.is_log else linear_ticks
        self.chart.y_axis.ticks = whole_ticks
        self.chart.x_axis.texts = None if result.is_log else duration_ticks
        self.chart.y_axis.text = lambda value: f"{value:,.0f}"
        used = result.counts > 0
        left, right = edges[:-1][used], edges[1:][used]
        gap = (edges[-1] - edges[0]) / len(result.counts) * 0.12
        self.chart.bars(
            (left + right) / 2,
            np.maximum(right - left - gap, gap),
            result.counts[used].astype(np.float64),
            self._color(),
        )
        margin = float(edges[-1] - edges[0]) * 0.02
        self.chart.show_range(
            (float(edges[0]) - margin, float(edges[-1]) + margin), (0, float(result.counts.max()) * 1.15)
        )
        self._mark_selection(request)

    def _kind(self) -> str:
        """Kind of the events shown; empty if there are none."""
        capture = self.document.capture
        if self.spread is None or not len(self.spread.rows):
            return ""
        return capture.kind_of_code.get(int(capture.events.kind[self.spread.rows[0]]), "")

    def _color(self) -> str:
        if self.spread is None or not len(self.spread.rows):
            return self.theme.family("neutral")
        return NameColors(self.document.capture, self.theme).of_event(int(self.spread.rows[0]))

    def _mark_selection(self, request: HistogramRequest) -> None:
        row = self.state.selection
        if row is None or int(self.document.capture.events.name[row]) != request.name:
            return
        duration = int(self.document.capture.events.duration[row])
        is_log = self.spread is not None and self.spread.is_log
        place = float(np.log10(max(duration, 1))) if is_log else float(duration)
        self.chart.marker(place, self.theme.hex("selection"), format_duration(duration, 3))

    def _selection_changed(self, *_values: object) -> None:
        # If only the marker moves, redraw from the current result.
        if self._shown is not None and self.request() == self._shown and self.spread is not None:
            self.show_result(self._shown, self.spread)
        else:
            self.mark_stale()

    def _bar_clicked(self, x: float, _y: float) -> None:
        """Select the event whose duration is closest to the click."""
        if self.spread is None or not self.spread.count:
            return
        duration = 10**x if self.spread.is_log else x
        nearest = int(np.argmin(np.abs(self.spread.durations - duration)))
        self.state.reveal(int(self.spread.rows[nearest]))

    def apply_theme(self, theme: Theme) -> None:
        self.chart.set_theme(theme)
        self.forget()
